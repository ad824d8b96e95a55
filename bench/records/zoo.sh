#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# zoo.sh FOLDER: the published networks of models/zoo.sh, from random weights,
# on made pictures of two classes, so their last layer has two channels: a
# training step of two pictures with all values kept and with --keep depth (peak
# of the process's memory, processors' seconds with tests and the file written),
# an answer, ONNX, and what --prune 0.9 --share 4 leaves of bytes and
# multiplications, without retraining.  Exit status 1: --keep depth took more
# memory than MOST; 2: a wrong use, or a program failed.
# BUILD=FOLDER: the build folder (build).  NETS="resnet50 vgg16": only these.
# PARTS="step compress": of these.  MOST=7000: MB for a step by --keep depth.
# KEEP=1: the trained files stay.
set -u
work=${1:?"the folder for pictures and models must be given"}
. "$(dirname "$0")/begin.sh" convtt-train
parts=" ${PARTS:-step compress} "
[ -x /usr/bin/time ] || { echo 'no /usr/bin/time'; exit 77; }
mkdir -p "$work" && cd "$work" || exit 2
failed=0
for set in train val; do
    for class in a b; do
        mkdir -p $set/$class
        { printf 'P6\n300 300\n255\n'; head -c 270000 /dev/urandom; } \
            > $set/$class/1.ppm
    done
done

# run PROGRAM ARGUMENT...: prints the peak in MB and the processors' seconds.
run() {
    /usr/bin/time -o time.txt -f '%M %U %S' "$build/$1" "${@:2}" \
        > log.txt 2>&1 < /dev/null || {
            echo "FAILED: $*: $(tail -n 1 log.txt)" >&2
            return 1
        }
    awk '{ printf "%.0f %.1f\n", $1 / 1024, $2 + $3 }' time.txt
}

# step NET KEEP: trains NET.h5.
step() {
    rm -f "$1.h5" "$1.h5.ckpt"
    run convtt-train "$1.net" -o "$1.h5" --data train --val val --batch 2 \
        --val-batch 1 --epochs 1 --max-steps 1 --optimizer sgd --lr 1e-4 \
        --keep "$2" --threads 1 --cache 0 --baselines off
}

# A cell: MB, how many times smaller, millions of multiplications with weights
# that are not zero and of the dense model, processors' seconds.
small() {
    rm -f small.h5 small.h5.ckpt
    run convtt-compress "$1.h5" -o small.h5 --prune 0.9 --share 4 --int8 none \
        --threads 1 > cost.txt || return 1
    awk -v s="$(cut -d' ' -f2 cost.txt)" '
        $1 == "original" { dense = $7 }
        $1 == "rounded" { printf "%.2f, %s, %.0f of %.0f, %s", $2 / 1e6, $3,
                          $8 / 1e6, dense / 1e6, s }' log.txt
}

heading() { printf '| %s |\n|---|---|---|\n' "$1"; }
[[ $parts != *' step '* ]] ||
    heading 'network | all kept: MB, s | depth: MB, s'
[[ $parts != *' compress '* ]] ||
    heading 'network | dense MB | MB, times smaller, M of multiplications, s'
for net in ${NETS:-$("$src/models/zoo.sh")}; do
    "$src/models/zoo.sh" "$net" > "$net.net" || exit 2
    if [[ $parts = *' step '* ]]; then
        all=$(step "$net" all) || failed=2
        depth=$(step "$net" depth) || failed=2
        [ "${depth%% *}" -le "${MOST:-7000}" ] ||
            { echo "FAILED: $net: ${depth%% *} MB"
              [ $failed = 2 ] || failed=1; }
        echo "| $net | ${all/ /, } | ${depth/ /, } |"
        run convtt-infer "$net.h5" val/a/1.ppm > cost.txt || failed=2
        run convtt-info --export "$net.onnx" "$net.h5" > cost.txt || failed=2
        rm -f "$net.onnx"
    fi
    if [[ $parts = *' compress '* ]]; then
        [ -e "$net.h5" ] || step "$net" all > cost.txt || failed=2
        cell=$(small "$net") || failed=2
        echo "| $net | $(awk -v b="$(stat -c %s "$net.h5")" \
            'BEGIN { printf "%.1f", b / 1e6 }') | $cell |"
    fi
    [ "${KEEP:-}" ] || rm -f "$net.h5"
done
exit $failed
