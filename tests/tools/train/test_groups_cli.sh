#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_groups_cli.sh: convtt-train under mpirun with groups of processes that
# share the shards of a batch (--bands, --filters and --stages with more
# processes than parts), and with --sync-norm.
set -u
tools="convtt-train convtt-info tests/comm/learn tests/comm/near"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"

# Rows that two bands divide unequally, loops, values of other steps, dropout, a
# part after clip, and batch norms of bands and of whole values.
cat > deep.net << 'END'
input x h=11 w=8 c=1 colour=gray mean=0.3 std=0.2 fit=stretch
conv e in=x out=4 kernel=3 stride=1,2,1 pad=1
norm b in=e kind=batch
act a in=b kind=relu
state s of=a fill=first
add t in=a,s
convlstm h in=t hidden=4 kernel=3
dropout o in=h rate=0.2
pool p in=o kind=avg
conv f in=p out=4
norm g in=f kind=batch
clip
window q in=g steps=2 fill=first
pool z in=q kind=avg
conv y in=z out=2
END
sed '/^dropout/d; s/in=o/in=h/; /^norm g/d; s/in=g/in=f/' deep.net > norm.net
sgd='--batch 8 --shards 4 --epochs 2 --optimizer sgd --lr 0.05'
one() {     # one NAME OPTION...: one process
    local name=$1
    shift
    "$bin/convtt-train" "$@" --data train.txt --val val.txt --threads 1 \
        -o "$name.h5" > out 2> err || fail "$name: $(head -3 err)"
}
near() {    # near MOST NAME N OPTION...: the same by so many, but for rounding
    local most=$1 name=$2 n=$3
    shift 3
    under "$n" "$@" -o some.h5 || fail "$n, $*: $(head -3 err)"
    "$bin/tests/comm/near" "$name.h5" some.h5 "$most" > off 2> err ||
        fail "$n, $*: $(cat err)"
}

# 1. Groups of two share the shards of a batch.  Sections make the bits of one
# process, and so do bands of one group and of two.
one deep deep.net $sgd
near 1e-6 deep 2 deep.net $sgd --bands 2
grep -q '^2 processes with bands of rows on 1 machine: 4 shards of a batch, 2 '\
'clips each$' out || fail "one group: $(head -3 out)"
mv some.h5 group.h5
near 1e-6 deep 4 deep.net $sgd --bands 2
grep -q '^2 times 2 processes with bands of rows on 1 machine: 2 of the 4 sha'\
'rds of a batch each, 2 clips a shard$' out || fail "two: $(head -3 out)"
cmp group.h5 some.h5 || fail 'two groups with bands: another model'
under 4 deep.net $sgd --stages 2 -o some.h5 || fail "stages: $(head -3 err)"
cmp deep.h5 some.h5 || fail 'two pipelines of two: another model'
grep -q '^2 times a pipeline of 2 processes' out || fail "$(head -3 out)"
[ "$(grep -c '^section [12], ' out)" = 2 ] || fail "no sections: $(cat out)"
near 1e-6 deep 2 deep.net $sgd --filters 2
mv some.h5 group.h5
near 1e-6 deep 4 deep.net $sgd --filters 2
cmp group.h5 some.h5 || fail 'two groups with filters: another model'
predicts='--task predict --input-frames 2 --future-frames 2 --sampling-start 0'
one next next.net $sgd $predicts
near 1e-6 next 4 next.net $sgd $predicts --bands 2
if [ "$every" = 1 ]; then
    under 6 deep.net $sgd --stages h.zx,p -o some.h5 ||
        fail "sections by name: $(head -3 err)"
    cmp deep.h5 some.h5 || fail 'two pipelines of three: another model'
    near 1e-6 deep 6 deep.net $sgd --bands 3
    under 4 batch.net $sgd --stages 2 --optimizer adam -o some.h5
    one adam batch.net $sgd --optimizer adam
    cmp adam.h5 some.h5 || fail 'two pipelines with adam: another model'
fi

# 2. --sync-norm: one process with the whole batch in one shard, running
# statistics too, where the statistics of shards make another model.
one whole norm.net $sgd --shards 1
under 2 norm.net $sgd --shards 2 -o some.h5 || fail "norm: $(head -3 err)"
"$bin/tests/comm/near" whole.h5 some.h5 1e-3 > off 2> err &&
    fail 'statistics of shards are those of the batch'
near 1e-6 whole 2 norm.net $sgd --shards 1 --sync-norm
near 1e-6 whole 4 norm.net $sgd --sync-norm
for way in bands filters stages; do
    near 1e-6 whole 4 norm.net $sgd --shards 2 --sync-norm --$way 2
done
one windows norm.net $sgd --shards 1 --window 2
near 1e-6 windows 2 norm.net $sgd --shards 2 --window 2 --sync-norm
one some-frozen norm.net $sgd --shards 1 --freeze b
near 1e-6 some-frozen 2 norm.net $sgd --shards 2 --freeze b --sync-norm

# 3. Mixed precision, where 16 bits round otherwise.
mixed='--amp O1 --loss-scale 64'
one mixed deep.net $sgd $mixed
near 1e-3 mixed 4 deep.net $sgd $mixed --bands 2
if [ "$every" = 1 ]; then
    near 1e-3 mixed 2 deep.net $sgd $mixed --filters 2
    one mixed norm.net $sgd $mixed --shards 1
    near 1e-3 mixed 4 norm.net $sgd $mixed --shards 2 --bands 2 --sync-norm
fi

# Values at the limit of 16 bits: where a shard's loss is not finite, its group
# reads the other ones of the batch, too.
sed 's/std=0.2/std=0.000017/; /^norm/d; s/in=b/in=e/; s/in=g/in=f/' norm.net \
    > huge.net
epochs() { grep '^epoch' out | sed 's/; validation.*//'; }
huge='--epochs 3 --lr 0.0001 --amp O2 --loss-scale 2'
one huge huge.net $sgd $huge
epochs > want
grep -q 'loss scale 2^1, [1-9] steps skipped' want || fail "$(cat want)"
near 1e-3 huge 4 huge.net $sgd $huge --bands 2
epochs | cmp - want || fail "skipped steps: $(cat want out)"

# 4. Killed, and gone on with by another number of groups, or without.
run='deep.net --batch 8 --shards 4 --epochs 20 --optimizer sgd --lr 0.05'
run="$run --checkpoint-every 1"
one long $run
under 2 $run -o bands.h5 --bands 2 || fail "bands: $(head -3 err)"
for then in 'bands 2 --bands 2' 'long 4 --bands 0' 'long 2 --stages 2'; do
    IFS=' ' read -r want n options <<< "$then"
    way=--bands
    [ "${options#--stages}" = "$options" ] || way=--stages
    begin 4 $way 2
    kill -9 "$(pids $pid | sed -n 3p)"
    ends 'a killed process' any
    # shellcheck disable=SC2086
    under "$n" $run -o some.h5 --checkpoint some.ckpt --resume $options ||
        fail "resumed, $then: $(head -5 err)"
    "$bin/tests/comm/near" $want.h5 some.h5 1e-4 > off 2> err ||
        fail "resumed, $then: $(cat err)"
    [ "$options" = '--bands 0' ] || cmp $want.h5 some.h5 ||
        fail "resumed, $then: another model"
done

# 5. A signal to a process of either group stops all after a step; a clip that
# is gone; an error of one is that of all.
run="$run --epochs 300"
stops() {   # stops RANK OPTION...
    local rank=$1
    shift
    begin 4 "$@"
    kill -TERM "$(pids $pid | sed -n "${rank}p")"
    ends 'a signal' 1
    grep -q '^convtt-train: stopped after step' err ||
        fail "a signal, $*: $(cat out err)"
}
stops 4 --bands 2
stops 3 --stages 2
run=${run/deep.net/norm.net}
run=${run/--shards 4/--shards 2}
stops 3 --bands 2 --sync-norm
stops 2 --stages 2 --sync-norm
learnt() {
    local n=$1
    shift
    limited mpirun -np "$n" "$bin/tests/comm/learn" "$@" 2> err < /dev/null
}
{ cat train.txt; echo 'lost 1'; } > lost.txt
for way in 'shards=4 bands=2' 'shards=4 stages=2' 'shards=4 sync-norm=1' \
    'shards=2 bands=2 sync-norm=1' 'shards=2 stages=2 sync-norm=1'; do
    cp -r video/1 lost
    # shellcheck disable=SC2086
    learnt 4 norm.net lost.txt gone $way > out && fail "$way: a clip is gone"
    grep -q 'learn: rank [0-9]: step [0-9]*: .*lost: .*read before' err ||
        fail "$way: a clip is gone: $(cat err)"
    for k in 60 200; do
        for ((next = k; next < k + 5; next++)); do
            # shellcheck disable=SC2086
            learnt 4 norm.net train.txt $next $way > out || break
        done
        [ "$next" -lt $((k + 5)) ] || fail "$way: allocations $k to $next"
        grep -q 'learn: rank ' err || fail "$way, $next: $(head -5 err)"
    done
done

# 6. What cannot be is said in one line.
many='or 2, 4, 8 .. times as many (mpirun -np'
for wrong in \
    "2|bands=2 is for 2 proc.*, $many 2, 4, 8), and there are 3|3|--bands 2" \
    "2|bands=2 is for 2 .* there are 6|6|--bands 2" \
    "2|stages=h,f is for 3 .* there are 4|4|--stages h,f" \
    "2|stages are at least two|2|--stages 1" \
    "1|has 1 shard, which 2 groups .*equally|4|--bands 2 --batch 9 --shards 1" \
    "1|shards at once, and --shards=4 would be 2 .*: --shards=2|2|--sync-norm" \
    "1|at once, and --shards=4 would be 4 .*: --shards=1|1|--sync-norm" \
    "2|sync-norm is for --sync=all|3|--sync-norm --sync central" \
    "2|keep must be all|2|--sync-norm --keep auto --shards 2" \
    "2|no batch norms in its loop|2|--sync-norm --task predict" \
    "2|is for --device=cpu|2|--sync-norm --device cuda"; do
    IFS='|' read -r want pattern n options <<< "$wrong"
    refuses "$want|$pattern|$n|norm.net --batch 8 --shards 4 $options" \
        -o x.h5 --data train.txt --threads 1
done
[ ! -e x.h5 ] || fail 'a run that failed has written its model'
# The ranks agree on what is not finite before one goes back alone.
far='--lr 1000 --clip-norm 0 --weight-decay 1'
refuses "1|not finite (without --sync-norm the|2|norm.net $sgd --epochs 20" \
    -o far.h5 --data train.txt --threads 1 --shards 2 --sync-norm $far
exit $failed
