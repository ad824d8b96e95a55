#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_stages_cli.sh: convtt-train --stages under mpirun: a model in sections,
# each of a process, makes the bits of one process.
set -u
tools="convtt-train tests/comm/learn"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"

# Values that pass a section, a loop, dropout, statistics that move, a state of
# an earlier value and a part after clip.
cat > deep.net << 'END'
input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2
conv e in=x out=4 kernel=3 pad=1
act a in=e kind=relu
conv f in=a out=4 kernel=3 pad=1 plus=a
norm b in=f kind=batch
act g in=b kind=tanh
state s of=g fill=first
add t in=g,s
convlstm h in=t hidden=4 kernel=3
conv k in=a out=4 kernel=1
add d in=h,k
convlstm i in=d hidden=4 kernel=3
dropout o in=i rate=0.2
concat c in=o,g
pool p in=c kind=avg
clip
window q in=p steps=2 fill=first
pool z in=q kind=avg
conv y in=z out=2
END

# Components that are not in the order of the lines; values that are whole
# numbers; a loop whose lstm has a name for its cell.
cat > order.net << 'END'
input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2
conv e in=x out=4 kernel=3 pad=1
state s of=h like=e c=4
conv a in=e out=4 kernel=3 pad=1
conv b in=e out=4 kernel=3 pad=1
conv c in=e out=4 kernel=3 pad=1
add m in=c,b,a
conv g in=m out=4 kernel=3 pad=1
conv r in=s out=4 kernel=3 pad=1
add k in=g,r
act h in=k kind=tanh
pool p in=h kind=avg
conv y in=p out=2
END
cat > quant.net << 'END'
input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2
conv e in=x out=4 kernel=3 pad=1
act a in=e kind=relu
quant q in=a scale=0.02
conv b in=q out=4 kernel=3 pad=1
pool p in=b kind=avg
conv y in=p out=2
END
cat > cell.net << 'END'
input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2
conv z in=x out=16 kernel=3 pad=1
conv k in=x out=4 kernel=3 pad=1
lstm l in=z,k
cell lc in=l
add m in=lc,l
pool p in=m kind=avg
conv y in=p out=2
END

# 1. The bits of one process, whatever number of sections, of each kind of
# batch; two windows of steps.
all=1000000000    # allocations that succeed
learnt() {
    local n=$1
    shift
    limited mpirun -np "$n" "$bin/tests/comm/learn" "$@" 2> err < /dev/null
}
same() {    # NUMBERS NET SETTING...
    local one n numbers=$1 net=$2
    shift 2
    one=$("$bin/tests/comm/learn" "$net" train.txt $all "$@" 2> err)
    [[ $one = weights* ]] || fail "$net $*: $one $(head -3 err)"
    for n in $numbers; do
        [ "$(learnt "$n" "$net" train.txt $all "$@" stages=auto)" = "$one" ] ||
            fail "$n sections, $net $*: not '$one': $(head -3 err)"
    done
}
same '2 3 5' deep.net epochs=3
same 4 deep.net window=2 epochs=2
same 2 class.net shards=1 self-distil=0.3 label-smooth=0.1
for net in order quant cell; do
    same 2 $net.net
done
if [ "$every" = 1 ]; then
    same 3 order.net
    same 3 batch.net optimizer=sgd buckets=2
    same 2 class.net window=3 clip-norm=0.1
    same '2 3' deep.net freeze=e,b
    same 2 class.net mixup=0.5
fi
[ "$(learnt 2 deep.net train.txt $all stages=d epochs=3)" = \
    "$("$bin/tests/comm/learn" deep.net train.txt $all epochs=3)" ] ||
    fail "sections by name: $(head -3 err)"

learnt 2 quant.net train.txt $all stages=b > out && fail 'whole numbers pass'
grep -q 'no section can begin with b; near it: ' err ||
    fail "through whole numbers: $(head -3 err)"

# 2. The same file, tests and all; killed, and gone on with by another number of
# sections, or without any.
run='deep.net --batch 8 --shards 4 --epochs 20 --checkpoint-every 1'
"$bin/convtt-train" $run --data train.txt --val val.txt --threads 1 -o one.h5 \
    > out 2> err || fail "one process: $(head -3 err)"
under 3 $run -o some.h5 --stages auto || fail "stages: $(head -3 err)"
cmp one.h5 some.h5 || fail 'three sections: another model'
grep -q '^a pipeline of 3 processes on 1 machine: 4 shards' out ||
    fail "it does not say what it does: $(cat out)"
[ "$(grep -cE '^section [123], .*: [0-9.e-]+ ms forward and .*k' out)" = 3 ] ||
    fail "no times: $(cat out)"
grep -q '4.0 shards and windows a batch through 3 sections: .* 33%' out ||
    fail "no bubble: $(cat out)"
for then in 2 1; do
    begin 3 --stages auto
    kill -9 "$(pids $pid | sed -n 2p)"
    ends 'a killed section' any
    stages=()
    [ $then = 1 ] || stages=(--stages auto)
    under $then $run -o some.h5 --checkpoint some.ckpt --resume \
        ${stages[@]+"${stages[@]}"} || fail "resumed by $then: $(head -5 err)"
    cmp one.h5 some.h5 || fail "resumed by $then: another model"
done

# 3. A signal to any section stops all after a step; a clip that is gone; an
# error of one is that of all.
run="$run --epochs 300"
for rank in 1 3; do
    begin 3 --stages auto
    kill -TERM "$(pids $pid | sed -n ${rank}p)"
    ends 'a signal' 1
    grep -q '^convtt-train: stopped after step' err ||
        fail "a signal: $(cat out err)"
done
cp -r video/1 lost
{ cat train.txt; echo 'lost 1'; } > lost.txt
learnt 3 class.net lost.txt gone stages=auto > out && fail 'a clip is gone'
grep -q 'learn: rank [0-9]: step [0-9]*: .*lost: .*read before' err ||
    fail "a clip is gone: $(cat err)"
for k in $([ "$every" = 1 ] && echo 1 9) 40; do
    learnt 3 class.net train.txt $k stages=auto > out && fail "allocation $k"
    grep -q 'learn: rank ' err || fail "allocation $k: $(head -5 err)"
done

# 4. What cannot be is said in one line.
{ sed '/^norm/d; s/in=b/in=m/' class.net | sed '/^conv e/,$d'
  echo 'conv e in=x out=4 kernel=3 pad=1'
  echo 'pool p in=e kind=avg'
  echo 'conv y in=p out=2'; } > small.net
under 3 small.net --batch 8 --epochs 1 -o small.h5 --stages auto ||
    fail "three sections of a small model: $(head -3 err)"
grep -q '^section 3, y to y: ' out || fail "its sections: $(cat out)"
for wrong in "2|at least two processes|1|deep.net --stages auto" \
    "1|no node nn|2|deep.net --stages nn" \
    "1|y stands after clip|2|deep.net --stages y" \
    "1|into [0-9]* sections at most, not into 6|6|small.net --stages auto" \
    "2|exclude each other|3|deep.net --stages auto --sync central" \
    "2|--squeeze is for --sync=all|2|deep.net --stages auto --squeeze bf16" \
    "2|does not go with --amp|2|deep.net --stages auto --amp O1" \
    "2|--keep has no effect|2|deep.net --stages auto --keep auto" \
    "2|reads its own answers|2|next.net --stages auto --task predict"; do
    # shellcheck disable=SC2086
    refuses "$wrong" -o x.h5 --data train.txt --threads 1 --batch 8
done
[ ! -e x.h5 ] || fail 'a run that failed has written its model'

# A section without the input makes no frames on a simulated GPU, whose tally
# ends each rank where it is in the second step; mpirun may end the other first.
sim=$bin/tests/sim/.libs
tally() {
    rm -f tally.*
    last=
    CTT_MODULES=$sim:$CTT_MODULES CTT_SIM_GPUS=2 CTT_SIM_GUARD=0 \
        CTT_SIM_TALLY=ctt_adam limited mpirun -np 2 --bind-to none \
        bash -c '"$0" "$@" > tally.$$ 2>&1' "$bin/convtt-train" large.net \
        --stages auto --device cuda --batch 8 --shards 4 --max-steps 3 \
        --threads 1 --data train.txt -o t.h5 > log 2>&1 < /dev/null
    first=$(grep -l 'kernel layer_weights' tally.*) &&
        last=$(grep -l 'kernel losing' tally.*)
}
if [ -e "$sim/convtt-cuda.so" ]; then
    sed 's/h=8 w=8/h=48 w=48/' class.net > large.net
    for _ in 1 2 3 4 5; do
        tally && break
    done
    grep -q 'kernel ctt_shots' "$first" ||
        fail "no frames in the first section: $(tail -n 3 log "$first")"
    [ "$last" ] && ! grep -q 'kernel ctt_shots' "$last" ||
        fail "frames in the last section: $(tail -n 3 log "$last")"
fi
exit $failed
