#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shape.sh DIR: a search of the shape of a network (widths, layers, rank, order)
# with at most the multiplications and parameters of a model made by hand,
# models/early-convttlstm.net, beside which the best is trained with the same
# settings and SEEDS and tested on the same clips.  DIR: clips of four actions
# with the splits validation and test, those of ./quickstart demo
# (build/demo/clips).  Prints, for both, parameters, multiplications, bytes and
# milliseconds of a frame on one thread, and top-1 at 25, 50 and 100%.
# BUILD=FOLDER: the build folder (build).  KEEP=FOLDER: models and logs stay
# there, and a search that was stopped goes on.  SEEDS="1 2 3".  TRIALS=24.
# EPOCHS=7.  REPEATS=3.  THREADS=2.
set -u
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
epochs=${EPOCHS:-7}
learn="--batch 16 --lr 3e-3 --weight-decay 0.02 --label-smooth 0.05 --warmup 1
    --augment off --jitter --brightness 0.6 --contrast 0.2 --baselines off"
cat > "$work/shape.net" << 'END'
# early-convttlstm with named sizes; layers: convs after the third one
let width=32 kernel=5 layers=1 hidden=64 order=3 rank=8
input      x  h=48 w=48 c=3 fps=6 mean=0.45 std=0.125 scale=1.125
state      p  of=x
add        d  in=x,p minus=1
conv       c1 in=d out=$width kernel=$kernel stride=2 pad=$kernel-1/2 bias=0
norm       n1 in=c1 kind=batch
act        f1 in=n1 kind=relu
conv       c2 in=f1 out=$width*2 kernel=3 stride=2 pad=1 bias=0
norm       n2 in=c2 kind=batch
act        f2 in=n2 kind=relu
conv       c3 in=f2 out=$width*4 kernel=3 stride=2 pad=1 bias=0
norm       n3 in=c3 kind=batch
act        g0 in=n3 kind=relu
repeat i=$layers
conv       d$i in=g$i-1 out=$width*4 kernel=3 pad=1 bias=0
norm       e$i in=d$i kind=batch
act        g$i in=e$i kind=relu
end
convttlstm h in=g$layers hidden=$hidden kernel=3 order=$order steps=3 rank=$rank
pool       q  in=h kind=max
conv       y  in=q out=12
END
hand=$src/models/early-convttlstm.net
# limit NAME: the number of the model made by hand, such as 23819520.
limit() {
    "$build/convtt-info" --all "$hand" | sed -n "s/^$1 [^(]*(\([0-9]*\)).*/\1/p"
}
cat > "$work/space.txt" << END
\$width   int    12 48
\$kernel  choice 3 5
\$layers  int    0 3
\$hidden  choice 32 48 64 96 128
\$order   int    1 3
\$rank    choice 4 8 12 16
at-most  multiplications $(limit multiplications)
at-most  parameters      $(limit parameters)
END

for s in train validation test; do
    [ -e "$work/$s.pack" ] || "$build/convtt-data" pack "$dir" \
        -o "$work/$s.pack" --split $s --model "$hand" > "$work/pack.log" 2>&1 ||
        die "$(tail -n 1 "$work/pack.log")"
done
data="--data $work/train.pack --val $work/validation.pack
    --test $work/test.pack --epochs $epochs --threads $threads"
log=$work/best.h5.search.jsonl
# shellcheck disable=SC2086
grep -qs '^{"won":' "$log" || "$build/convtt-train" "$work/shape.net" \
    --search "$work/space.txt" $data $learn -o "$work/best.h5" \
    --trials "${TRIALS:-24}" --repeats "${REPEATS:-3}" \
    > "$work/search.log" 2>&1 || die "$(tail -n 1 "$work/search.log")"
won=$(tail -n 1 "$log" | grep -oE '[0-9]+' | head -n 1)
set=$(grep "^{\"trial\":$won," "$log" | tail -n 1 |
    sed 's/.*"settings":{\([^}]*\)}.*/\1/; s/[$"]//g; s/:/=/g')

train() {       # train NAME SEED NET...
    [ -e "$work/$1.$2.h5" ] && return
    # shellcheck disable=SC2086
    "$build/convtt-train" "${@:3}" $data $learn --seed "$2" \
        -o "$work/$1.$2.h5" > "$work/$1.$2.log" 2>&1 ||
        die "$1.$2: $(tail -n 1 "$work/$1.$2.log")"
}

row() {         # row NAME WORDS
    local ms seed
    ms=$("$build/convtt-infer" --bench "$work/$1.1.h5" --threads 1 |
        grep -oE '[0-9.]+ ms' | head -n 1)
    echo "$1: $2; $(stat -c %s "$work/$1.1.h5") bytes, $ms a frame"
    sed -n 's/^model: /    /p' "$work/$1.1.log"
    for seed in ${SEEDS:-1 2 3}; do
        sed -n "s/.*split 'test'.*top-1 \(.*\) at 25.*/    seed $seed: \1/p" \
            "$work/$1.$seed.log"
    done
}

for seed in ${SEEDS:-1 2 3}; do
    train hand "$seed" "$hand"
    train found "$seed" "$work/shape.net" --set "$set"
done
row hand 'early-convttlstm'
row found "$set"
