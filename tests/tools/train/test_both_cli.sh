#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_both_cli.sh: convtt-train --task both, and --init with the weights of a
# model that has learnt to predict.
set -u
tools="convtt-compress convtt-data convtt-train convtt-info convtt-infer"
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"

make_net
make_clips
sed '/^pool/i deconv b in=h out=3 kernel=1,4,4 stride=1,2,2 pad=0,1,1\
add n in=x,b\
ahead a in=n' tiny.net > both.net
sed '/^pool/,$d' both.net | grep -v ^ahead > ahead.net

run='--data clips --epochs 2 --batch 4 --threads 1'
train() { "$bin/convtt-train" "$@" > log 2>&1 < /dev/null; }

# 1. Both losses are told, and the file is that of the recogniser.
train both.net --task both --ahead-weight 1:0 $run -o both.h5 \
    --log-csv both.csv --report-html both.html || fail "both: $(cat log)"
losses='train loss [0-9.]+, train top-1 [0-9.]+%, next frame [0-9.]+ x 0;'
grep -qE "epoch 2/2: $losses" log || fail "the losses are not told: $(cat log)"
sed -n 's/^"\(.*\)":.*/\1/p' clips/labels.json > classes
while read -r class; do
    grep -qF ">$class<" both.html || fail "the page lacks class '$class'"
done < classes
[ -s classes ] || fail 'no classes'
head -1 both.csv | grep -q ',ahead_loss,ahead_weight,top1,' ||
    fail "no columns: $(head -1 both.csv)"
train tiny.net $run -o plain.h5 || fail "plain: $(cat log)"
"$bin/convtt-info" --net plain.h5 > plain.txt
"$bin/convtt-info" --net both.h5 > both.txt
cmp -s plain.txt both.txt || fail "another model: $(diff plain.txt both.txt)"

# 2. A weight of 0, and a text with `ahead` under --task recognise, give the
# recogniser.
answers() { "$bin/convtt-infer" --threads 1 --observe 0.5,1 --json "$1" clips \
                2> /dev/null | sed 's/,"ms":[0-9.]*//'; }
train both.net --task both --ahead-weight 0 $run -o zero.h5 ||
    fail "weight 0: $(cat log)"
train both.net $run -o left.h5 || fail "recognise: $(cat log)"
cmp -s plain.h5 left.h5 || fail "--task recognise trains another model"
answers plain.h5 > plain.json
answers zero.h5 > zero.json
cmp -s plain.json zero.json || fail "weight 0 trains another model"

# 3. Resumed for another epoch; the checkpoint without its training state
# is the recogniser, too.
train both.net --task both $run --epochs 1 -o part.h5 \
    --checkpoint part.ckpt || fail "one epoch: $(cat log)"
train both.net --task both $run -o part.h5 --checkpoint part.ckpt --resume ||
    fail "resumed: $(cat log)"
"$bin/convtt-info" --strip s.h5 part.ckpt || fail "--strip"
"$bin/convtt-info" --net s.h5 > strip.txt
cmp -s plain.txt strip.txt || fail "stripped: $(diff plain.txt strip.txt)"
"$bin/convtt-info" --net part.ckpt | grep -q '^ahead a in=n$' ||
    fail "the checkpoint lacks 'ahead'"
"$bin/convtt-compress" part.ckpt -o half.h5 --half > log 2>&1 < /dev/null ||
    fail "compress: $(cat log)"
"$bin/convtt-info" --net half.h5 | grep -q ^ahead &&
    fail "a compressed checkpoint keeps 'ahead'"
train --init part.ckpt $run --epochs 1 -o init.h5 --log-csv init.csv ||
    fail "init: $(cat log)"
head -1 init.csv | grep -q ahead_loss && fail "--init learns to predict"
"$bin/convtt-info" --net init.h5 > init.txt
cmp -s plain.txt init.txt || fail "--init: $(diff plain.txt init.txt)"

# 4. Folds, and what is refused.
train both.net --task both $run --epochs 1 --folds 2 -o fold.h5 ||
    fail "folds: $(cat log)"
"$bin/convtt-info" --net fold.fold1.h5 > fold.txt
cmp -s plain.txt fold.txt || fail "a fold: $(diff plain.txt fold.txt)"
says 1 "needs a line 'ahead' in the model" "$bin/convtt-train" tiny.net \
    --task both $run -o new.h5
says 2 'ahead-weight=1:2:3 is not FROM' "$bin/convtt-train" both.net \
    --task both --ahead-weight 1:2:3 $run -o new.h5
says 2 'ahead-weight requires --task=both' "$bin/convtt-train" both.net \
    --ahead-weight 1:2 $run -o new.h5
says 2 'input-frames requires --task=predict' "$bin/convtt-train" both.net \
    --task both --input-frames 3 $run -o new.h5

# 5. The models that come with convtt, on small frames: a step of both losses.
for m in early-both something-convttlstm something-e3dlstm; do
    sed '/^input/s/ h=[0-9]* w=[0-9]*/ h=32 w=32/' "$root/models/$m.net" \
        > "$m.net"
    train "$m.net" --task both $run --epochs 1 -o "$m.h5" ||
        fail "$m: $(cat log)"
    grep -q ', next frame [0-9.]* x 1;' log || fail "$m: $(cat log)"
    "$bin/convtt-infer" --json "$m.h5" clips > log 2>&1 ||
        fail "$m does not run: $(cat log)"
done

# 6. Learning to predict first.
train ahead.net --task predict $run --val clips --input-frames 4 \
    --future-frames 2 -o ahead.h5 || fail "predict: $(cat log)"
train tiny.net --init ahead.h5 $run -o after.h5 || fail "init: $(cat log)"
grep -q 'weights taken from ahead.h5; new: y$' log ||
    fail "does not say what is new: $(cat log)"
exit $failed
