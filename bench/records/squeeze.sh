#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# squeeze.sh FOLDER: accuracy lost and bytes saved by --squeeze: one process
# with eight shards, with the same bits as eight processes.  Prints, for each
# optimiser and way, the share of the bytes that is left and top-1 at 25, 50 and
# 100% of the clips of split "test", which choose nothing: the mean over the
# seeds, and the lowest and highest.
# FOLDER keeps clips and models, and what is there is not made again.
# BUILD=FOLDER: the build folder (build).  DATA=CLIPS: in place of the demo's,
# which are made up (CLIPS=1200 of SIZE=96 pixels; ./quickstart demo has the
# same); digits:DIR with MODEL=lenet-300-100 are pictures.
# MODEL=early-convttlstm.  EPOCHS=24.  SEEDS="1 2 3".  WAYS="none bf16 ...".
# LEARN="...": options of convtt-train.  SGD="--optimizer sgd --lr 0.1 ...",
# ADAM="--optimizer adamw ...".  OPTIMISERS="sgd adam".
# JOBS=2: trainings at a time, of THREADS=1.
set -u
work=${1:?"the folder for clips and models must be given"}
. "$(dirname "$0")/begin.sh" convtt-train convtt-data
net=$src/models/${MODEL:-early-convttlstm}.net
mkdir -p "$work" && cd "$work" || exit 2
ways=${WAYS:-none bf16 fp16 share=0.01 share=0.003 threshold=0.003}
seeds=${SEEDS:-1 2 3}
options() {
    case $1 in
    sgd) echo "${SGD:---optimizer sgd --lr 0.1 --weight-decay 1e-4}" ;;
    adam) echo "${ADAM:---optimizer adamw --lr 2e-3 --weight-decay 0.02}" ;;
    esac
}
clips=${DATA:-clips}
learn=${LEARN:---batch 24 --warmup 2 --label-smooth 0.05 --augment off --jitter
    --brightness 0.6 --contrast 0.2}
[ -n "${DATA:-}" ] || [ -e clips/labels.json ] ||
    "$build/convtt-data" synth clips --clips "${CLIPS:-1200}" \
        --size "${SIZE:-96}" --seed 1 || die "no clips"

train() {       # OPTIMISER WAY SEED
    local out=$1.$2.$3
    [ ! -e "$out.h5" ] || return 0
    # shellcheck disable=SC2046,SC2086
    "$build/convtt-train" "$net" --data "$clips" -o "$out.h5" --shards 8 \
        --epochs "${EPOCHS:-24}" $learn --threads "${THREADS:-1}" --seed "$3" \
        --squeeze "$2" $(options "$1") > "$out.log" 2>&1 ||
        echo "$out: $(tail -n 1 "$out.log")" >&2
}

for seed in $seeds; do
    for o in ${OPTIMISERS:-sgd adam}; do
        for way in $ways; do
            while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do
                wait -n
            done
            train "$o" "$way" "$seed" &
        done
    done
done
wait

# "a b c": top-1 in percent, of the clips of split test.
top1() {
    "$build/convtt-infer" --json --split test --observe 0.25,0.5,1 "$1" \
        "$clips" 2> infer.log |
        grep -o '"seen":[^,]*,"clips":[0-9]*,"top1":[0-9.e-]*' |
        awk -F: '{ printf "%s%.2f", (NR > 1 ? " " : ""), 100 * $NF }
                 END { print "" }'
}

for o in ${OPTIMISERS:-sgd adam}; do
    for way in $ways; do
        for seed in $seeds; do
            [ -e "$o.$way.$seed.h5" ] || continue
            sent=$(sed -n 's/.*--squeeze=.*: \([0-9.]*\)% of the bytes.*/\1/p' \
                "$o.$way.$seed.log")
            echo "$o $way ${sent:-100} $(top1 "$o.$way.$seed.h5")"
        done
    done
done > rows.txt
awk '{ k = $1 " " $2
       if (!(k in n)) order[++rows] = k
       n[k]++; sent[k] += $3
       for (i = 4; i <= 6; i++) {
           sum[k, i] += $i
           if (n[k] == 1 || $i < low[k, i]) low[k, i] = $i
           if (n[k] == 1 || $i > high[k, i]) high[k, i] = $i
       } }
     END { printf "%-6s %-16s %5s %7s %18s %18s %18s\n", "", "--squeeze",
                  "runs", "bytes", "25%", "50%", "100%"
           for (r = 1; r <= rows; r++) {
               k = order[r]; split(k, w, " ")
               printf "%-6s %-16s %5d %6.2f%%", w[1], w[2], n[k], sent[k] / n[k]
               for (i = 4; i <= 6; i++)
                   printf " %6.2f (%.2f-%.2f)", sum[k, i] / n[k], low[k, i],
                          high[k, i]
               print ""
           } }' rows.txt
