#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bands_cli.sh: convtt-train --bands and --filters under mpirun:
# processes that compute each shard together make the model of one
# process, but for rounding.
set -u
tools="convtt-train convtt-info tests/comm/learn tests/comm/near"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"

# Rows that no number of bands divides, a stride, loops, values of other steps,
# dropout, a part after clip; a head that is whole.
cat > deep.net << 'END'
input x h=11 w=8 c=1 colour=gray mean=0.3 std=0.2 fit=stretch
conv e in=x out=4 kernel=3 stride=1,2,1 pad=1
act a in=e kind=relu
state s of=a fill=first
add t in=a,s
convlstm h in=t hidden=4 kernel=3
convlstm i in=h hidden=4 kernel=3
pool p in=i kind=avg
dropout o in=p rate=0.2
clip
window q in=o steps=2 fill=first
pool z in=q kind=avg
conv y in=z out=2
END

# 1. The model of one process, whatever number of them, windows of steps, a
# frozen node, and a model that predicts frames, whose answers are fed back.
# Adam divides by what gradients were, so roundings of small ones show: SGD.
sgd='--batch 8 --shards 2 --epochs 2 --optimizer sgd --lr 0.05'
one() {     # one NAME OPTION...: one process
    local name=$1
    shift
    "$bin/convtt-train" "$@" --data train.txt --val val.txt --threads 1 \
        -o "$name.h5" > out 2> err || fail "$name: $(head -3 err)"
}
near() {    # near NAME N OPTION...: the same by so many
    local name=$1 n=$2
    shift 2
    under "$n" "$@" -o some.h5 || fail "$name, $n: $(head -3 err)"
    "$bin/tests/comm/near" "$name.h5" some.h5 2e-5 > off 2> err ||
        fail "$name by $n: $(cat err)"
    "$bin/convtt-info" --all some.h5 > out2 || fail "$name by $n: no model"
    ! grep -qE 'halo|collect|split\.' out2 || fail "$name: it is a part"
}
one deep deep.net $sgd
for n in 2 3 4; do
    near deep $n deep.net $sgd --bands $n
    grep -q "^$n processes with bands of rows on 1 machine: 2 shards of a bat" \
        out || fail "it does not say what it does: $(cat out)"
    grep -qE '^--bands: 16 of 22 nodes with [0-9.]*% of the multiplications '\
'are divided; all compute alike from there on: p$' out ||
        fail "nor what is divided: $(cat out)"
    grep -qE '^--bands: [0-9.e-]+ MB sent in [0-9]+ exchanges' out ||
        fail "nor what is sent: $(cat out)"
done
one windows deep.net $sgd --window 2
near windows 2 deep.net $sgd --window 2 --bands 2
if [ "$every" = 1 ]; then
    one four deep.net $sgd --shards 4
    near four 3 deep.net $sgd --shards 4 --bands 3
    one frozen deep.net $sgd --freeze e
    near frozen 2 deep.net $sgd --freeze e --bands 2
fi
one some-frozen deep.net $sgd --freeze '*e*'
near some-frozen 2 deep.net $sgd --freeze '*e*' --filters 2
near deep 2 deep.net $sgd --filters 2
grep -q "^2 processes with parts of the filters on 1 machine: 2 shards" out ||
    fail "filters: it does not say what it does: $(cat out)"
grep -qE "^--filters: [0-9]+ of 22 nodes with [0-9.]*% of the multipl" out ||
    fail "filters: nor what is divided: $(cat out)"
one norm batch.net $sgd
for way in bands filters; do    # its statistics move
    near norm 2 batch.net $sgd --$way 2
done
if [ "$every" = 1 ]; then
    near deep 4 deep.net $sgd --filters 4
    near windows 3 deep.net $sgd --window 2 --filters 3
fi
predicts='--task predict --input-frames 2 --future-frames 2 --sampling-start 0'
one next next.net $sgd $predicts
for way in bands filters; do
    near next 2 next.net $sgd $predicts --$way 2
done

# 2. Killed, and gone on with by another number, or without bands.
run='deep.net --batch 8 --shards 2 --epochs 20 --optimizer sgd --lr 0.05'
run="$run --checkpoint-every 1"
one long $run
under 2 $run -o two.h5 --bands 2 || fail "by two: $(head -3 err)"
for then in 2 3 1; do
    begin 2 --bands 2
    kill -9 "$(pids $pid | sed -n 2p)"
    ends 'a killed process' any
    bands=(--bands 0 --filters $then)
    [ $then = 1 ] && bands=(--bands 0)
    [ $then = 2 ] && bands=(--bands 2)
    under $then $run -o some.h5 --checkpoint some.ckpt --resume \
        "${bands[@]}" || fail "resumed by $then: $(head -5 err)"
    "$bin/tests/comm/near" long.h5 some.h5 1e-3 > off 2> err ||
        fail "resumed by $then: $(cat err)"
    [ $then != 2 ] || cmp two.h5 some.h5 || fail 'resumed: another model'
done

# 3. A signal to any stops all after a step; a clip that is gone; an error of
# one is that of all.
run="$run --epochs 300"
begin 3 --bands 3
kill -TERM "$(pids $pid | sed -n 2p)"
ends 'a signal' 1
grep -q '^convtt-train: stopped after step' err ||
    fail "a signal: $(cat out err)"
learnt() {
    local n=$1
    shift
    limited mpirun -np "$n" "$bin/tests/comm/learn" "$@" 2> err < /dev/null
}
cp -r video/1 lost
{ cat train.txt; echo 'lost 1'; } > lost.txt
learnt 2 deep.net lost.txt gone bands=2 > out && fail 'a clip is gone'
grep -q 'learn: rank [0-9]: step [0-9]*: .*lost: .*read before' err ||
    fail "a clip is gone: $(cat err)"
# A run does without some memory, such as a cache's, and the order of threads
# says which allocation has that number: the next ones are tried, too.
for k in 1 40 400; do
    for ((next = k; next < k + 5; next++)); do
        learnt 2 deep.net train.txt $next bands=2 > out || break
    done
    [ "$next" -lt $((k + 5)) ] || fail "allocations $k to $next"
    grep -q 'learn: rank ' err || fail "allocation $next: $(head -5 err)"
done

# 4. What cannot be is said in one line.
sed 's/^pool p in=i/deconv dc in=i out=4 kernel=2 stride=2\npool p in=dc/' \
    deep.net > deconv.net
sed 's/h=11 w=8/h=1 w=88/' deep.net > flat.net
{ echo 'input x h=8 w=8 c=1 colour=gray mean=0.3 std=0.2'
  echo 'conv e in=x out=4 kernel=3 pad=1'
  echo 'pool p in=e kind=avg'
  echo 'conv y in=p out=2'; } > small.net
{ sed 's/ in=x out=4/ in=g out=4/; /^input/a halo g in=x' deep.net; } > halo.net
one halo halo.net $sgd
for wrong in "2|--bands=2 is for 2 proc.*there is 1|1|deep.net --bands 2" \
    "2|--bands=4 is for 4 proc.*there are 2|2|deep.net --bands 4" \
    "1|dc: a deconv adds to rows of other bands|2|deconv.net --bands 2" \
    "1|no conv has enough rows for 2 bands|2|flat.net --bands 2" \
    "1|has 5 filters or more|5|small.net --filters 5" \
    "2|--filters=2 is for 2 proc.*there are 3|3|deep.net --filters 2" \
    "2|--bands=1 divides nothing|2|deep.net --bands 1" \
    "2|--deterministic must be on|2|deep.net --bands 2 --deterministic off" \
    "1|--teacher: g passes values|2|deep.net --bands 2 --teacher halo.h5" \
    "2|exclude each other|2|deep.net --bands 2 --filters 2" \
    "2|exclude each other|2|deep.net --bands 2 --stages auto" \
    "2|exclude each other|3|deep.net --bands 3 --sync central" \
    "2|--squeeze is for --sync=all|2|deep.net --bands 2 --squeeze bf16" \
    "2|--keep must be all|2|deep.net --bands 2 --keep auto" \
    "2|for --device=cpu|2|deep.net --bands 2 --device cuda" \
    "2|second loss|2|deep.net --bands 2 --task both"; do
    # shellcheck disable=SC2086
    refuses "$wrong" -o x.h5 --data train.txt --threads 1 --batch 8
done
[ ! -e x.h5 ] || fail 'a run that failed has written its model'
exit $failed
