#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ranks.sh: common part of the tests of convtt-train under mpirun; sourced after
# cli.sh. Skips the test where there is no mpirun; makes clips and models.
# shellcheck source=tests/lib/mpirun.sh
. "$src/tests/lib/mpirun.sh" || exit 77
every=${CTT_CHECK_EVERY:-1}

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
list=train.txt
under() {
    local n=$1
    shift
    limited mpirun -np "$n" --bind-to none "$bin/convtt-train" "$@" \
        --threads 1 --data $list --val val.txt > out 2> err < /dev/null
}

# refuses 'STATUS|PATTERN|N|OPTION...' ARGUMENT...: so many processes with these
# options and arguments say it in one line and end with that status.
refuses() {
    local want pattern n options got
    IFS='|' read -r want pattern n options <<< "$1"
    shift
    # shellcheck disable=SC2086
    limited mpirun -np "$n" "$bin/convtt-train" $options "$@" \
        > out 2> err < /dev/null
    got=$?
    [ $got = "$want" ] || fail "$options: status $got: $(head -3 err)"
    [ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
        fail "$options: not one line: $(cat err)"
    grep -q "^convtt-train: .*$pattern" err || fail "$options: $(head -3 err)"
}

# pace COMMAND...: how many milliseconds it takes, a run of two steps of four
# processes at most.  A job that fails may take CTT_END_LIMIT seconds (60) more
# to end: it takes less than five where no other work is done.
now() { date +%s%N; }
ms() { echo $((($(now) - $1) / 1000000)); }
calm='' limit=$((1000 * ${CTT_END_LIMIT:-60}))
pace() {
    local from
    from=$(now)
    "$@" || fail "$*: $(head -5 err)"
    calm=$(ms "$from")
    echo "a run takes $calm ms"
}

pids() {   # pids LAUNCHER: its ranks, which MPICH's starts by another process
    local p
    for p in $(pgrep -P "$1"); do
        case $(cat "/proc/$p/comm" 2> /dev/null) in
        hydra_*) pgrep -P "$p" ;;
        *) echo "$p" ;;
        esac
    done
}
# begin N ARGUMENT...: $run in the background, until a checkpoint is there
begin() {
    local n=$1
    shift
    rm -f some.h5 some.ckpt
    mpirun -np "$n" --bind-to none "$bin/convtt-train" $run --data train.txt \
        --val val.txt --threads 1 -o some.h5 --checkpoint some.ckpt "$@" \
        > out 2> err < /dev/null & pid=$!
    for i in $(seq "$ticks"); do
        [ -e some.ckpt ] && return
        kill -0 $pid 2> /dev/null || break
        sleep 0.05
    done
    fail "no checkpoint: $(head -5 err)"
}
ends() {   # ends WHAT STATUS: the one in the background
    local got
    limited tail --pid=$pid -f /dev/null || {
        fail "$1: it goes on"
        kill -9 $pid
    }
    wait $pid
    got=$?
    [ $got = "$2" ] || [ "$2" = any ] || fail "$1: status $got: $(head -5 err)"
    [ $got != 0 ] || fail "$1: status 0"
}
