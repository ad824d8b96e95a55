#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# order.sh DIR: the four networks of Table 2 of Su et al. 2020, made small, on
# 41 actions of two movements each, of which the second one is seen late
# (convtt-data synth --actions order), with and without the loss of the next
# frame.  Encoder, decoder and the 3-D CNN that answers are the same; between
# them there are two layers of each kind.  Makes the clips in DIR, if they are
# not there, and prints top-1 of the test clips after 25, 50 and 100%: of each
# training, DIR/rows.jsonl, which keeps those of earlier runs but for the same
# network, loss, seed and epochs, then mean and range over seeds.
# Nothing is chosen by these clips nor by others: the last epoch counts.  What
# is right without a network is in the log of the first training.
# BUILD=FOLDER: the build folder (build).  SEEDS="1 2 3".  EPOCHS=6.
# THREADS=2.  MADE="--clips 2624 --test 1230".  MODELS="...", TASKS="...".
# BACKBONE=FILE: also the linear head on this backbone, seed 1.
set -u
mkdir -p "${1:?"the folder of clips and results must be given"}" || exit 2
dir=$(cd "$1" && pwd) || exit 2
# shellcheck source=bench/records/begin.sh
. "$(dirname "$0")/begin.sh" convtt-data convtt-train
threads=${THREADS:-2}
usual=6         # epochs, also of rows that do not say
epochs=${EPOCHS:-$usual}
learn="--epochs $epochs --batch 16 --lr 3e-3 --workers 1"

between() {     # between KIND: two layers of it, from f3 to h
    case $1 in
    convlstm)
        echo "convlstm g in=f3 hidden=32 kernel=3"
        echo "convlstm h in=g hidden=32 kernel=3" ;;
    convttlstm)
        echo "convttlstm g in=f3 hidden=32 kernel=3 order=3 steps=3 rank=8"
        echo "convttlstm h in=g hidden=32 kernel=3 order=3 steps=3 rank=8" ;;
    cnn3d)      # convs of 3x3x3, in time over this step and the two before
        cnn3d_layer 4 f3 64 g
        cnn3d_layer 5 g 32 h ;;
    e3dlstm)
        echo "state q of=f3"
        echo "concat b in=q,f3"
        echo "patch w in=b by=2,1,1 back=1"
        echo "e3dlstm g in=w hidden=8 kernel=2,3,3 steps=4 memory=k"
        echo "e3dlstm k in=g hidden=8 kernel=2,3,3 steps=4 memory=g"
        echo "conv h in=k out=32 kernel=2,1,1" ;;
    *) die "no kind '$1': convlstm, convttlstm, cnn3d or e3dlstm" ;;
    esac
}
cnn3d_layer() { # cnn3d_layer N IN CHANNELS OUT
    echo "state u$1 of=$2"
    echo "state v$1 of=$2 delay=2"
    echo "conv z$1 in=v$1 out=$3 kernel=3 pad=1 bias=0"
    echo "conv y$1 in=u$1 plus=z$1 out=$3 kernel=3 pad=1 bias=0"
    conv_layer "$1" "$2" "$3" "kernel=3 pad=1 plus=y$1" "$4"
}
conv_layer() {  # conv_layer N IN CHANNELS KEYS OUT
    echo "conv c$1 in=$2 out=$3 $4 bias=0"
    echo "norm n$1 in=c$1 kind=batch"
    echo "act $5 in=n$1 kind=relu"
}
text() {        # text KIND: the model
    echo "input x h=96 w=96 c=3 fps=4 mean=0.45 std=0.125"
    echo "state p of=x fill=first"
    echo "add d in=x,p minus=1"
    conv_layer 1 d 16 "kernel=8 stride=4 pad=2" f1
    conv_layer 2 f1 32 "kernel=3 stride=2 pad=1" f2
    conv_layer 3 f2 32 "kernel=3 stride=2 pad=1" f3
    between "$1"
    echo "deconv a1 in=h out=32 kernel=1,4,4 stride=1,2,2 pad=0,1,1"
    echo "act a2 in=a1 kind=relu"
    echo "deconv a3 in=a2 out=3 kernel=1,8,8 stride=1,8,8"
    echo "add a4 in=x,a3"
    echo "ahead a in=a4"
    echo "clip"
    echo "window v in=h steps=16"
    conv_layer 7 v 32 "kernel=3 stride=2 pad=1" f7
    conv_layer 8 f7 64 "kernel=3 stride=2 pad=1" f8
    echo "pool r in=f8 kind=avg"
    echo "conv y in=r out=41"
}

run() {         # run LOG PROGRAM ARGUMENT...: its processor time in $took
    local log=$dir/$1.log program=$build/$2 TIMEFORMAT='%U %S'
    shift 2
    took=$({ time "$program" "$@" > "$log" 2>&1; } 2>&1) ||
        die "$program: $(tail -n 1 "$log")"
    took=${took/ /+}
}

clips() {
    # shellcheck disable=SC2086
    [ -s "$dir/clips/train.json" ] ||
        run synth convtt-data synth "$dir/clips" --actions order --size 96 \
            --seed 1 ${MADE:---clips 2624 --test 1230}
    text convlstm > "$dir/convlstm.net"
    for split in train test; do
        [ -s "$dir/$split.h5" ] ||
            run pack convtt-data pack "$dir/clips" -o "$dir/$split.h5" \
                --split $split --model "$dir/convlstm.net"
    done
}

fields='[][{}":, ]+'    # of a line of rows.jsonl

# The line of a training, whose log says what of the test clips is right.
row() {         # row KIND TASK SEED LOG
    local right rows=$dir/rows.jsonl
    right=$(sed -n 's/.*: top-1 \(.*\) at 25, 50, 100%.*/\1/p' "$dir/$4.log" |
        tail -n 1 | tr -d '%')
    [ -n "$right" ] || die "$4 was not tested: $(tail -n 1 "$dir/$4.log")"
    touch "$rows"
    awk -F "$fields" -v usual="$usual" -v key="$1 $2 $3 $epochs" \
        '$3 " " $5 " " $7 " " ($15 == "" ? usual : $15) != key' "$rows" \
        > "$rows.new" && mv "$rows.new" "$rows" || die "$rows: not written"
    echo "{\"kind\": \"$1\", \"task\": \"$2\", \"seed\": $3, \"cpu\":" \
        "$(awk "BEGIN { printf \"%.0f\", $took }"), \"top1\": [$right]," \
        "\"epochs\": $epochs}" | tee -a "$rows"
}

train() {       # train KIND TASK SEED
    local name=$1-$2-$3
    text "$1" > "$dir/$1.net"
    # shellcheck disable=SC2086
    run "$name" convtt-train "$dir/$1.net" -o "$dir/$name.h5" --task "$2" \
        --seed "$3" --data "$dir/train.h5" --val none --test "$dir/test.h5" \
        --quiet --baselines "$baselines" --threads "$threads" $learn
    baselines=off
    row "$1" "$2" "$3" "$name"
}

clips
baselines=on    # of the first training alone: they are those of all
for seed in ${SEEDS:-1 2 3}; do
    for task in ${TASKS:-recognise both}; do
        for kind in ${MODELS:-cnn3d convlstm convttlstm e3dlstm}; do
            train "$kind" "$task" "$seed"
        done
    done
    if [ -n "${BACKBONE:-}" ] && [ "$seed" = 1 ]; then
        run backbone convtt-train --backbone "$BACKBONE" -o \
            "$dir/backbone.h5" --data "$dir/clips" --val none --quiet \
            --baselines off --threads "$threads"
        row backbone frozen 1 backbone
    fi
done
awk -F "$fields" -v usual="$usual" '
    { m = $3 " " $5 " " ($15 == "" ? usual : $15)
      if (!n[m]++) name[++rows] = m
      cpu[m] += $9
      for (k = 1; k <= 3; k++) {
          v = $(10 + k); sum[m, k] += v
          if (n[m] == 1 || v < lo[m, k]) lo[m, k] = v
          if (n[m] == 1 || v > hi[m, k]) hi[m, k] = v } }
    END { printf "%-24s %-19s%-19s%-19s%s\n", "top-1, % (epochs)", "at 25%",
              "50%", "100%", "s of processors"
          for (j = 1; j <= rows; j++) {
              m = name[j]; printf "%-24s ", m
              for (k = 1; k <= 3; k++)
                  printf "%5.1f (%4.1f..%4.1f) ", sum[m, k] / n[m], lo[m, k],
                      hi[m, k]
              printf "%5.0f\n", cpu[m] / n[m] } }' "$dir/rows.jsonl"
