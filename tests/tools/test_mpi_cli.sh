#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_mpi_cli.sh: convtt-train under mpirun: one file for 1, 2, 4 and 8
# processes, also after one was killed and others went on; errors and signals
# of one end or stop all.
set -u
tools="convtt-train convtt-data tests/comm/learn"
. "${srcdir:-.}/tests/lib/cli.sh"
unset CTT_MODULES OMPI_COMM_WORLD_SIZE PMI_SIZE PMIX_RANK SLURM_STEP_NUM_TASKS
if ! type -P mpirun > /dev/null || [ ! -e "$bin/.libs/convtt-mpi.so" ]; then
    echo 'no mpirun, or built without MPI'
    exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# MPI keeps what it allocates until the process ends.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export CTT_MODULES=$bin/.libs
if ! mpirun -np 2 true > out 2> err < /dev/null; then
    echo "mpirun starts nothing here: $(head -3 err)"
    exit 77
fi
every=${CTT_CHECK_EVERY:-1}
numbers='2 4 8'
[ "$every" = 1 ] || numbers=4    # a sample

# Clips are folders of four to six pictures: a bright bar that moves right or
# down.
mkdir video
for i in $(seq 24); do
    mkdir video/$i
    [ "$i" -le 16 ] && to=train.txt || to=val.txt
    echo "video/$i $((i % 2))" >> $to
done
awk 'BEGIN {
    for (i = 1; i <= 24; i++)
        for (t = 1; t <= 4 + i % 3; t++) {
            file = "video/" i "/" t ".pgm"
            printf "P5\n8 8\n255\n" > file
            for (k = 0; k < 64; k++) {
                at = i % 2 ? k % 8 : int(k / 8)
                printf "%s", (at + i + t) % 8 < 3 ? "z" : t > file
            }
            close(file)
        }
}'
net() {   # net FILE [NORM]: a classifier
    echo 'input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2'
    echo 'conv e in=x out=4 kernel=3 pad=1'
    echo "norm b in=e kind=${1:-layer}"
    echo 'convlstm h in=b hidden=4 kernel=3'
    echo 'dropout o in=h rate=0.2'
    echo 'pool p in=o kind=avg'
    echo 'conv y in=p out=2'
}
net > class.net
net batch > batch.net
{ echo 'input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2'
  echo 'convlstm h in=x hidden=4 kernel=3'
  echo 'conv y in=h out=1 kernel=3 pad=1'; } > next.net

# under N ARGUMENT...: that many processes of convtt-train, into out and err.
under() {
    local n=$1
    shift
    mpirun -np "$n" --bind-to none "$bin/convtt-train" "$@" --threads 1 \
        --data train.txt --val val.txt > out 2> err < /dev/null
}

# same NAME PATTERN ARGUMENT...: one file for every number of processes, with
# and without a launcher; one process says PATTERN.
count=0
same() {
    local name=$1 pattern=$2
    shift 2
    count=$((count + 1))
    [ "$every" -lt 9 ] || [ $((count % 3)) = 1 ] || return
    "$bin/convtt-train" "$@" --data train.txt --val val.txt --threads 1 \
        --shards 8 -o m.h5 --checkpoint m.ckpt > out 2> err < /dev/null ||
        fail "$name: $(head -3 err)"
    grep -qE "$pattern" out || fail "$name does not say '$pattern': $(cat out)"
    mv m.h5 one.h5
    mv m.ckpt one.ckpt
    for n in $([ $count = 1 ] && echo 1) $numbers; do
        under "$n" "$@" -o m.h5 --checkpoint m.ckpt ||
            fail "$name, -np $n: $(head -5 err)"
        cmp one.h5 m.h5 || fail "$name: -np $n makes another model"
        cmp one.ckpt m.ckpt || fail "$name: -np $n: another checkpoint"
        rm -f m.h5 m.ckpt
    done
}

# 1. The same file.  Eight clips have lengths of their own, so that there are
# two buckets.
short='--batch 8 --epochs 2'
same adamw 'epoch 2/2' class.net $short --buckets 2
same 'prediction' 'epoch 2/2' next.net $short --task predict \
    --input-frames 2 --future-frames 2 --sampling-start 0.5 --val-batch 3
same 'batch norm' 'epoch 2/2' batch.net $short
same 'mixed precision' '[1-9][0-9]* steps? skipped' class.net $short --amp O1
same sgd 'epoch 2/2' class.net $short --optimizer sgd --ema 0.9
same adam 'epoch 2/2' class.net $short --optimizer adam \
    --sampler balanced --augment strong --batch 16
same 'rounded sums' 'squeeze=bf16: 50.00%' class.net $short --squeeze bf16
same 'over a threshold' 'squeeze=threshold=1e-3:' class.net $short \
    --squeeze threshold=1e-3
same 'half precision' 'squeeze=fp16: 50.00%' class.net $short --amp O1 \
    --squeeze fp16 --optimizer sgd
same 'few values' 'squeeze=share=0.1: [0-9.]*%' batch.net $short --amp O1 \
    --squeeze share=0.1 --optimizer sgd
same 'a range test' '^--lr=' class.net $short --lr auto
same 'early stop' 'epoch' class.net --batch 8 --epochs 6 --early-stop 1 --lr 0
if [ -e "$bin/tests/sim/.libs/convtt-cuda.so" ]; then
    CTT_MODULES=$bin/tests/sim/.libs:$bin/.libs \
        same 'simulated cuda' 'epoch 2/2' batch.net $short --device cuda
    CTT_MODULES=$bin/tests/sim/.libs:$bin/.libs \
        same 'rounded on a simulated GPU' 'epoch 2/2' class.net $short \
        --device cuda --squeeze bf16
fi

# 2. A clip that is gone; with --strict, an error of all.
lost() {   # lost N WHAT: learn, with 16 clips and one to lose
    cp -r video/1 lost
    { cat train.txt; echo 'lost 1'; } > lost.txt
    mpirun -np "$1" "$bin/tests/comm/learn" class.net lost.txt "$2" \
        > out 2> err < /dev/null
}
lost 1 gone || fail "a clip that is gone: $(cat err)"
mv out one.out
grep -q '^skipped: .*lost' one.out || fail "no clip was skipped: $(cat one.out)"
for n in $numbers; do
    [ "$n" -le 4 ] || continue
    lost "$n" gone || fail "a clip that is gone, -np $n: $(cat err)"
    cmp one.out out || fail "a clip that is gone, -np $n: $(cat out)"
done
lost 4 strict && fail '--strict, and a clip is gone'
grep -q 'learn: rank .*: step [0-9]*: .*lost' err || fail "strict: $(cat err)"
rm -rf lost

# 3. A rank has no memory: all end.
for k in $([ "$every" = 1 ] && echo 1 9) 30; do
    timeout 60 mpirun -np 4 "$bin/tests/comm/learn" class.net train.txt $k \
        > out 2> err < /dev/null
    got=$?
    [ $got = 1 ] || fail "allocation $k: status $got: $(cat out err)"
    grep -q 'learn: rank ' err || fail "allocation $k: $(head -5 err)"
done

# 4. Killed in a step; two go on with the checkpoint of four.
run='class.net --batch 8 --epochs 30 --checkpoint-every 1'
pids() { pgrep -P "$1"; }
# begin N ARGUMENT...: in the background, until a checkpoint is there
begin() {
    local n=$1
    shift
    rm -f some.h5 some.ckpt
    mpirun -np "$n" --bind-to none "$bin/convtt-train" $run --data train.txt \
        --val val.txt --threads 1 -o some.h5 --checkpoint some.ckpt "$@" \
        > out 2> err < /dev/null & pid=$!
    for i in $(seq 600); do
        [ -e some.ckpt ] && return
        sleep 0.05
    done
    fail "no checkpoint: $(head -5 err)"
}
ends() {   # ends WHAT STATUS: the one in the background, within a minute
    local got
    timeout 60 tail --pid=$pid -f /dev/null || fail "$1: it goes on"
    wait $pid
    got=$?
    [ $got = "$2" ] || [ "$2" = any ] || fail "$1: status $got: $(head -5 err)"
    [ $got != 0 ] || fail "$1: status 0"
}
killed() {   # killed RANK ARGUMENT...
    local rank=$1
    shift
    under 1 $run -o one.h5 --checkpoint one.ckpt --shards 8 "$@" ||
        fail "$run: $(head -5 err)"
    begin 4 "$@"
    kill -9 "$(pids $pid | sed -n "${rank}p")"
    ends 'a killed rank' any
    under 2 $run -o some.h5 --checkpoint some.ckpt --resume "$@" ||
        fail "resumed with 2: $(head -5 err)"
    cmp one.h5 some.h5 || fail "killed and resumed: another model: $*"
}
[ "$every" != 1 ] || killed 3
killed 2 --squeeze share=0.2 --optimizer sgd
killed 1

# 5. A signal to one stops all after the same step; one process goes on.
begin 2
kill -TERM "$(pids $pid | tail -1)"
ends 'a signal' 1
grep -q '^stopped after step' out || fail "a signal: $(cat out err)"
says 0 'some.h5 written' "$bin/convtt-train" $run --data train.txt \
    --val val.txt --threads 1 -o some.h5 --checkpoint some.ckpt --resume
cmp one.h5 some.h5 || fail 'stopped and resumed: another model'

# 6. What is wrong is said once, and ends all.
wrong() {   # wrong STATUS PATTERN COMMAND...
    local want=$1 pattern=$2 got
    shift 2
    timeout 60 "$@" > out 2> err < /dev/null
    got=$?
    [ $got = "$want" ] || fail "$*: status $got: $(head -5 err)"
    [ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
        fail "$*: not one line: $(cat err)"
    grep -qE "^convtt-train: $pattern" err || fail "$*: $(head -5 err)"
}
one="$bin/convtt-train class.net -o a.h5 --threads 1 --batch 8"
wrong 2 "unknown option '--no'" mpirun -np 4 $one --no
wrong 1 'nowhere: no such' mpirun -np 2 $one --data nowhere
wrong 1 '3 processes: not a power of two' mpirun -np 3 $one --data train.txt
wrong 1 '--batch=6 has 2 shards, which 4 processes cannot share' \
    mpirun -np 4 $one --data train.txt --batch 6
[ "$every" != 1 ] ||
    wrong 1 '--batch=8 has 2 shards, which 4 processes cannot share' \
    mpirun -np 4 $one --data train.txt --shards 2
for what in --doctor '--folds 2'; do
    [ "$what" = --doctor ] || [ "$every" = 1 ] || continue
    wrong 1 "${what% *} is for one process, not for 2" \
        mpirun -np 2 $one --data train.txt $what
done
wrong 1 'rank 1: nowhere: no such' mpirun -np 1 $one --data train.txt : \
    -np 1 $one --data nowhere
wrong 1 'rank 1: not the settings of rank 0' \
    mpirun -np 1 $one --data train.txt : -np 1 $one --data train.txt --seed 2
[ "$every" != 1 ] || wrong 1 'rank 1: not the clips of rank 0' \
    mpirun -np 1 $one --data train.txt : -np 1 $one --data val.txt
[ ! -e a.h5 ] || fail 'a run that failed has written its model'
[ "$(mpirun -np 4 "$bin/convtt-train" --version | wc -l)" = 1 ] ||
    fail 'four say their version'

# 7. A rank that does not go on ends all.
begin 2 --stall 2
kill -STOP "$(pids $pid | tail -1)"
ends 'a rank that stands still' 1
grep -qE 'gone on for 2 s \(--stall\): after step [0-9]+, waiting for' err ||
    fail "a rank that stands still: $(cat err)"

# 8. Processors of its own for each rank.
allowed() {
    for p in $(pids $pid); do
        sed -n 's/^Cpus_allowed_list:[^0-9]*//p' "/proc/$p/status"
    done
}
if [ "$(nproc)" -ge 2 ]; then
    for kind in auto none; do
        begin 2 --affinity $kind
        allowed > $kind.cpus
        kill -TERM "$(pids $pid | head -1)"
        ends "--affinity $kind" 1
    done
    [ "$(sort -u auto.cpus | wc -l)" = 2 ] ||
        fail "--affinity auto: $(cat auto.cpus)"
    [ "$(sort -u none.cpus | wc -l)" = 1 ] ||
        fail "--affinity none: $(cat none.cpus)"
fi
exit $failed
