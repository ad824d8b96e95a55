#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# offload.sh FOLDER: time and memory of a training step through time by --keep:
# all windows kept, all but one recomputed, all but two offloaded to a file in
# FOLDER and to one in /dev/shm, which is memory (so its row shows what the
# copies cost, and saves nothing), and what auto chooses within --memory.
# Prints, of each: the peak of the program's memory, seconds a step (the
# shortest of the turns, which others on the machine disturb least), seconds of
# all processors in the whole run, and what the program says of its windows. All
# of them must write the same file.
# FOLDER keeps clips and logs.  BUILD=FOLDER: the build folder (build).
# MODEL=mnist-small.  FRAMES=10: observed, and as many predicted.  BATCH=8.
# WINDOW=2.  SIZE=64, CLIPS=60.  STEPS=4 a run.  TURNS=3.  THREADS=1.
# MEMORY=100M: of auto.  WAYS=REGEX: only rows whose name has it.
set -u
work=${1:?"the folder for clips and logs must be given"}
. "$(dirname "$0")/begin.sh" convtt-train convtt-data
[ -x /usr/bin/time ] || die "no /usr/bin/time"
mkdir -p "$work" && cd "$work" || exit 2
frames=${FRAMES:-10} batch=${BATCH:-8} steps=${STEPS:-4}
[ -e clips/labels.json ] || "$build/convtt-data" synth clips \
    --clips "${CLIPS:-60}" --size "${SIZE:-64}" --seed 1 || die "no clips"
memory=${MEMORY:-100M}
ways=("all|--keep all" "recomputed|--keep 0"
    "offloaded, disk|--keep offload --offload ."
    "offloaded, /dev/shm|--keep offload --offload /dev/shm"
    "auto, recomputes|--keep auto --memory $memory"
    "auto, disk|--keep auto --memory $memory --offload ."
    "auto, /dev/shm|--keep auto --memory $memory --offload /dev/shm")

rm -f rows.txt ./*.h5
for turn in $(seq "${TURNS:-3}"); do
    for way in "${ways[@]}"; do
        grep -qE "${WAYS:-.}" <<< "${way%%|*}" || continue
        # shellcheck disable=SC2086
        /usr/bin/time -o time.txt -f '%M %U %S' "$build/convtt-train" \
            "$src/models/${MODEL:-mnist-small}.net" --task predict \
            --data clips --input-frames "$frames" --future-frames "$frames" \
            --batch "$batch" --window "${WINDOW:-2}" --epochs 1 \
            --max-steps "$steps" --threads "${THREADS:-1}" --val-batch 1 \
            --cache 0 --log-json log.json -o new.h5 ${way#*|} > log.txt 2>&1 ||
            die "${way%%|*}: $(tail -n 1 log.txt)"
        [ -e first.h5 ] || cp new.h5 first.h5
        cmp -s new.h5 first.h5 || die "${way%%|*}: another file"
        rate=$(grep -o '"clips_a_second":[0-9.e+-]*' log.json |
            cut -d: -f2 | tail -n 1)
        [ -n "$rate" ] || die "no clips_a_second in log.json"
        echo "${way%%|*}|$batch|$rate|$(cat time.txt)|$(
            sed -n 's/^memory: //p' log.txt)" >> rows.txt
    done
    echo "turn $turn" >&2
done
[ -s rows.txt ] || die "no row has a name like WAYS=$WAYS"
awk -F'|' '{ split($4, t, " ")
       if (!($1 in best)) { order[++n] = $1; best[$1] = 1e9; cpu[$1] = 1e9 }
       if ($2 / $3 < best[$1]) { best[$1] = $2 / $3; said[$1] = $5 }
       if (t[2] + t[3] < cpu[$1]) cpu[$1] = t[2] + t[3]
       if (t[1] > peak[$1]) peak[$1] = t[1] }
     END { for (i = 1; i <= n; i++) {
               w = order[i]
               printf "%-20s %6.0f MB %7.2f s %7.1f s  %s\n", w,
                      peak[w] / 1024, best[w], cpu[w], said[w] } }' rows.txt
