#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# amp_accuracy.sh: mixed precision reaches the accuracy of fp32: the demo's
# model and settings, three seeds each, on the demo's clips.  It takes hours on
# a CPU, so `make check` leaves it out.  From the build folder:
#
#   bash ../tests/libtrain/amp_accuracy.sh [FOLDER]
#
# FOLDER keeps clips, models and logs [amp_accuracy]; what is there already is
# not done again.  Environment: SEEDS ["1 2 3"], KINDS ["fp32 fp16 bf16"], MORE:
# further options of every convtt-train, such as "--device cuda" or "--epochs
# 4".  Prints accuracies on the clips that chose the epoch and the mean
# difference to fp32; exit 1 if that is more than 1 point worse.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
bin=$PWD
folder=${1:-amp_accuracy}
seeds=${SEEDS:-1 2 3}
[ -x "$bin/convtt-train" ] || { echo "no convtt-train in $bin"; exit 99; }
learn=$(sed -n '/^LEARN="/,/"$/p' "$top/quickstart")
eval "$learn"    # the demo's own hyper-parameters

mkdir -p "$folder"
[ -e "$folder/clips/train.json" ] ||
    "$bin/convtt-data" synth "$folder/clips" --clips 1200 --size 96 --seed 1

kinds=${KINDS:-fp32 fp16 bf16}
options() {
    case $1 in
    fp32) ;;
    *)    echo "--amp O1 --amp-type $1" ;;
    esac
}

# The best accuracy of a run, in percent: column val_top1 of its log.
best() {
    awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "val_top1") c = i}
        NR > 1 && $c > m {m = $c} END {printf "%.2f\n", 100 * m}' "$1"
}

run() {    # run KIND SEED
    local name=$folder/$1.$2 resume=
    [ ! -e "$name.h5.done" ] || return 0
    [ ! -e "$name.h5.ckpt" ] || resume=--resume
    "$bin/convtt-train" "$top/models/early-convttlstm.net" \
        --data "$folder/clips" -o "$name.h5" --log-csv "$name.csv" \
        --epochs 24 --warmup 2 $LEARN --seed "$2" $(options "$1") \
        ${MORE:-} $resume || exit 99
    touch "$name.h5.done"
}

for seed in $seeds; do
    for kind in $kinds; do
        run $kind $seed
    done
done

{
    echo seed $kinds
    for seed in $seeds; do
        row=$seed
        for kind in $kinds; do
            row="$row $(best "$folder/$kind.$seed.csv")"
        done
        echo $row
    done
} | awk '
    NR == 1 {for (i = 2; i <= NF; i++) name[i] = $i}
    {for (i = 1; i <= NF; i++) printf "%-8s", $i; print ""}
    NR > 1 {n++; for (i = 2; i <= NF; i++) sum[i] += $i}
    END {
        for (i = 3; i in name; i++) {
            d = (sum[i] - sum[2]) / n
            printf "%s: %+.2f points of fp32 in the mean\n", name[i], d
            bad = bad || d < -1
        }
        exit bad
    }'
