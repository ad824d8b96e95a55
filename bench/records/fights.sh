#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fights.sh DIR: trains the demo's network on real surveillance clips (Akti et
# al. 2019), compresses it and prints what was reached beside the bar.  DIR has
# the folders fight and noFight and the lists train_list.txt and val_list.txt
# with lines "path label".  The clips numbered 101 and up of train_list.txt
# choose epochs, the others train, and those of val_list.txt prove: they choose
# nothing.  Exit status 1: the bar was missed; 2: a wrong use, or a program
# failed.
# BUILD=FOLDER: the build folder (build).  SEEDS="1 2 3": a run for each.
# THREADS=2.  KEEP=FOLDER: models and logs stay there.
# COMPRESS="...": other options for compression.
# SEARCH="top1=-2": --budget searches, too, with these limits, the bytes of the
# compressed model and its retraining.
set -u
seeds=${SEEDS:-1 2 3}
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"

learn="--lr 1e-3 --weight-decay 0.02 --label-smooth 0.05 --augment off
    --jitter --flip --brightness 0.5 --contrast 0.2"
compress=${COMPRESS:---prune 0.82 --prune-form any --int8 none
    --tt-rank 8 --tt-on responses --share 4
    --retrain-epochs 24 --share-epochs 8 --distil 0.3}
smaller=100     # the bar: times smaller than 4 bytes a parameter
lost=1          # the bar: clips, mean over the seeds

lists() {       # train.txt, choose.txt and prove.txt, with whole paths
    awk -v dir="$dir" -v work="$work" '
        { n = $1; gsub(/.*\/[a-zA-Z]*|\.[a-z0-9]*$/, "", n)
          print dir "/" $1, $2 > (work "/" (n + 0 > 100 ? "choose" : "train") \
                                  ".txt") }' "$dir/train_list.txt"
    awk -v dir="$dir" '{ print dir "/" $1, $2 }' "$dir/val_list.txt" \
        > "$work/prove.txt"
}

run() {         # LOG PROGRAM ARGUMENT...
    local log=$work/$1 program=$build/$2
    shift 2
    "$program" "$@" > "$log" 2>&1 || die "$program: $(tail -n 1 "$log")"
}

# How many clips a model recognises after one frame, 25, 50 and 100% of them.
right() {
    run infer.log convtt-infer --json --threads "$threads" \
        --observe 0.01,0.25,0.5,1 "$1" "$work/prove.txt"
    grep -o '"clips":[0-9]*,"top1":[0-9.e-]*' "$work/infer.log" | tail -n 4 |
        awk -F '[:,]' '{ printf "%d ", $2 * $4 + 0.5 }'
}

lists
form='%-14s %4s %9s %7s   %s\n'
# shellcheck disable=SC2059
printf "$form" model seed bytes smaller \
    "of $(wc -l < "$work/prove.txt") clips after 1 frame, 25%, 50%, 100%"
for seed in $seeds; do
    # shellcheck disable=SC2086
    {
        run "dense-$seed.log" convtt-train "$src/models/early-convttlstm.net" \
            -o "$work/dense-$seed.h5" --data "$work/train.txt" \
            --val "$work/choose.txt" --epochs 30 --seed "$seed" \
            --threads "$threads" $learn
        run "small-$seed.log" convtt-compress "$work/dense-$seed.h5" \
            -o "$work/small-$seed.h5" --data "$work/train.txt" \
            --val "$work/choose.txt" --seed "$seed" --threads "$threads" \
            $learn $compress
        rm -f "$work/found-$seed.jsonl"
        # shellcheck disable=SC2046
        [ -z "${SEARCH:-}" ] ||
            run "found-$seed.log" convtt-compress "$work/dense-$seed.h5" \
                -o "$work/found-$seed.h5" --data "$work/train.txt" \
                --val "$work/choose.txt" --seed "$seed" --threads "$threads" \
                $learn $(retraining $compress) --tt-on responses \
                --sense-log "$work/found-$seed.jsonl" --budget \
                "$SEARCH,bytes=$(stat -c %s "$work/small-$seed.h5")"
    }
    full=$("$build/convtt-info" --all "$work/dense-$seed.h5" |
        sed -n 's/^parameters.*(\([0-9]*\)).*/\1/p')
    for model in dense small ${SEARCH:+found}; do
        file=$work/$model-$seed.h5
        bytes=$(stat -c %s "$file")
        clips=$(right "$file") || exit 2
        # shellcheck disable=SC2059
        printf "$form" "$model" "$seed" "$bytes" \
            "$(awk "BEGIN { printf \"%.1f\", 4 * $full / $bytes }")" "$clips"
    done
done | tee "$work/table.txt"
[ "${PIPESTATUS[0]}" = 0 ] || exit 2
awk -v smaller="$smaller" -v lost="$lost" '
    { n[$1]++; for (i = 5; i <= 8; i++) sum[$1, i] += $i
      if ($1 == "small" && (!least || $4 < least)) least = $4 }
    END { for (m in n) { printf "%-14s mean              ", m
              for (i = 5; i <= 8; i++) printf " %.1f", sum[m, i] / n[m]
              print "" }
          gone = sum["dense", 8] / n["dense"] - sum["small", 8] / n["small"]
          met = gone <= lost && least >= smaller
          printf "%.1f clips lost of at most %s, %.1f times smaller of at " \
              "least %s: %s\n", gone, lost, least, smaller, met ? "met" : \
              "MISSED"
          exit !met }' "$work/table.txt"
