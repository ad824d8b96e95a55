#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_carry_cli.sh: a text from its begin to its end (text:FILE): what a model
# remembers goes on from window to window, resumed and over processes too.
set -u
tools="convtt-train convtt-infer"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"

# A line is a letter, which follows from the line before it alone.
awk 'BEGIN { for (i = 0; i < 3000; i++) print substr("abc", i % 3 + 1, 1) }' \
    > train.txt
tail -n 400 train.txt > val.txt
cat > lm.net << 'END'
input x c=1
embed e in=x vocab=99 out=4
lstm h in=e hidden=16
lstm i in=h hidden=8
conv y in=i out=99
END
grep -v 'lstm i' lm.net | sed 's/in=i/in=h/' > one.net
run='one.net --task next --data text:train.txt --batch 8 --epochs 2 --lr 0.02
    --max-frames 2'
train() {    # train OUT OPTION...
    # shellcheck disable=SC2086
    says 0 "$1 written" "$bin/convtt-train" $run -o "$@"
}

# 1. In windows of a letter and its line end, a model that remembers nothing has
# a perplexity of sqrt 3, 1.73.
train m.h5 --val text:val.txt --threads 2
grep -q 'training: 3000 windows, 6000 symbols' out ||
    fail "no windows: $(head -5 out)"
is=$(awk 'index($0, "the model") == 1 { print $3 }' out)
awk -v is="$is" 'BEGIN { exit !(is > 1 && is < 1.2) }' ||
    fail "a perplexity of $is"
says 0 ": perplexity $is, loss" "$bin/convtt-infer" m.h5 text:val.txt
train fifth.h5
grep -q '^validation: the last 600 of 3000 windows are held out' out err ||
    fail "nothing is held out: $(head -5 out err)"

# 2. A run that was killed in an epoch goes on, and any number of threads, and
# what is computed again, make the same file.
run="lm.net ${run#one.net} --epochs 1 --shards 2 --val none"
train one.h5 --threads 2
# Of 375 steps each, so that no checkpoint is at the end of an epoch.
long='--epochs 9 --max-steps 3000 --checkpoint-every 40'
# shellcheck disable=SC2086
train long.h5 --threads 1 $long
# shellcheck disable=SC2086
"$bin/convtt-train" $run --threads 1 -o again.h5 --checkpoint c.ckpt $long \
    > out 2>&1 &
pid=$!
begun() { [ -s c.ckpt ] || ! kill -0 $pid 2> /dev/null; }
await 'a checkpoint' begun
kill -9 $pid 2> /dev/null
wait $pid 2> /dev/null
cp c.ckpt mid.ckpt 2> /dev/null
[ -s mid.ckpt ] || fail "no checkpoint: $(cat out)"
grep -qa 'states-of' mid.ckpt || fail 'the checkpoint has no states'
[ ! -e again.h5 ] || fail 'the run was not killed'
# shellcheck disable=SC2086
train again.h5 --threads 1 --checkpoint c.ckpt --resume $long
cmp -s long.h5 again.h5 || fail 'resuming changes the model'
train few.h5 --keep depth
cmp -s one.h5 few.h5 || fail '--keep depth changes the model'
train windows.h5 --window 1
train kept.h5 --window 1 --keep 0
cmp -s windows.h5 kept.h5 || fail '--keep 0 changes the model'
train half.h5 --amp O1

# 3. Two processes: half of each batch, or half of the model; and a run of one
# goes on in two.
if . "$src/tests/lib/mpirun.sh"; then
    two() {    # two OUT OPTION...
        # shellcheck disable=SC2086
        limited mpirun -np 2 --bind-to none "$bin/convtt-train" $run \
            --threads 1 -o "$@" > out 2> err < /dev/null
    }
    for how in '' '--stages auto'; do
        # shellcheck disable=SC2086
        two two.h5 $how || fail "2 processes $how: $(head -3 err)"
        cmp -s one.h5 two.h5 || fail "2 processes $how: another model"
    done
    loss() { sed -n 's/^epoch.*: train loss \([^,]*\),.*/\1/p' out; }
    train short.h5 --max-steps 40
    one=$(loss)
    two two.h5 --max-steps 40 --filters 2 || fail "--filters: $(head -3 err)"
    [ "$(loss)" = "$one" ] || fail "--filters 2: a loss of $(loss), not $one"
    two two.h5 --amp O1 || fail "2 processes with --amp: $(head -3 err)"
    cmp -s half.h5 two.h5 || fail '2 processes with --amp: another model'
    cp mid.ckpt c.ckpt
    # shellcheck disable=SC2086
    two two.h5 --checkpoint c.ckpt --resume $long || fail "$(head -3 err)"
    cmp -s long.h5 two.h5 || fail 'resumed by 2 processes: another model'
    for how in '--stages auto' '--filters 2'; do
        cp mid.ckpt c.ckpt
        # shellcheck disable=SC2086
        two two.h5 --checkpoint c.ckpt --resume $long $how &&
            fail "states of one process are taken for those of two: $how"
        grep -q "states' are of another division" err ||
            fail "$how: $(head -3 err)"
    done
    limited mpirun -np 3 --bind-to none "$bin/convtt-train" lm.net --task next \
        --data text:train.txt --batch 8 -o no.h5 --sync async \
        --deterministic off > out 2> err < /dev/null &&
        fail 'a server trains on a text'
    grep -q 'windows of text:FILE follow each other: --sync=all' err ||
        fail "$(head -3 err)"
fi

# 4. What suits no text.
says 2 '--buckets groups sentences' "$bin/convtt-train" lm.net --task next \
    --data text:train.txt --buckets 10,20 -o no.h5
train plain.h5 --buckets 1 --max-steps 2
sed 's/^lstm i.*/norm i in=h kind=batch/' lm.net > norm.net
says 1 'i: a batch norm would count the empty places .* kind=layer' \
    "$bin/convtt-train" norm.net --task next --data text:train.txt \
    --batch 7 --max-frames 2 -o no.h5
exit $failed
