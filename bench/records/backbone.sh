#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# backbone.sh DIR: a ridge head on a backbone of others beside the same with
# random weights, on few clips: the 240 of train_list.txt (fights.sh says what
# DIR has), in four blocks: each quarter of a class, in the order of the list,
# is once the test of a fit to the others, so neighbours, which may be of one
# video, are on one side but for the ends of a block.
# BUILD=FOLDER: the build folder (build), with backbone-NAME.h5 of ./quickstart
# backbone NAME.  NAMES="efficientnet-lite0".  SEEDS="1 2 3": of random weights.
# READS="motion": --reads, of all rows.  INT8="mse": a row of the learnt one in
# whole numbers, with ranges of these clips (--int8); none: without it.
# THREADS=2.  KEEP=FOLDER: models, logs and packs (1 GB) stay there.
set -u
seeds=${SEEDS:-1 2 3}
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
names=${NAMES:-efficientnet-lite0}
reads=${READS:-motion}
int8=${INT8:-mse}

blocks() {      # fit-B.txt and test-B.txt, with whole paths
    awk -v dir="$dir" -v work="$work" '
        { clip[$2, all[$2]++] = $1 }
        END { for (c in all) for (i = 0; i < all[c]; i++)
                  for (b = 0; b < 4; b++)
                      print dir "/" clip[c, i], c > (work "/" \
                          (int(4 * i / all[c]) == b ? "test-" : "fit-") b \
                          ".txt") }' "$dir/train_list.txt"
}

# Packs of the blocks, with the maps of a backbone: random ones read the frames.
pack() {        # pack NAME
    local b set
    for b in 0 1 2 3; do
        for set in fit test; do
            "$build/convtt-data" features "$work/$set-$b.txt" --nodes s8,s16 \
                -o "$work/$set-$b.h5" --backbone "$build/backbone-$1.h5" \
                --workers "$threads" > "$work/pack.log" 2>&1 ||
                die "$work/pack.log: $(tail -n 1 "$work/pack.log")"
        done
    done
}

# Right answers at 25, 50 and 100% of a block's clips.
block() {       # block NAME MODEL B [OPTION...]
    local log=$work/$1-$3.log out=$work/$1-$3.h5 model=$2 b=$3
    shift 3
    "$build/convtt-train" --backbone "$model" --reads "$reads" "$@" \
        --data "$work/fit-$b.h5" --val none --test "$work/test-$b.h5" \
        --baselines off --threads "$threads" -o "$out" > "$log" 2>&1 ||
        die "$log: $(tail -n 1 "$log")"
    sed -n 's/.*: top-1 \(.*\) at 25, 50, 100%.*/\1/p' "$log" | tr -d ',%'
}
# The same of the model of that name in whole numbers.
int8_block() {  # int8_block NAME - B
    local log=$work/$1-int8-$3.log out=$work/$1-int8-$3.h5
    "$build/convtt-compress" "$work/$1-$3.h5" -o "$out" --int8 "$int8" \
        --retrain-epochs 0 --calibrate "${CALIBRATE:-0}" \
        --data "$work/fit-$3.h5" --val "$work/test-$3.h5" \
        --threads "$threads" > "$log" 2>&1 || die "$log: $(tail -n 1 "$log")"
    "$build/convtt-infer" --json --observe 0.25,0.5,1 "$out" \
        "$work/test-$3.h5" 2> "$log" |
        grep -o '"clips":[0-9]*,"top1":[0-9.e-]*' | tail -n 3 |
        awk -F '[:,]' '{ printf "%s ", 100 * $4 } END { print "" }'
}
row() {         # row HOW TITLE NAME MODEL [OPTION...]
    local how=$1 title=$2 b
    shift 2
    for b in 0 1 2 3; do
        $how "$1" "$2" "$b" "${@:3}" || exit 2
    done | awk -v title="$title" '
        { for (i = 1; i <= 3; i++) s[i] += $i / 4; line = line " " $3 }
        END { printf "%-34s %5.1f %5.1f %5.1f  mean %.1f  (at 100%%, by " \
                  "block:%s)\n", title, s[1], s[2], s[3], \
                  (s[1] + s[2] + s[3]) / 3, line }'
    [ "${PIPESTATUS[0]}" = 0 ] || exit 2
}

blocks
echo "weights                              25%   50%  100%"
for name in $names; do
    pack "$name"
    row block "$name, learnt" "$name" "$build/backbone-$name.h5"
    [ "$int8" = none ] || row int8_block "$name, INT8" "$name" -
    for seed in $seeds; do
        row block "$name, random, seed $seed" "$name-random-$seed" \
            "$src/models/backbone-$name.net" --seed "$seed"
    done
done
