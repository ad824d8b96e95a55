#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_int8_cli.sh: a model is trained, quantised, trained further as one of
# bytes, and answers the same on every device; what --int8 says to bad input.
set -u
tools="convtt-data convtt-train convtt-compress convtt-infer convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"
compress=$bin/convtt-compress
tells() { says "$1" "$2" "$compress" "${@:3}"; }
size() { wc -c < "$1"; }

make_net
make_clips
plain='--data clips --threads 1'
common="$plain --batch 8"
"$bin/convtt-train" tiny.net -o m.ctt $common --epochs 2 > out 2>&1 ||
    { cat out; exit 1; }

# answers MODEL DEVICE THREADS OPTION...: of every clip, with all digits.
answers() {
    "$bin/convtt-infer" --json --threads "$3" --device "$2" "${@:4}" "$1" \
        clips 2> err |
        sed 's/"\(device\|threads\|seconds\|ms\)[^,}]*//g'
}

# 1. Every conv reads bytes, the file is small, and the same command writes the
# same bytes.
for method in minmax percentile entropy mse; do
    tells 0 "$method.ctt written" m.ctt -o $method.ctt $plain --int8 $method \
        --retrain-epochs 0
    grep -qE '^int8 ' out || fail "no row int8: $(cat out)"
    grep -qE '^h.z .*int8: [0-9.]+ dB' out || fail "no ratio: $(cat out)"
done
tells 0 'mse2.ctt written' m.ctt -o mse2.ctt $plain --int8 mse \
    --retrain-epochs 0
tells 0 'half.ctt written' m.ctt -o half.ctt $plain --int8 mse --half \
    --retrain-epochs 0
[ "$(stat -c %s half.ctt)" -lt $(($(stat -c %s mse.ctt) * 11 / 10)) ] ||
    fail "--half makes a file of bytes larger"
cmp mse.ctt mse2.ctt || fail "the same command wrote another file"
"$bin/convtt-info" --all mse.ctt > out 2>&1
[ "$(grep -cE '^conv .*in=[a-z0-9.]*q8' out)" = 4 ] ||
    fail "not all convs read bytes: $(cat out)"
grep -q 'int8: 4 of 4 convs read bytes, ranges by mse; worst: ' out ||
    fail "the history does not say it: $(cat out)"
says 0 '^compressed  *int8, rounded$' "$bin/convtt-info" mse.ctt

# 2. The same answers to the bit on plain C, on the fastest kernels, and by any
# number of threads; nearly those of the floats.
want=$(answers mse.ctt ref 1)
[ -n "$want" ] || fail "no answers: $(cat err)"
for how in 'cpu 1' 'cpu 2' 'ref 2'; do
    # shellcheck disable=SC2086
    [ "$(answers mse.ctt $how)" = "$want" ] || fail "other answers on $how"
done

# 3. It trains as what it is, and the result answers the same on both.
says 0 'written' "$bin/convtt-train" --init mse.ctt -o t.ctt $common --epochs 1
"$bin/convtt-info" --all t.ctt > out 2>&1
[ "$(grep -cE '^conv .*in=[a-z0-9.]*q8' out)" = 4 ] ||
    fail "training changed the lines: $(cat out)"
[ "$(answers t.ctt cpu 1)" = "$(answers t.ctt ref 1)" ] ||
    fail "after training, other answers on cpu than on ref"
tells 0 'int8: .* lost, so it is not retrained' m.ctt -o h.ctt $common \
    --int8 minmax --int8-epochs 2 --int8-harm 1 --retrain-epochs 1

# 4. With other stages.
tells 0 'all.ctt written' m.ctt -o all.ctt $common --prune 0.5 --prune-least 9 \
    --share 4 --share-epochs 1 --int8 mse --retrain-epochs 1
[ "$(answers all.ctt cpu 2)" = "$(answers all.ctt ref 1)" ] ||
    fail "pruned and shared: other answers on cpu than on ref"
[ "$(size all.ctt)" -lt "$(size mse.ctt)" ] || fail "all.ctt is large"

# 5. What each conv costs: a table, worst first, and all of it as JSON; some may
# stay in floats.
tells 0 'what reading bytes costs: divergence' m.ctt -o b.ctt $plain \
    --int8 minmax --retrain-epochs 0 --report b.json
grep -qE '^all together +[0-9.e-]+ +- ' out || fail "no sum: $(cat out)"
[ "$(sed '/^stages:/,$d' out | sed '1,/what reading/d' |
    grep -cE '^(e|h.zx|h.z|y) +[0-9.e-]+ +[0-9.]+ +[0-9.]+ ')" = 4 ] ||
    fail "not all convs are blamed: $(cat out)"
# The last score of the history is the model's.
[ "$(sed -n 's/.*"top1": \[[^]]*, \([0-9.]*\)\].*/\1/p' b.json | tail -1 |
    xargs printf %.4f)" = "$("$bin/convtt-info" --all b.ctt |
    sed -n 's/^int8: val_top1=//p')" ] ||
    fail "the history: $("$bin/convtt-info" --all b.ctt | grep val_top1)"
sed -n '/"int8":/,/\]/p' b.json > rows
[ "$(grep -cE '"conv": "[^"]+", "kl_nats": [0-9.e-]+, ' rows)" = 5 ] ||
    fail "the report lacks convs: $(cat b.json)"
sed -n 's/.*"kl_nats": \([0-9.e-]*\),.*/\1/p' rows | tail -n +2 > kl
sort -gr kl | cmp -s - kl || fail "not the worst first: $(cat kl)"
if command -v python3 > /dev/null; then
    python3 -m json.tool b.json > /dev/null || fail 'the report is no JSON'
fi
tells 0 'a.ctt written' m.ctt -o a.ctt $plain --int8 minmax --int8-except auto \
    --int8-harm 1 --retrain-epochs 0
grep -qE '; [0-9.]+ points (lost|won) in the mean, standard error [0-9.]+$' \
    out || fail "no error of the loss: $(cat out)"
"$bin/convtt-info" --all a.ctt > out 2>&1
[ "$(grep -cE '^conv .*in=[a-z0-9.]*q8' out)" = 4 ] ||
    fail "a harm of 1 keeps convs in floats: $(cat out)"

# Frames with a mean and deviation of their own are quantised once more, in a
# range that clips give.
sed 's/mean=[^ ]* std=[^ ]*/normalise=clip/' tiny.net > light.net
says 0 'written' "$bin/convtt-train" light.net -o light.ctt $common --epochs 1
tells 0 'written' light.ctt -o light8.ctt $plain --int8 mse --retrain-epochs 0
says 0 '^quant x.q8 in=x scale=0\.0' "$bin/convtt-info" --net light8.ctt
says 0 'device cpu, int8' "$bin/convtt-infer" --bench light8.ctt --runs 20 \
    --threads 1
answers light.ctt cpu 1 > floats
answers light8.ctt cpu 1 > ints
answers light8.ctt ref 1 > ref
cmp -s ints ref || fail "normalise=clip in bytes: cpu and ref differ"
[ "$(wc -l < floats)" = "$(wc -l < ints)" ] || fail "$(cat err ints)"

# A model that predicts frames, measured on the same clips.
cat > next.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
convlstm h in=x hidden=8 kernel=3
conv y in=h out=3
END
says 0 'written' "$bin/convtt-train" next.net -o next.ctt $plain \
    --task predict --epochs 1 --input-frames 4 --future-frames 3
tells 0 'what reading bytes costs: predicted frames' next.ctt -o n.ctt $plain \
    --int8 mse --report n.json
grep -q '"frames_db": ' n.json || fail "no ratio of frames: $(cat n.json)"
"$bin/convtt-info" --all n.ctt > out 2>&1
[ "$(grep -cE '^conv .*in=[a-z0-9.]*q8' out)" = 3 ] ||
    fail "not all convs of a predictor read bytes: $(cat out)"

# 6. Measured; a text as well.
says 0 '^h.z +conv +loop +(int8|wino16)[^ ]* +int8 ' "$bin/convtt-info" --plan \
    mse.ctt --threads 1
says 0 'device cpu, int8' "$bin/convtt-infer" --bench mse.ctt --runs 20 \
    --threads 1
grep -qE '^h.z +conv +loop +(int8|wino16)' out ||
    fail "no kernel of whole numbers: $(cat out)"
says 0 'device cpu, int8' "$bin/convtt-infer" --bench tiny.net --type int8 \
    --runs 20 --threads 1 --against tiny.net
says 2 '--type=int8 measures a model text' "$bin/convtt-infer" --bench mse.ctt \
    --type int8
says 2 '--type=int8 requires --bench' "$bin/convtt-infer" --type int8 \
    mse.ctt clips
says 2 '--int8-epochs requires retraining' "$bin/convtt-compress" m.ctt \
    -o no.ctt --data clips --int8 mse --retrain-epochs 0 --int8-epochs 3

# With products of bf16 in place of floats: nearly the same answers; what reads
# bytes stays so.
sed 's/out=8 kernel=3/out=24 kernel=5/' tiny.net > wide.net
"$bin/convtt-train" wide.net -o w.ctt $common --epochs 1 > out 2>&1 ||
    fail "$(cat out)"
answers w.ctt cpu 1 > floats
answers w.ctt cpu 1 --type bf16 > halves
[ "$(wc -l < floats)" = "$(wc -l < halves)" ] || fail "$(cat err halves)"
cmp -s floats halves && fail "--type bf16 changes nothing"
says 0 'device cpu, int8' "$bin/convtt-infer" --bench mse.ctt --runs 20 \
    --threads 1 --type bf16

# 7. Bad input: one line, status 2, nothing written.
refused() {
    tells 2 "$1" m.ctt -o no.ctt "${@:2}"
    [ -e no.ctt ] && fail "no.ctt was written"
}
refused "int8: no choice 'best'" --int8 best $common
refused '--int8 requires --data' --int8 mse
refused "no weight matches 'q'" --int8 mse --int8-except q $common
refused 'no conv that could read bytes' --int8 mse --int8-except '*' $plain \
    --retrain-epochs 0
refused '--int8-percentile requires --int8=percentile' --int8 mse \
    --int8-percentile 99 $common
refused '--int8-slow requires --int8 other than none' --int8-slow $common \
    --prune 0.5 --int8 none
refused '--int8-slow requires --data' --int8-slow
refused '--int8-except requires --data' --int8-except e
refused '--int8-epochs requires --int8 other than auto' --int8-epochs 1 \
    $common --prune 0.5
refused 'auto: --int8-harm must be 0 or more' --int8-harm -1 $common \
    --prune 0.5 --prune-least 9
# What auto never reads bytes of; a model of frames is none of classes.
for option in except=e slow harm=0.1; do
    refused "--int8-${option%=*} requires --int8 other than auto" $common \
        --share 4 --int8-$option
    refused "--int8-${option%=*} requires --int8 other than auto" $common \
        --prune 0.5 --half --int8-$option
done
tells 2 '--int8-slow requires --int8 other than auto' next.ctt -o no.ctt \
    $plain --int8-slow --svd-rank 2 --svd-least 0 --svd-on responses
printf 'clips/20bn-something-something-v2/%d.webm,Moving something up\n' 1 2 3 \
    > one.txt
sed 's/,.*/,Juggling/' one.txt > other.txt
tells 2 "has no split 'validation' to validate on" m.ctt -o no.ctt --int8 mse \
    --data one.txt --threads 1 --retrain-epochs 0
head -n 2 one.txt > two.txt
tells 0 'int8: 2 training clips are few' m.ctt -o few.ctt --int8 mse \
    --data two.txt --val one.txt --threads 1 --retrain-epochs 0
auto='--prune 0.5 --prune-least 9 --retrain-epochs 0 --threads 1'
tells 0 'int8: 2 training clips are few' m.ctt -o few.ctt --data two.txt \
    --val one.txt $auto
tells 0 'and --norm-clips 0 without retraining reads none' m.ctt -o few.ctt \
    --data two.txt --val one.txt $auto --norm-clips 0
tells 0 'and those of --data are the validation clips' m.ctt -o few.ctt \
    --data one.txt $auto
for more in '--int8 none' --half; do
    tells 0 'few.ctt written' m.ctt -o few.ctt --data two.txt --val one.txt \
        $auto --norm-clips 0 $more
    grep -q '^int8' out && fail "$more: a word of int8: $(cat out)"
done
tells 2 'class .* is none of the model' m.ctt -o no.ctt --int8 mse \
    --data other.txt --val one.txt --threads 1 --retrain-epochs 0
tells 2 'auto: the model predicts frames' next.ctt -o no.ctt $plain --int8 mse \
    --int8-except auto
tells 1 'retraining is for classification: pass --retrain-epochs 0' next.ctt \
    -o no.ctt $plain --int8 mse --retrain-epochs 2
tells 1 '--val is for classification' next.ctt -o no.ctt $plain --int8 mse \
    --val clips
tells 1 'it is compressed without --data' next.ctt -o no.ctt $plain --prune 0.5
tells 2 'no conv that could read bytes' mse.ctt -o no.ctt $plain --int8 mse \
    --retrain-epochs 0
exit $failed
