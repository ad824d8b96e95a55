#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_nccl_cli.sh: processes with a simulated GPU each exchange gradients by
# the simulated NCCL: the same file with it, without it and by one process; what
# fails or is missing is one line.
set -u
tools="convtt-train tests/comm/peers"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
[ -e "$bin/tests/sim/.libs/convtt-cuda.so" ] ||
    { echo "no simulation"; exit 77; }
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"
export CTT_MODULES=$bin/tests/sim/.libs:$mpi_modules
numbers='2 4'
[ "$every" = 1 ] || numbers=2

# each N COMMAND...: so many processes, each of which sees a GPU of its own; the
# rank $only alone has the variable $with.
only='' with=''
each() {
    local n=$1
    shift
    # shellcheck disable=SC2016
    only=$only with=$with limited mpirun -np "$n" --bind-to none sh -c '
        rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
        export CUDA_VISIBLE_DEVICES=$rank
        [ "$rank" != "$only" ] || export "$with"
        exec "$0" "$@"' "$@" > out 2> err < /dev/null
}
clips='--data train.txt --val val.txt --threads 1 --device cuda'
trains() {   # trains N ARGUMENT...
    local n=$1
    shift
    # shellcheck disable=SC2086
    each "$n" "$bin/convtt-train" $clips "$@"
}

# 1. Bytes and sums between the memories of GPUs.
for n in 1 $numbers; do
    each $n "$bin/tests/comm/peers" || fail "peers, -np $n: $(head -5 err)"
done

# 2. The same file.
direct='^gradients go from GPU to GPU by NCCL 2\.'
short='--batch 8 --epochs 2'
same() {   # same NAME ARGUMENT...
    local name=$1
    shift
    # shellcheck disable=SC2086
    "$bin/convtt-train" "$@" $clips --shards 8 -o m.h5 --checkpoint m.ckpt \
        > out 2> err < /dev/null || fail "$name: $(head -3 err)"
    mv m.h5 one.h5
    mv m.ckpt one.ckpt
    ! grep -q '^gradients go' out || fail "$name: one process says $(cat out)"
    for n in $numbers; do
        rm -f m.h5 m.ckpt
        trains "$n" "$@" -o m.h5 --checkpoint m.ckpt ||
            fail "$name, -np $n: $(head -5 err)"
        grep -q "$direct" out ||
            fail "$name, -np $n: not from GPU to GPU: $(cat out)"
        cmp one.h5 m.h5 || fail "$name, -np $n: another model"
        cmp one.ckpt m.ckpt || fail "$name, -np $n: another checkpoint"
    done
    for by in nccl mpi; do
        trains 2 "$@" -o m.h5 --comm $by || fail "$name, $by: $(head -5 err)"
        cmp one.h5 m.h5 || fail "$name, $by: another model"
    done
}
same 'batch norm' batch.net $short
same 'rounded sums' class.net $short --squeeze bf16
[ "$every" != 1 ] || {
    same 'mixed precision' class.net $short --amp O1 --squeeze fp16
    same prediction next.net $short --task predict --input-frames 2 \
        --future-frames 2
    same 'a batch that fits' class.net --batch auto --memory 1G --epochs 1
}

# 3. Which way gradients go, if nothing is said.
chooses() {   # chooses PATTERN N ARGUMENT...
    local pattern=$1
    shift
    trains "$@" --epochs 1 -o m.h5 || fail "$*: $(head -5 err)"
    grep -q "$pattern" out || fail "$*: not '$pattern': $(grep ^grad out)"
}
host='^gradients go through the host and MPI: '
chooses "$direct" 2 class.net --batch 8
chooses "$host--comm=mpi" 2 class.net --batch 8 --comm mpi
chooses "${host}what --squeeze sends" 2 class.net --batch 8 \
    --squeeze share=0.1 --optimizer sgd
only=1 with=CTT_SIM_NCCL=none
chooses "${host}rank 1: libnccl.*cannot open" 2 class.net --batch 8
with=CTT_SIM_NCCL=old
chooses "${host}rank 1: .*no ncclSend: it is too old" 2 class.net --batch 8
with=CUDA_VISIBLE_DEVICES=0
chooses "${host}ranks 0 and 1 have the same GPU" 2 class.net --batch 8

# 4. What --comm=nccl cannot do is one line.
# refuses_by STATUS PATTERN N ARGUMENT...
refuses_by() {
    local want=$1 pattern=$2 n=$3 got
    shift 3
    trains "$n" class.net --batch 8 -o a.h5 --comm nccl "$@"
    got=$?
    [ $got = "$want" ] || fail "$*: status $got: $(head -3 err)"
    [ "$(grep -c '^convtt-train: ' err)" = 1 ] || fail "$*: $(cat err)"
    grep -q "^convtt-train: .*$pattern" err || fail "$*: $(head -3 err)"
}
refuses_by 1 '--comm=nccl: ranks 0 and 1 have the same GPU' 2
with=CTT_SIM_NCCL=none
refuses_by 1 '--comm=nccl: rank 1: libnccl' 2
with=CTT_SIM_NCCL=wrong
refuses_by 1 'rank 1: what GPUs send each other.*from rank 0 (--comm=mpi' 2
only=''
refuses_by 1 '--comm=nccl is for several processes' 1
refuses_by 2 'what --squeeze=share=0.1 sends is encoded by the host' 2 \
    --squeeze share=0.1
refuses_by 2 '--comm requires --device=cuda' 2 --device cpu
refuses_by 2 '--comm requires --sync=all' 3 --sync central
refuses_by 2 '--comm excludes --stages' 2 --stages auto
[ ! -e a.h5 ] || fail 'a run that failed has written its model'

# 5. A call of NCCL fails on one rank: its line, and all are gone.
run='class.net --batch 8 --epochs 1 -o a.h5'    # in two steps
pace trains 2 $run
rm -f a.h5
for only in 0 1; do    # rank 1 waits for rank 0 to speak
    step=$((1 + 4 * only))
    [ "$every" = 1 ] || step=9
    for ((k = 2; ; k += step)); do
        with=CTT_SIM_NCCL=$k
        from=$(now)
        trains 2 $run
        got=$?
        [ $got != 71 ] || break    # it makes fewer calls
        took=$(($(ms "$from") - calm))
        [ $got = 1 ] || fail "call $k of rank $only: status $got: $(cat err)"
        [ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
            fail "call $k of rank $only: not one line: $(cat err)"
        [ $only = 0 ] && who= || who='rank 1: '
        grep -q "^convtt-train: $who.*nccl[A-Za-z]*: internal error" err ||
            fail "call $k of rank $only: $(cat err)"
        [ $took -le $limit ] || fail "call $k of rank $only: it takes $took ms"
        [ ! -e a.h5 ] || fail "call $k of rank $only: a model"
        [ "$k" -lt 99 ] || { fail 'it never ends'; break; }
    done
    [ "$k" -gt 20 ] || fail "rank $only makes $k calls only"
    rm -f a.h5
done
only=''

# 6. A rank that stands still, or is killed.
begin_each() {   # begin_each ARGUMENT...: in the background, to a checkpoint
    rm -f some.h5 some.ckpt
    # shellcheck disable=SC2016
    mpirun -np 2 --bind-to none sh -c '
        export CUDA_VISIBLE_DEVICES=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
        exec "$0" "$@"' "$bin/convtt-train" class.net --batch 8 --epochs 300 \
        --checkpoint-every 1 $clips -o some.h5 --checkpoint some.ckpt \
        --comm nccl "$@" > out 2> err < /dev/null & pid=$!
    for i in $(seq "$ticks"); do
        [ -e some.ckpt ] && return
        kill -0 $pid 2> /dev/null || break
        sleep 0.05
    done
    fail "no checkpoint: $(head -5 err)"
}
begin_each --stall 2
kill -STOP "$(pids $pid | tail -1)"
ends 'a rank that stands still' 1
grep -qE 'gone on for 2 s \(--stall\): after [0-9]+ steps, waiting for' err ||
    fail "a rank that stands still: $(cat err)"
begin_each
kill -9 "$(pids $pid | tail -1)"
ends 'a rank that is killed' any

# 7. Ranks that see all GPUs of the machine take one each.
takes() {   # takes PATTERN WAY GPUS N ARGUMENT...
    local pattern=$1 way=$2 gpus=$3 n=$4
    shift 4
    # shellcheck disable=SC2086
    CTT_SIM_GPUS=$gpus limited mpirun -np "$n" --bind-to none \
        "$bin/convtt-train" $clips --shards 8 --epochs 1 -o m.h5 "$@" \
        > out 2> err < /dev/null ||
        fail "$gpus GPUs, -np $n: $(head -5 err)"
    grep -q "^ranks take GPUs $pattern$" out ||
        fail "$gpus GPUs, -np $n: not '$pattern': $(grep GPU out)"
    grep -q "$way" out || fail "$gpus GPUs, -np $n: $(grep ^grad out)"
    cmp whole.h5 m.h5 || fail "$gpus GPUs, -np $n: another model"
}
whole() {   # whole ARGUMENT...: by one process
    # shellcheck disable=SC2086
    "$bin/convtt-train" $clips --shards 8 --epochs 1 -o whole.h5 "$@" \
        > out 2> err < /dev/null || fail "one process: $(cat err)"
    ! grep -q 'take GPUs' out || fail "one process: $(cat out)"
}
run='class.net --batch 8'
whole $run
takes '0, 1' "$direct" 2 2 $run
takes '0, 1' "$direct" 3 2 $run
takes '0, 0: ranks 0 and 1 share one' "${host}ranks 0 and 1" 1 2 $run
[ "$every" != 1 ] || {
    takes '0, 1, 2, 3' "$direct" 4 4 $run
    takes '0, 1, 0, 1: ranks 0 and 2 share one' "${host}ranks 0 and 2" 2 4 $run
}
# The thread that writes to a file waits for the GPU of its rank.
run="$run --window 2 --keep offload --offload ."
whole $run
takes '0, 1' "$direct" 2 2 $run
exit $failed
