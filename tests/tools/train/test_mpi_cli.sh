#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_mpi_cli.sh: convtt-train under mpirun: one file for 1, 2, 4 and 8
# processes; errors and signals of one end or stop all.  Killed ranks and other
# faults of one are for tests/fault/test_ranks.sh.
set -u
tools="convtt-train convtt-data tests/comm/learn"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"
numbers='2 4 8'
[ "$every" = 1 ] || numbers=4    # a sample

# same NAME PATTERN ARGUMENT...: one file for every number of processes, with
# and without a launcher; one process says PATTERN.
count=0
same() {
    local name=$1 pattern=$2
    shift 2
    count=$((count + 1))
    [ "$every" -lt 9 ] || [ $((count % 3)) = 1 ] || return
    "$bin/convtt-train" "$@" --data $list --val val.txt --threads 1 \
        --shards 8 -o m.h5 --checkpoint m.ckpt > out 2> err < /dev/null ||
        fail "$name: $(head -3 err)"
    grep -qE "$pattern" out || fail "$name does not say '$pattern': $(cat out)"
    mv m.h5 one.h5
    mv m.ckpt one.ckpt
    mv err one.err
    for n in $([ $count = 1 ] && echo 1) $numbers; do
        under "$n" "$@" -o m.h5 --checkpoint m.ckpt ||
            fail "$name, -np $n: $(head -5 err)"
        cmp one.h5 m.h5 || fail "$name: -np $n makes another model"
        cmp one.ckpt m.ckpt || fail "$name: -np $n: another checkpoint"
        [ "$(grep '(skipped)$' one.err)" = "$(grep '(skipped)$' err)" ] ||
            fail "$name: -np $n skips other clips: $(cat err)"
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
    CTT_MODULES=$bin/tests/sim/.libs:$mpi_modules \
        same 'simulated cuda' 'epoch 2/2' batch.net $short --device cuda
    CTT_MODULES=$bin/tests/sim/.libs:$mpi_modules \
        same 'rounded on a simulated GPU' 'epoch 2/2' class.net $short \
        --device cuda --squeeze bf16
fi

# A clip of which a picture is damaged.
cp -r video/1 bad
echo P5 > bad/3.pgm
{ sed 1d train.txt; echo 'bad 1'; } > bad.txt
list=bad.txt
if same 'a bad clip' 'epoch 2/2' class.net $short; then
    grep -q 'bad.*(skipped)' err || fail "a bad clip: $(cat err)"
fi
list=train.txt

# 2. A clip that is gone is an error of all.
{ cat train.txt; echo 'lost 1'; } > lost.txt
for n in 1 4; do
    cp -r video/1 lost
    limited mpirun -np "$n" "$bin/tests/comm/learn" class.net lost.txt gone \
        shards=8 out=lost.h5 > out 2> err < /dev/null &&
        fail "a clip is gone, -np $n"
    grep -qE 'learn: rank .*: (step [0-9]*: )?.*lost: .*read before' err ||
        fail "a clip is gone, -np $n: $(cat err)"
    [ ! -e lost.h5 ] || fail "a clip is gone, -np $n: there is a model"
done
rm -rf lost

# 3. A rank has no memory: all end.
for k in $([ "$every" = 1 ] && echo 1 9) 30; do
    limited mpirun -np 4 "$bin/tests/comm/learn" class.net train.txt $k \
        > out 2> err < /dev/null
    got=$?
    [ $got = 1 ] || fail "allocation $k: status $got: $(cat out err)"
    grep -q 'learn: rank ' err || fail "allocation $k: $(head -5 err)"
done

# 4. A signal to one stops all after the same step; one process goes on.
run='class.net --batch 8 --epochs 30 --checkpoint-every 1'
under 1 $run -o one.h5 --checkpoint one.ckpt --shards 8 ||
    fail "$run: $(head -5 err)"
begin 2
kill -TERM "$(pids $pid | tail -1)"
ends 'a signal' 1
grep -q '^convtt-train: stopped after step' err ||
    fail "a signal: $(cat out err)"
says 0 'some.h5 written' "$bin/convtt-train" $run --data train.txt \
    --val val.txt --threads 1 -o some.h5 --checkpoint some.ckpt --resume
cmp one.h5 some.h5 || fail 'stopped and resumed: another model'

# 5. What is wrong is said once, and ends all.
wrong() {   # wrong STATUS PATTERN COMMAND...
    local want=$1 pattern=$2 got
    shift 2
    limited "$@" > out 2> err < /dev/null
    got=$?
    [ $got = "$want" ] || fail "$*: status $got: $(head -5 err)"
    [ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
        fail "$*: not one line: $(cat err)"
    grep -qE "^convtt-train: $pattern" err || fail "$*: $(head -5 err)"
}
one="$bin/convtt-train class.net -o a.h5 --threads 1 --batch 8"
wrong 2 "unknown option '--no'" mpirun -np 4 $one --no
wrong 1 'nowhere: no such' mpirun -np 2 $one --data nowhere
wrong 2 '3 processes: not a power of two' mpirun -np 3 $one --data train.txt
wrong 1 '--batch=6 has 2 shards, which 4 processes cannot share' \
    mpirun -np 4 $one --data train.txt --batch 6
[ "$every" != 1 ] ||
    wrong 1 '--batch=8 has 2 shards, which 4 processes cannot share' \
    mpirun -np 4 $one --data train.txt --shards 2
for what in --doctor '--folds 2'; do
    [ "$what" = --doctor ] || [ "$every" = 1 ] || continue
    wrong 2 "${what% *} is for one process, not for 2" \
        mpirun -np 2 $one --data train.txt $what
done
wrong 1 'rank 1: nowhere: no such' mpirun -np 1 $one --data train.txt : \
    -np 1 $one --data nowhere
wrong 2 "rank 1: unknown option '--no'" mpirun -np 1 $one --data train.txt : \
    -np 1 $one --no
# A file of the same name is another one on the second machine.
for r in 0 1; do
    mkdir "r$r"
    "$bin/convtt-train" class.net -o "r$r/t.h5" --data train.txt --threads 1 \
        --batch 8 --max-steps 1 --seed "$r" > out 2>&1 || fail "$(cat out)"
done
taught="$bin/convtt-train $dir/class.net -o $dir/a.h5 --data $dir/train.txt
    --threads 1 --batch 8 --max-steps 1 --teacher t.h5"
wrong 1 'rank 1: not the teachers [(]see --teacher[)] of rank 0' \
    mpirun -np 1 -wdir "$dir/r0" $taught : -np 1 -wdir "$dir/r1" $taught
[ ! -e a.h5 ] || fail 'a run that failed has written its model'
[ "$(mpirun -np 4 "$bin/convtt-train" --version | wc -l)" = 1 ] ||
    fail 'four say their version'

# 6. A rank that does not go on ends all.
begin 2 --stall 2
kill -STOP "$(pids $pid | tail -1)"
ends 'a rank that stands still' 1
grep -qE 'gone on for 2 s \(--stall\): after [0-9]+ steps, waiting for' err ||
    fail "a rank that stands still: $(cat err)"

# 7. Processors of its own for each rank.
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
