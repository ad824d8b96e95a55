#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_stop_cli.sh: a signal while a program decodes a long clip ends it soon,
# with status 1 and a line that says so, and leaves every file as it was.
set -u
tools="convtt-data convtt-train convtt-infer"
. "${srcdir:-.}/tests/lib/cli.sh"
[ -r /proc/self/status ] || exit 77

# Two short clips, and one of 4000 large pictures, which are one file.
for clip in a b; do
    mkdir $clip
    for i in 1 2 3 4; do
        { printf 'P5\n8 8\n255\n'; printf '%064d' $i; } > $clip/$i.pgm
    done
done
{ printf 'P5\n1500 1500\n255\n'; head -c 2250000 /dev/zero; } > large
mkdir long
for i in $(seq 4000); do
    ln large "long/$i.pgm" || exit 77
done
printf 'a 0\nb 1\n' > short.txt
printf 'a 0\nlong 1\n' > long.txt
cat > class.net << 'END'
input x h=8 w=8 c=1 colour=gray
conv e in=x out=2 kernel=3
pool p in=e kind=avg
conv y in=p out=2
END
cat > next.net << 'END'
input x h=8 w=8 c=1 colour=gray
conv y in=x out=1 kernel=3 pad=1
END
run='--batch 1 --threads 1 --epochs 9'
predict='--task predict --input-frames 2 --future-frames 2'
says 0 'written' "$bin/convtt-train" class.net -o class.ctt --data short.txt \
    --checkpoint class.ckpt --max-steps 3 $run
says 0 'written' "$bin/convtt-train" next.net -o next.ctt --data short.txt \
    --max-steps 3 $run $predict
cp class.ckpt kept.ckpt
cp class.ctt kept.ctt
files() { find . -maxdepth 1 ! -name out ! -name err | sort; }
before=$(files)

# catches PID: it does not end at once at SIGTERM.
catches() {
    local mask
    mask=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$1/status" 2> /dev/null)
    [ $((0x${mask:-0} & 0x4000)) != 0 ]
}
# ends STATUS PATTERN COMMAND...: it decodes, gets SIGTERM and ends in 20 s.
# "timeout" signals a program and its group, so twice; a terminal that closes
# sends SIGHUP.
signal=TERM
ends() {
    local want=$1 pattern=$2 got i
    shift 2
    "$@" > out 2> err < /dev/null & pid=$!
    for i in $(seq "$ticks"); do
        [ "$want" != 1 ] || catches $pid && break
        sleep 0.02
    done
    sleep 0.3
    kill -$signal $pid || fail "$*: ended by itself: $(cat out err)"
    kill -$signal $pid 2> /dev/null
    for i in $(seq "$ticks"); do
        kill -0 $pid 2> /dev/null || break
        sleep 0.02
    done
    kill -KILL $pid 2> /dev/null && fail "$*: goes on after a signal"
    wait $pid 2> /dev/null
    got=$?
    [ $got = "$want" ] || fail "$*: status $got, not $want: $(cat err)"
    [ -z "$pattern" ] || grep -qE -- "$pattern" err ||
        fail "$*: no '$pattern': $(cat err)"
    [ "$(wc -l < err)" -le 1 ] || fail "$*: several lines: $(cat err)"
    [ "$(files)" = "$before" ] || fail "$*: other files: $(files)"
}
data="$bin/convtt-data"
train="$bin/convtt-train"
ends 1 'stopped; p.h5 is not written' "$data" pack long.txt -o p.h5 \
    --model class.net
ignored=$(sed -n 's/^SigIgn:[^0-9a-f]*//p' /proc/self/status)
[ $((0x$ignored & 1)) = 1 ] || signal=HUP    # nohup
ends 1 ': stopped$' "$data" check long.txt
signal=TERM
ends 1 'stopped while reading the clips' "$train" class.net -o new.ctt \
    --data long.txt $run
ends 1 'stopped while reading the clips' "$train" class.net -o class.ctt \
    --data long.txt $run --checkpoint class.ckpt --resume
cmp class.ckpt kept.ckpt || fail "the checkpoint is another one"
cmp class.ctt kept.ctt || fail "the model is another one"
ends 1 'stopped' "$bin/convtt-infer" next.ctt long.txt --predict 2 \
    --input-frames 2 --csv p.csv --strip p.png
# Without files to write, nothing holds the signal up.
ends 143 '' "$bin/convtt-infer" class.ctt long.txt
ends 143 '' "$bin/convtt-infer" class.ctt long.txt --every 4000
exit $failed
