#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depth.sh FOLDER: time and memory of a training step of a deep CNN by --keep: a
# chain of 24 convs of 32 channels on 8 pictures of 64x64, all values kept, the
# plan of --keep depth, and what auto chooses within limits of --memory.
# Prints, of each: the peak of the process's memory, the processors' seconds of
# a step (the difference of two runs, so that no start counts; the least of the
# turns), their ratio to that of all values, and what the program said that the
# step would need.  All of them must write the same file.
# BUILD=FOLDER: the build folder (build).  STEPS=20 of the difference.  TURNS=2.
# LIMITS='160M 130M 90M 70M': of auto.
set -u
work=${1:?"the folder for pictures and logs must be given"}
. "$(dirname "$0")/begin.sh" convtt-train
[ -x /usr/bin/time ] || die "no /usr/bin/time"
mkdir -p "$work" && cd "$work" || exit 2
for class in a b; do
    mkdir -p "pics/$class"
    for i in $(seq 12); do
        [ -e "pics/$class/$i.ppm" ] || {
            printf 'P6\n64 64\n255\n'
            head -c 12288 /dev/urandom
        } > "pics/$class/$i.ppm"
    done
done
{
    echo "input x h=64 w=64 c=3"
    last=x
    for i in $(seq 24); do
        echo "conv c$i in=$last out=32 kernel=3 pad=1"
        echo "act a$i in=c$i kind=relu"
        last=a$i
    done
    echo "clip"
    echo "window v in=$last steps=1"
    echo "pool p in=v kind=avg"
    echo "conv y in=p out=2"
} > deep.net

# run STEPS OPTION...: prints the peak in KB and the processors' seconds.
run() {
    local steps=$1
    shift
    rm -f new.h5 new.h5.ckpt
    /usr/bin/time -o time.txt -f '%M %U %S' "$build/convtt-train" deep.net \
        --data pics --batch 8 --epochs 50 --max-steps "$steps" --threads 1 \
        --val-batch 1 --cache 0 -o new.h5 "$@" > log.txt 2>&1 ||
        die "$*: $(tail -n 1 log.txt)"
    awk '{ print $1, $2 + $3 }' time.txt
}
ways=("all|--keep all" "depth|--keep depth")
for limit in ${LIMITS-160M 130M 90M 70M}; do
    ways+=("auto, $limit|--keep auto --memory $limit")
done
rm -f rows.txt first.h5
for turn in $(seq "${TURNS:-2}"); do
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086
        few=$(run 4 ${way#*|}) || exit 2
        # shellcheck disable=SC2086
        many=$(run $((4 + ${STEPS:-20})) ${way#*|}) || exit 2
        [ -e first.h5 ] || cp new.h5 first.h5
        cmp -s new.h5 first.h5 || die "${way%%|*}: another file"
        echo "${way%%|*}|$few $many|$(sed -n 's/^memory: //p' log.txt)" \
            >> rows.txt
    done
    echo "turn $turn" >&2
done
awk -F'|' -v steps="${STEPS:-20}" '
    { split($2, t, " ")
      s = (t[4] - t[2]) / steps
      if (!($1 in best)) { order[++n] = $1; best[$1] = 1e9 }
      if (s < best[$1]) { best[$1] = s; said[$1] = $3 }
      if (t[3] > peak[$1]) peak[$1] = t[3] }
    END { for (i = 1; i <= n; i++) {
              w = order[i]
              printf "%-12s %6.0f MB %7.3f s %5.2f  %s\n", w, peak[w] / 1024,
                     best[w], best[w] / best["all"], said[w] } }' rows.txt
