#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sync_cli.sh: convtt-train --sync under mpirun: a server that waits for
# all workers makes the bits of one process, one that does not goes on without
# those that stand still, and counts what it drops.
set -u
tools="convtt-train tests/comm/learn"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"

# learnt N ARGUMENT...: what N processes come to, "weights ..."
learnt() {
    local n=$1
    shift
    limited mpirun -np "$n" "$bin/tests/comm/learn" "$@" 2> err < /dev/null
}

# 1. The server waits for all: with any number of workers the bits are those of
# one process.
all=1000000000    # allocations that succeed
central() {
    local one n
    one=$("$bin/tests/comm/learn" "$@" 2> err)
    [[ $one = weights* ]] || fail "$*: $one $(head -3 err)"
    for n in $([ "$every" = 1 ] && echo 2 5) 3; do
        [ "$(learnt $n "$@" sync=central)" = "$one" ] ||
            fail "central, -np $n, $*: not '$one': $(head -3 err)"
    done
}
central class.net train.txt $all epochs=3 batch=8 buckets=2
central batch.net train.txt $all optimizer=sgd batch=16    # statistics move
central class.net train.txt $all amp=O1           # the loss scale
[ "$every" != 1 ] || central next.net train.txt $all task=predict \
    input-frames=2 future-frames=2 sampling-start=0.5

# One worker takes each batch once, and none is late: the bits of one process.
one=$("$bin/tests/comm/learn" class.net train.txt $all deterministic=off \
    epochs=3 batch=4 shards=1 2> err)
[ "$(learnt 2 class.net train.txt $all deterministic=off sync=async epochs=3 \
    batch=4 shards=1)" = "$one" ] ||
    fail "async, one worker: not '$one': $(head -3 err)"

# 2. Each gradient is counted once, and the log adds up.
# sums FILE COLUMN: the sum of a column
sums() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++)
                                        if ($i == name) k = i }
                          NR > 1 { n += $k } END { print n + 0 }' "$1"
}
came() {    # of all columns stale_N
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) is[i] = $i ~ /^stale_[0-9]/ }
             NR > 1 { for (i = 1; i <= NF; i++) if (is[i]) n += $i }
             END { print n + 0 }' "$1"
}
off='--deterministic off'
for n in 2 4; do
    under $n class.net --sync async $off --batch 4 --epochs 5 -o a.h5 \
        --log-csv a.csv || fail "async, -np $n: $(head -3 err)"
    [ "$(came a.csv)" = 20 ] || fail "async, -np $n: $(cat a.csv)"
    [ "$(sums a.csv dropped)" = 0 ] || fail "async drops: $(cat a.csv)"
    [ "$(tail -1 a.csv | cut -d, -f2)" = 20 ] || fail "steps: $(cat a.csv)"
    grep -qE 'sync=async: 20 gradients, on average [0-9.]+ steps late' out ||
        fail "async says $(cat out)"
done
grep -q 'sync=async: .* 0.00 steps late' out && fail 'none of three is late'
under 5 batch.net --sync backup=1 $off --batch 8 --epochs 5 -o b.h5 \
    --log-csv b.csv || fail "backup: $(head -3 err)"
n=$(came b.csv)
[ $((n - $(sums b.csv dropped))) = 30 ] ||
    fail "10 steps of 3 gradients, and what is dropped: $(cat b.csv)"
under 3 next.net --sync async $off --task predict --input-frames 2 \
    --future-frames 2 --batch 4 --epochs 2 -o c.h5 --amp O1 ||
    fail "prediction: $(head -3 err)"

# What was sent stays until it has been taken: messages that are too large for
# a buffer of MPI, the last ones too.
{ echo 'input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2'
  echo 'conv e in=x out=64 kernel=3 pad=1'
  echo 'conv f in=e out=256 kernel=3 pad=1'
  echo 'pool p in=f kind=avg'
  echo 'conv y in=p out=2'; } > wide.net
for n in 3 5; do
    under $n wide.net --sync async $off --batch 8 --epochs 1 -o d.h5 ||
        fail "messages of 600 kB, -np $n: $(head -3 err)"
done

# 3. A worker that stands still: with a backup the others go on, and what it
# sends later is dropped; without, --stall ends all.
steps() { sed -n 's/.* step \([0-9]*\).*/\1/p' some.csv | tail -1; }
rows() { wc -l < some.csv; }
run='class.net --batch 8 --epochs 200 --checkpoint-every 2'
begin 4 --sync async $off --log-csv some.csv
kill -TERM "$(pids $pid | tail -1)"
ends 'a signal to a worker' 1
grep -q '^convtt-train: stopped after step' err ||
    fail "a signal: $(cat out err)"
begin 3 --sync backup=1 $off --log-csv some.csv
slow=$(pids $pid | tail -1)
kill -STOP "$slow"
sleep 0.5
had=$(rows)
for i in $(seq "$ticks"); do
    [ "$(rows)" -le $((had + 3)) ] || break
    kill -0 $pid 2> /dev/null || break
    sleep 0.05
done
[ "$(rows)" -gt $((had + 3)) ] || fail 'one of two stands still, and all wait'
kill -CONT "$slow"
wait $pid || fail "a worker that stood still: status $?: $(head -3 err)"
n=$(sed -n 's/.*sync=backup=1: .* at most \([0-9]*\); [0-9]* dropped/\1/p' out)
[ "${n:-0}" -ge 6 ] || fail "its gradient is $n steps late: $(cat out)"
[ "$(sums some.csv dropped)" -gt 0 ] || fail "nothing is dropped"
begin 3 --sync central --stall 2
kill -STOP "$(pids $pid | tail -1)"
ends 'a worker that stands still' 1
grep -qE 'gone on for 2 s \(--stall\): after [0-9]+ steps, waiting for' err ||
    fail "a worker that stands still: $(cat err)"

# 4. Killed; other workers go on with the checkpoint.
run='class.net --batch 8 --epochs 30 --checkpoint-every 1 --sync central'
under 3 $run -o one.h5 --checkpoint one.ckpt || fail "$run: $(head -5 err)"
for rank in 1 2; do    # the server, a worker
    begin 5
    kill -9 "$(pids $pid | sed -n "${rank}p")"
    ends 'a killed rank' any
    under 2 $run -o some.h5 --checkpoint some.ckpt --resume ||
        fail "resumed with one worker: $(head -5 err)"
    cmp one.h5 some.h5 || fail 'killed and resumed: another model'
done

# 5. A clip that is gone, and a worker that has no memory.
{ cat train.txt; echo 'lost 1'; } > lost.txt
for how in 'sync=async deterministic=off' sync=central; do
    cp -r video/1 lost
    # shellcheck disable=SC2086
    learnt 3 class.net lost.txt gone $how > out && fail "a clip is gone, $how"
    grep -q 'learn: rank 0: step [0-9]*: .*lost: .*read before' err ||
        fail "a clip is gone, $how: $(cat err)"
done
for k in $([ "$every" = 1 ] && echo 1 9) 30; do
    learnt 3 class.net train.txt $k sync=central > out && fail "allocation $k"
    grep -q 'learn: rank ' err || fail "allocation $k: $(head -5 err)"
done

# 6. What cannot be is said in one line.
one="class.net -o x.h5 --data train.txt --threads 1 --batch 8"
for wrong in "2|needs --deterministic=off|3|--sync async" \
    "2|needs --deterministic=off|3|--sync backup=1" \
    "2|at least two processes|1|--sync central" \
    "2|a server and 3 workers: not a power of two|4|--sync central" \
    "2|backup=2: of 2 workers at least one|3|--sync backup=2 $off" \
    "2|not a number from 1|3|--sync backup=0 $off" \
    "2|not a number from 1|3|--sync backup= $off" \
    "2|not all, central, backup=B or async|3|--sync async=2" \
    "2|not all, central, backup=B or async|3|--sync fast" \
    "2|--squeeze is for --sync=all|3|--sync central --squeeze bf16"; do
    # shellcheck disable=SC2086
    refuses "$wrong" $one
done
[ ! -e x.h5 ] || fail 'a run that failed has written its model'
exit $failed
