#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# batch.sh MNISTDIR: accuracy by size of the batch after as many epochs: LeNet-5
# on the first PICTURES (10,000) of MNIST's pictures, the 10,000 test pictures.
# MNISTDIR has its four idx files.  With DEMO=FOLDER, clips of convtt-data
# synth, the demo's model on them instead.  Exit status 2: a wrong use.
# BUILD=FOLDER: the build folder (build).  SEEDS="1 2 3".  EPOCHS=4.
# BATCHES="8 32 128 512 1024".  BASE=32: the batch of the unscaled rates.
# WAYS: the ways, separated by |.  ADAM=0.001: the rate of AdamW.  THREADS=1.
set -u
THREADS=${THREADS:-1}
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
base=${BASE:-32} epochs=${EPOCHS:-4}

# The ways: the rate at the base batch, its factor, options.
ways=${WAYS:-"SGD|SGD scaled|SGD scaled, warm-up|LARC scaled, warm-up|\
LARS root, warm-up|AdamW|AdamW root, warm-up"}
way_of() {
    local scaled=$2 root
    root=$(calc "print sqrt($2)")
    case $1 in
    SGD) rate=0.01 by=1 how="--optimizer sgd" ;;
    "SGD scaled"*) rate=0.01 by=$scaled how="--optimizer sgd" ;;
    "LARC scaled"*) rate=0.01 by=$scaled how="--optimizer larc" ;;
    "LARS root"*) rate=0.1 by=$root how="--optimizer lars" ;;
    AdamW) rate=${ADAM:-0.001} by=1 how="--optimizer adamw" ;;
    "AdamW root"*) rate=${ADAM:-0.001} by=$root how="--optimizer adamw" ;;
    *) die "no way '$1'" ;;
    esac
    case $1 in *warm-up) how+=" --warmup 1" ;; *) how+=" --warmup 0" ;; esac
}

# cut NAME HEADER BYTES: the first $pictures of an idx file whose header and
# pictures have so many bytes.
cut_idx() {
    local from
    from=$(ls "$dir/$1"*) || exit 2
    { case $from in *.gz) gzip -dc "$from" ;; *) cat "$from" ;; esac; } \
        2> "$work/cut.log" | head -c $(($2 + pictures * $3)) > "$work/some/$1"
    # shellcheck disable=SC2059
    printf "$(printf '\\x%02x' $((pictures >> 24)) $((pictures >> 16 & 255)) \
        $((pictures >> 8 & 255)) $((pictures & 255)))" |
        dd of="$work/some/$1" bs=1 seek=4 conv=notrunc 2> "$work/cut.log"
}
if [ -z "${DEMO:-}" ]; then
    pictures=${PICTURES:-10000} net=lenet-5
    mkdir -p "$work/some" && cp "$dir"/t10k-* "$work/some" || exit 2
    cut_idx train-images-idx3-ubyte 16 784
    cut_idx train-labels-idx1-ubyte 8 1
    usual="--data digits:$work/some --observe 1 --augment off --val-ratios 1 \
        --val-batch 500 --clip-norm 0"
    tested="--split test --observe 1 digits:$work/some"
else
    net=early-convttlstm
    usual="--data $DEMO --val-batch 60 --weight-decay 0.02 --label-smooth 0.05
        --augment off --jitter --brightness 0.6 --contrast 0.2"
    tested="--split test --observe 1 $DEMO"
fi

# The accuracy in percent; "fails": the loss was no number, or no weight moved.
trained() {
    local right
    rm -f "$work/m.h5" "$work/m.h5.ckpt"
    # shellcheck disable=SC2086
    "$build/convtt-train" "$src/models/$net.net" -o "$work/m.h5" $usual \
        --epochs "$epochs" --val-every 1000 --pick last --baselines off \
        --threads "$threads" "$@" > "$work/log" 2>&1 ||
        { echo fails; return; }
    # shellcheck disable=SC2086
    right=$("$build/convtt-infer" --json --threads "$threads" "$work/m.h5" \
        $tested 2> "$work/infer.log" | tail -n 1 |
        sed -n 's/.*"top1":\([0-9.e-]*\).*/\1/p')
    [ -n "$right" ] || die "not tested: $(tail -n 1 "$work/infer.log")"
    calc "printf \"%.1f\", 100 * $right"
}

printf '| batch | way | mean | lowest | highest |\n|---|---|---|---|---|\n'
IFS='|' read -ra list <<< "$ways"
for batch in ${BATCHES:-8 32 128 512 1024}; do
    for way in "${list[@]}"; do
        way_of "$way" "$(calc "print $batch / $base")"
        all=
        for seed in ${SEEDS:-1 2 3}; do
            # shellcheck disable=SC2086
            all+=" $(trained --batch "$batch" --seed "$seed" $how \
                --lr "$(calc "print $rate * $by")")" || exit 2
        done
        # shellcheck disable=SC2086
        printf '%s\n' $all | awk -v b="$batch" -v w="$way" '
            $1 == "fails" { bad++; next }
            { s += $1; n++; if (n == 1 || $1 < l) l = $1; if ($1 > h) h = $1 }
            END { printf "| %d | %s | ", b, w
                  if (n) printf "%.1f | %.1f | %.1f |", s / n, l, h
                  else printf "- | - | - |"
                  print bad ? " (" bad " fail)" : "" }'
    done
done
