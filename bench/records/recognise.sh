#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# recognise.sh DIR: trains the models that recognise on the clips of DIR, beside
# PyTorch's networks (bench/peers/recognise.py), on the same packs of frames and
# for as many epochs, and prints top-1 after 25, 50 and 100% of a clip, mean and
# range over seeds, and the time of a training.  DIR has lists train_list.txt
# and val_list.txt with lines "path label".  No epoch and no setting is chosen
# by the clips of val_list.txt: the last epoch counts.
# BUILD=FOLDER: the build folder (build).  SEEDS="1 2 3".  EPOCHS=30.
# MODELS="...", NETS=LIST: which of ours and of PyTorch's; NETS= for none.
# PYTHON=venv/bin/python: with torch and h5py.  LEARN="...": other options of
# convtt-train (--augment off, as PyTorch's networks are trained).  THREADS=2.
# LIGHTS="normal dark bright": ours on the same clips in other light
# (bench/peers/light.py), as rows MODEL@LIGHT; normal alone if not given.
# KEEP=FOLDER: models and logs stay there.
set -u
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"

seeds=${SEEDS:-1 2 3}
epochs=${EPOCHS:-30}
models=${MODELS:-early-cnn3d early-tsm early-2plus1d early-convttlstm}
nets=${NETS-conv3d,r3d,cnn-lstm,convlstm}
python=${PYTHON:-python3}
learn=${LEARN---augment off}
lights=${LIGHTS:-normal}
declare -A change=([normal]="0 1" [dark]="0.01 0.15" [bright]="0.6 0.4")

pack() {        # LIST NAME
    "$build/convtt-data" pack "$1" -o "$work/$2.h5" \
        --model "$src/models/early-cnn3d.net" > "$work/$2.log" 2>&1 ||
        die "$(tail -n 1 "$work/$2.log")"
}

pack_list() {   # LIST NAME
    awk -v dir="$dir" '{ $1 = dir "/" $1; print }' "$dir/$1" > "$work/$2.txt"
    pack "$work/$2.txt" "$2"
}

relight() {     # NAME LIGHT: compared lights have all gone the same way
    if [ "$lights" = normal ]; then
        ln -sf "$1.h5" "$work/$1-normal.h5"
        return
    fi
    # shellcheck disable=SC2086
    "$python" "$src/bench/peers/light.py" "$work/$1.h5" "$work/frames-$1-$2" \
        ${change[$2]:?no such light} || die "light.py"
    pack "$work/frames-$1-$2/list.txt" "$1-$2"
    rm -r "$work/frames-$1-$2"
}

ours() {        # MODEL SEED LIGHT: a line as recognise.py prints it
    local out=$work/$1@$3-$2 begin=$SECONDS took
    # shellcheck disable=SC2086
    "$build/convtt-train" "$src/models/$1.net" -o "$out.h5" --seed "$2" \
        --data "$work/train-$3.h5" --val "$work/prove-$3.h5" \
        --epochs "$epochs" \
        --val-every "$epochs" --threads "$threads" $learn > "$out.log" 2>&1 ||
        die "$1: $(tail -n 1 "$out.log")"
    took=$((SECONDS - begin))
    "$build/convtt-infer" --json --threads "$threads" \
        --observe 0.25,0.5,1 "$out.h5" "$work/prove-$3.h5" 2> "$out.err" |
        tail -n 1 | awk -v net="$1@$3" -v seed="$2" -v took=$took -F 'top1":' '
        { for (i = 2; i <= 4; i++) { split($i, a, /[,}]/); x[i] = 100 * a[1] }
          printf "{\"net\": \"%s\", \"seed\": %d, \"seconds\": %d, " \
              "\"top1\": [%.2f, %.2f, %.2f]}\n", net, seed, took, x[2], x[3],
              x[4] }'
}

rows() {
    if [ -n "$nets" ]; then
        "$python" "$src/bench/peers/recognise.py" "$work/train.h5" \
            "$work/prove.h5" --nets "$nets" --seeds "${seeds// /,}" \
            --epochs "$epochs" --threads "$threads"
    fi
    for model in $models; do
        for light in $lights; do
            for seed in $seeds; do ours "$model" "$seed" "$light"; done
        done
    done
}

pack_list train_list.txt train
pack_list val_list.txt prove
for light in $lights; do
    relight train "$light"
    relight prove "$light"
done
rows | tee "$work/rows.jsonl" | sed 's/[]["{},:]//g; s/top1//' >&2
awk -F '[][{},: ]+' '
    { for (i = 1; i <= NF; i++) {
          if ($i ~ /"net"/) net = $(i + 1)
          if ($i ~ /"seconds"/) took = $(i + 1)
          if ($i ~ /"top1"/) at = i }
      gsub(/"/, "", net)
      if (!(net in n)) order[++nets] = net
      n[net]++; time[net] += took
      for (k = 1; k <= 3; k++) {
          v = $(at + k) + 0; sum[net, k] += v
          if (n[net] == 1 || v < lo[net, k]) lo[net, k] = v
          if (n[net] == 1 || v > hi[net, k]) hi[net, k] = v } }
    END { printf "%-24s %-19s%-19s%-19s%s\n", "top-1 in %", "at 25%", "50%",
              "100%", "s"
          for (j = 1; j <= nets; j++) {
              m = order[j]; printf "%-24s ", m
              for (k = 1; k <= 3; k++)
                  printf "%5.1f (%4.1f..%4.1f) ", sum[m, k] / n[m], lo[m, k],
                      hi[m, k]
              printf "%5.0f\n", time[m] / n[m] } }' "$work/rows.jsonl"
