#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_ranks.sh: one of several processes is killed in a step, one of its
# messages or allocations fails, or it is not like the others: one line, all end
# within seconds, files are whole, and others go on to the same bits.
set -u
tools="convtt-train convtt-info"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"
# The program itself, without libtool's script; a library is loaded before the
# sanitizer's.
train=$bin/convtt-train
[ ! -x "$bin/.libs/convtt-train" ] || train=$bin/.libs/convtt-train
export LD_LIBRARY_PATH=$bin/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
rank_so=$bin/tests/fault/rank.so
[ -e "$rank_so" ] || { echo "no $rank_so"; exit 99; }

# faulty N ARGUMENT...: so many processes; the rank $who alone has the variables
# $with.
who='' with=''
faulty() {
    local n=$1
    shift
    rm -f struck
    # shellcheck disable=SC2016
    who=$who with=$with limited mpirun -np "$n" --bind-to none sh -c '
        rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
        [ "$rank" != "$who" ] || exec env $with "$0" "$@"
        exec "$0" "$@"' "$train" --data train.txt --val val.txt --threads 1 \
        "$@" > out 2> err < /dev/null
}
# fault KIND:K: one that rank.c makes
fault() { with="LD_PRELOAD=$rank_so CTT_RANK_FAULT=$1"; }

# Undisturbed run.
given='class.net --batch 8 --epochs 1 --strict --checkpoint-every 1
    --checkpoint a.ckpt'
pace faulty 4 $given -o short.h5

# ended WHAT LINES FROM: it ended in time, none of its processes is left, and
# they said so many lines ("at most one" if that is empty).
ended() {
    local took lines p
    took=$(ms "$3")
    [ "$took" -le "$limit" ] || fail "$1: ends after $took ms"
    lines=$(grep '^convtt-train: ' err | grep -cv 'train: warning: ')
    [ "$lines" = "$2" ] || [ "$2.$lines" = .0 ] || [ "$2.$lines" = .1 ] ||
        fail "$1: $lines lines: $(cat err)"
    find /proc -maxdepth 2 -name exe -lname "$train" > exes 2> /dev/null
    while read -r p; do
        [ ! "${p%exe}cwd" -ef "$PWD" ] || fail "$1: process $p is left"
    done < exes
}

# 1. Killed, and others go on to the same file.
twelve='--epochs 30 --max-steps 12 --checkpoint-every 1 -o some.h5
    --checkpoint some.ckpt'
undisturbed() {   # undisturbed ARGUMENT...
    rm -f some.h5 some.ckpt
    who=''
    faulty 1 "$@" --shards 8 $twelve || fail "$*: $(head -5 err)"
    mv some.h5 one.h5
}
# killed N RANK KIND:K M ARGUMENT...: M go on when N were ended so
killed() {
    local n=$1 m=$4 name="$3 of rank $2 of $1"
    who=$2
    fault "$3"
    shift 4
    rm -f some.h5 some.ckpt
    faulty "$n" "$@" $twelve && fail "$name: status 0"
    [ -e struck ] || fail "$name: it was not killed: $(cat err)"
    ended "$name" '' "$(date -r struck +%s%N)"
    who=0
    fault kill:99
    faulty "$m" "$@" $twelve $([ ! -e some.ckpt ] || echo --resume) ||
        fail "$name: $m do not go on: $(cat err)"
    cmp one.h5 some.h5 || fail "$name, $m go on: another model"
}
# In step k of 12.  A resumed run makes one exchange for each remaining step,
# counted by rank.so; rank 0 may still write the last checkpoint, but not while
# it exchanges.
in_step() {
    local k=$1 at=$2 kind=kill-after begins
    [ $((k % 2)) = 1 ] || kind=kill
    killed 4 $at $kind:$k 2 class.net --batch 8
    begins=$((12 - $(sed -n 's/^not reached:.* \([0-9]*\) exch.*/\1/p' err)))
    [ $begins = $((k - 1)) ] || { [ $kind$at != kill0 ] &&
        [ $kind = kill ] && [ $begins = $((k - 2)) ]; } ||
        fail "rank $at of 4 in step $k: 2 begin after step $begins"
}
undisturbed class.net --batch 8
for ((k = 1 + RANDOM % every; k <= 12; k += every)); do
    in_step $k $(((k + k / 4) % 4))
done
# With other numbers and more to keep, after any of 12 checkpoints.
row=$((RANDOM % every))
others() {   # others N M ARGUMENT...
    row=$((row + 1))
    [ $((row % every)) = 0 ] || return
    undisturbed "${@:3}"
    killed "$1" 0 save:$((1 + RANDOM % 12)) "${@:2}"
}
others 1 4 class.net --batch 8
others 2 8 class.net --batch 8 --optimizer sgd
others 4 2 batch.net --batch 8
others 2 4 next.net --batch 8 --task predict --input-frames 2 \
    --future-frames 2 --sampling-start 0.5
others 4 2 class.net --batch 8 --amp O1
others 4 8 class.net --batch 8 --squeeze share=0.2 --optimizer sgd

# 2. A message or an allocation fails on one rank of four that go on after a
# step: its line, and one process goes on from the files that are left.
given="$given -o a.h5"
rm a.ckpt
cp short.h5 a.h5    # as if from another run
who=0
fault kill:2
faulty 4 $given && fail 'killed in step 2: status 0'
cp a.h5 old.h5
cp a.ckpt old.ckpt
# fails WHAT LINES PATTERN: 1 if nothing failed
fails() {
    local got
    cp old.h5 a.h5
    cp old.ckpt a.ckpt
    from=$(now)
    faulty 4 $given --resume
    got=$?
    [ $got != 0 ] || return
    # an allocation may be the last one of a run that would be undisturbed
    from=$((from + calm * 10**6))
    [ ! -e struck ] || from=$(date -r struck +%s%N)
    ended "$1" "$2" "$from"
    [ -z "$3" ] || grep -qE "^convtt-train: $3" err || fail "$1: $(cat err)"
    "$bin/convtt-info" a.h5 > info 2>&1 || fail "$1: a.h5: $(cat info)"
    "$train" $given --resume --shards 8 --threads 1 --data train.txt \
        --val val.txt > out 2> err < /dev/null ||
        fail "$1: one process does not go on: $(cat err)"
    cmp short.h5 a.h5 || fail "$1, one goes on: another model"
}
line() {   # line RANK: how what it says begins
    [ "$1" = 0 ] || echo "rank $1: "
}
for ((k = 1 + RANDOM % every; ; k += every)); do
    who=$(((k + k / 4) % 4))
    fault fail:$k
    fails "message $k of rank $who" 1 \
        "$(line $who)(step [12]: )?MPI_[A-Z][a-z]*: " || break
    [ "$k" -lt 99 ] || { fail 'messages have no end'; break; }
done
[ -e struck ] || [ "$k" -ge 10 ] || fail "only $k messages"
grep -q '^not reached' err || fail "message $k: $(cat err)"
# Messages between a server and its workers, and between sections of a model.
for way in '--sync central' '--stages auto'; do
    for k in 4 8 12; do
        [ $((RANDOM % every)) = 0 ] || continue
        who=$((RANDOM % 3)) name="$way, message $k of rank $who"
        fault fail:$k
        rm -f a.ckpt
        faulty 3 $given $way && fail "$name: status 0"
        ended "$name" 1 "$(date -r struck +%s%N)"
        grep -qE "^convtt-train: .*MPI_[A-Z][a-z]*: " err ||
            fail "$name: $(cat err)"
    done
done

# Our own allocations, near the start and far into the run.
for k in 1 4 15 60 130 260 390 520; do
    [ $((RANDOM % every)) = 0 ] || continue
    who=$((RANDOM % 4))
    with=CTT_FAIL_ALLOC=$k
    fails "allocation $k of rank $who" 1 "$(line $who)" ||
        fail "allocation $k of rank $who: status 0"
done
# Allocations of any library, in a run of all cases. MPI does not survive most
# of its own, and HDF5 some: then the rank crashes without a line of ours.
shim=$bin/tests/fault/shim.so
[ "$every" != 1 ] || grep -q __asan_init "$train" || [ ! -e "$shim" ] ||
for i in 1 2 3 4 5 6; do
    who=$((RANDOM % 4)) k=$((2 * RANDOM))
    with="LD_PRELOAD=$shim CTT_FAULT_ALLOC=$k OMP_WAIT_POLICY=passive"
    fails "allocation $k of rank $who and its libraries" '' '' ||
        "$bin/convtt-info" a.h5 > info 2>&1 || fail "allocation $k: $(cat info)"
done

# 3. A rank that is not like rank 0: the line says what differs.
for d in here there; do
    mkdir $d
    cp -r train.txt val.txt class.net video $d
done
differs() {   # differs WHAT OPTIONS OPTIONS: of rank 0 here and of rank 1 there
    local run="class.net --data train.txt --val val.txt --batch 8 --epochs 3"
    local from
    [ $((RANDOM % every)) = 0 ] || return
    run="$run --threads 1 -o m.h5"
    from=$(now)
    # shellcheck disable=SC2086
    limited mpirun -np 1 -wdir "$PWD/here" "$train" $run $2 : \
        -np 1 -wdir "$PWD/there" env $with "$train" $run $3 \
        > out 2> err < /dev/null
    case $? in 1|2) ;; *) fail "$1: not status 1 or 2" ;; esac
    ended "$1" 1 $((from + calm * 10**6))
    grep -q "^convtt-train: rank 1: not the $1 of rank 0" err ||
        fail "$1: $(cat err)"
    [ ! -e here/m.h5 ] || fail "$1 differ, and there is a model"
}
# Two checkpoints and models of one run, after a step and after two.
for steps in 1 2; do
    [ $steps = 1 ] && d=here || d=there
    "$train" class.net --data train.txt --val val.txt --batch 8 --epochs 3 \
        --threads 1 --shards 8 --max-steps $steps -o $d/given.h5 \
        --checkpoint $d/some.ckpt > out 2> err < /dev/null ||
        fail "$steps steps: $(cat err)"
done
with=''
resumed='--resume --checkpoint some.ckpt'
differs weights '--init given.h5' '--init given.h5'
differs checkpoint "$resumed" "$resumed"
differs settings '' '--seed 2'
differs device '--device ref' ''
fault cpu:1
differs processor '' ''
with=''
differs 'windows (see --window)' '' '--window 2'
cp video/1/1.pgm there/video/1/9.pgm
differs 'lengths of clips' '' ''
sed 1d val.txt > there/val.txt
differs 'lengths of clips' '' ''    # the first thing that differs
rm there/video/1/9.pgm
differs 'validation clips' '' ''
cp val.txt there/train.txt
differs clips '' ''
sed -i s/rate=0.2/rate=0.3/ there/class.net
differs model '' ''

# A sum of gradients that came to one rank otherwise than to the others is found
# at the end of the epoch, the second of three, whether it is tested or not.
who=$((RANDOM % 4))
fault spoil:3
from=$(now)
faulty 4 class.net --batch 8 --epochs 3 --val-every 3 -o m.h5 &&
    fail 'spoilt: status 0'
ended spoilt 1 "$(date -r struck +%s%N)"
[ $who = 0 ] && rank=1 || rank=$who    # 0 is what others are compared with
grep -q "^convtt-train: rank $rank: not the weights of rank 0, after step 4" \
    err || fail "spoilt on rank $who: $(cat err)"

# 4. One progress line for each step, one log, however many processes.  Clocks
# are made to hurry, as lines are ten seconds apart.
lines() {   # lines N
    rm -f m.h5* log.*
    limited mpirun -np "$1" --bind-to none env LD_PRELOAD="$rank_so" \
        CTT_RANK_FAULT=hurry:1000000 "$train" class.net --data train.txt \
        --val val.txt --threads 1 --shards 8 --batch 8 --epochs 3 -o m.h5 \
        --log-csv log.csv --log-json log.json --stall 0 --clip-seconds 1e9 \
        > out 2> err < /dev/null ||
        fail "lines, -np $1: $(cat err)"
    count="$(grep -c '^epoch .* left$' err) $(grep -c '^epoch ' out) $(
        wc -l < log.csv) $(wc -l < log.json)"
    [ "$count" = '6 3 4 3' ] ||
        fail "-np $1: lines of progress, epochs, CSV and JSON: $count"
}
lines 1
lines 4
grep -q '^epoch 1/3 1/2 on 4 processes: train loss' err || fail "$(cat err)"
exit $failed
