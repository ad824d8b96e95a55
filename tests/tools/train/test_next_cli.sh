#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_next_cli.sh: language models from convtt-train --task next to
# convtt-infer and convtt-compress: what they learn, resumed and over processes.
set -u
tools="convtt-train convtt-infer convtt-compress convtt-info"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"

# Sentences of 'a x b', 'c x d' and 'e x f' in this order: what is behind 'x'
# depends on the word before it.
awk 'BEGIN {
    srand(3); split("a c e", first); next_of["a"] = "b"; next_of["c"] = "d"
    next_of["e"] = "f"
    for (i = 0; i < 300; i++) {
        n = 1 + int(rand() * 4); k = 1 + int(rand() * 3); line = ""
        for (j = 0; j < n; j++) {
            w = first[1 + (k + j) % 3]
            line = line (j ? " " : "") w " x " next_of[w]
        }
        print line
    }
}' > train.txt
cat > lm.net << 'END'
input x c=1
embed e in=x vocab=99 out=8
lstm h in=e hidden=16
lstm i in=h hidden=16
conv y in=i out=99
END
run='lm.net --task next --data words:train.txt --batch 8 --epochs 12 --lr 0.01'

# 1. It learns what counts of pairs cannot know, and says so in one table.
# shellcheck disable=SC2086
says 0 'm.h5 written: perplexity' "$bin/convtt-train" $run --threads 2 -o m.h5
grep -q 'e: vocab=99 is now 9, the size of the vocabulary' out ||
    fail "no vocabulary: $(cat out)"
grep -qE 'warning|doctor' out err && fail "of frames: $(cat out err)"
grep -q '^validation: 60 of 300 lines are held out' out err ||
    fail "nothing is held out: $(head -5 out err)"
grep -q '^model: .* multiplications per symbol' out && grep -qE \
    '^epoch 1/.* lines/s' out && ! grep -qE 'clip|frame' out err ||
    fail "words of clips: $(cat out err)"
value() { awk -v row="$1" 'index($0, row) == 1 {
    n = split(substr($0, length(row) + 1), v, " "); print v[1] }' out; }
awk -v one="$(value 'counts of symbols')" \
    -v two="$(value 'counts of pairs (Kneser-Ney)')" \
    -v is="$(value 'the model')" \
    'BEGIN { exit !(one > 4 && two < 3 && is > 1 && is < two - 0.2) }' ||
    fail "the table: $(cat out)"
grep -qE 'epoch 12/12: train loss .*, perplexity .*; validation: perplexity' \
    out err || fail "no perplexity of an epoch: $(tail -3 out err)"
says 0 'warning: .*no better than counts of symbols' "$bin/convtt-train" \
    lm.net --task next --data words:train.txt --max-steps 1 -o poor.h5

# Lines that are held out are not counted: each has a word of its own.
for i in $(seq 20); do echo "w$i all"; done > own.txt
says 0 'training: 16 lines, 48 symbols of a vocabulary of 19' \
    "$bin/convtt-train" lm.net --task next --data words:own.txt --epochs 1 \
    -o own.h5
grep -q '12 validation symbols, 33.3% of them <unk>' out ||
    fail "$(tail -1 out)"

# 2. Any number of threads, and a run that was killed and goes on, make the same
# file.
# shellcheck disable=SC2086
says 0 written "$bin/convtt-train" $run --threads 1 -o one.h5
cmp -s m.h5 one.h5 || fail 'threads change the model'
# shellcheck disable=SC2086
"$bin/convtt-train" $run --threads 1 -o again.h5 --checkpoint c.ckpt \
    --checkpoint-every 20 > out 2>&1 &
pid=$!
begun() { [ -s c.ckpt ] || ! kill -0 $pid 2> /dev/null; }
await 'a checkpoint' begun
kill -9 $pid 2> /dev/null
wait $pid 2> /dev/null
if [ -e c.ckpt ]; then
    # shellcheck disable=SC2086
    says 0 written "$bin/convtt-train" $run --threads 1 -o again.h5 \
        --checkpoint c.ckpt --resume
fi
cmp -s m.h5 again.h5 || fail 'resuming changes the model'
for on in '--pause 5' --resume; do
    # shellcheck disable=SC2086
    says 0 '' "$bin/convtt-train" $run --threads 2 -o part.h5 $on \
        --checkpoint p.ckpt
done
cmp -s m.h5 part.h5 || fail 'a pause changes the model'

# 3. The file has its vocabulary: it judges text, and expects words.
says 0 'symbols, 0 unknown' "$bin/convtt-infer" m.h5 \
    words:train.txt
awk '/unknown: perplexity/ { exit !($6 < 1.7) }' out || fail "$(tail -1 out)"
echo 'a x b c x' > begin.txt
says 0 'begin.txt:1 .*then: d 9' "$bin/convtt-infer" m.h5 words:begin.txt
says 0 '"next":\{"d":0.9' "$bin/convtt-infer" m.h5 --json words:begin.txt
echo 'a x z y c x d' > strange.txt
says 0 '8 symbols, 2 unknown' "$bin/convtt-infer" m.h5 words:strange.txt
says 2 'not a model of|--stream' "$bin/convtt-infer" m.h5 --stream begin.txt
says 0 'symbols/s' "$bin/convtt-infer" --bench m.h5 --runs 3
grep -q 'timed: a symbol of text' out || fail "bench: $(head -3 out)"
says 0 '^reads +symbols of text' "$bin/convtt-info" m.h5
grep -q '^answers  *the next of 9 symbols: <eos>, <unk>, ' out ||
    fail "info: $(cat out)"
says 2 '--every' "$bin/convtt-infer" m.h5 --every 1 words:begin.txt
says 2 'pass text:FILE or words:FILE' "$bin/convtt-infer" m.h5 begin.txt

# A stream of symbols gives what batches of sentences gave in the test.
head -n 50 train.txt | sed 's/^a x b/b x a/' > val.txt
says 0 'v.h5 written' "$bin/convtt-train" lm.net --task next --epochs 2 \
    --data words:train.txt --val words:val.txt --buckets 1 -o v.h5
want=$(value 'the model')
says 0 ": perplexity $want, loss" "$bin/convtt-infer" v.h5 words:val.txt

# 4. Smaller files of it, and more training of another file with its words.
says 0 'small.h5 written' "$bin/convtt-compress" m.h5 --prune 0.3 \
    --prune-least 1 --share 6 -o small.h5
says 0 'begin.txt:1 .*then: d ' "$bin/convtt-infer" small.h5 words:begin.txt
says 0 'bytes.h5 written' "$bin/convtt-compress" m.h5 --int8 minmax \
    --data words:train.txt --retrain-epochs 0 -o bytes.h5
says 0 'begin.txt:1 .*then: d ' "$bin/convtt-infer" bytes.h5 words:begin.txt
says 1 'it is compressed without --data' "$bin/convtt-compress" m.h5 \
    --prune 0.3 --data words:train.txt --retrain-epochs 0 -o no.h5
says 2 'distil requires --task=recognise' "$bin/convtt-compress" m.h5 \
    --prune 0.3 --data words:train.txt --distil 0.5 -o no.h5

says 2 'a model of text .*: pass --task next' "$bin/convtt-train" lm.net \
    --data train.txt -o no.h5
says 2 '--vocab: m.h5 has a vocabulary' "$bin/convtt-train" --init m.h5 \
    --task next --data words:train.txt --vocab 5 -o no.h5

# Pruned to a tenth, it forgets, and retraining brings most of it back.
retrain="--prune 0.9 --prune-least 1 --share 4 --int8 none
    --data words:train.txt --retrain-epochs 4 --share-epochs 1 --lr 0.01
    --threads 1"
perplexity() { sed -n "s/^$1: perplexity \([0-9.]*\) of.*/\1/p" out; }
# shellcheck disable=SC2086
says 0 'held out' "$bin/convtt-compress" m.h5 $retrain -o tenth.h5
grep -qE '^pruned: epoch 4/4: .* perplexity .*; validation: perplexity' out &&
    ! grep -q 'epoch.*top-1' out || fail "no perplexity: $(grep epoch out)"
was=$(perplexity m.h5) is=$(perplexity tenth.h5)
says 0 written "$bin/convtt-compress" m.h5 --prune 0.9 --prune-least 1 \
    --share 4 -o bad.h5
says 0 '' "$bin/convtt-infer" bad.h5 words:train.txt
awk -v was="$was" -v is="$is" -v bad="$(sed -n \
    's/.*unknown: perplexity \([0-9.]*\).*/\1/p' out | tail -n 1)" \
    'BEGIN { exit !(was > 1 && is < 2 * was && is < bad / 1.5) }' ||
    fail "retrained: $was, $is; pruned alone: $(tail -n 1 out)"
says 1 'e: the operation embed is not written as ONNX' \
    "$bin/convtt-info" --export no.onnx m.h5
says 0 'more.h5 written' "$bin/convtt-train" --init m.h5 --task next \
    --data words:strange.txt --val words:train.txt --epochs 1 -o more.h5

# 5. Lengths of batches by the user; wrong ones, odd files and models that do
# not fit are one line.
# shellcheck disable=SC2086
says 0 'lines are .* in 3 groups: .*, up to 5, 8, 13 symbols' \
    "$bin/convtt-train" $run --max-steps 2 --buckets 5,8,20 -o b.h5
for bad in 5,3 0,4 3, x 3,x 99; do
    # shellcheck disable=SC2086
    says 2 "bad value '$bad'" "$bin/convtt-train" $run --buckets $bad -o no.h5
done
: > empty.txt
printf '\0\1\377\376' > bytes.bin
printf 'a b' > whole.txt
echo 'y z' > other.txt
refused() {   # refused STATUS PATTERN NET DATA OPTION...
    says "$1" "$2" "$bin/convtt-train" "$3" --task next --data "$4" -o no.h5 \
        "${@:5}"
}
sed 's/input x c=1/input x c=2/; s/^embed.*/conv e in=x out=8/' lm.net > two.net
refused 1 'empty.txt: no line has words' lm.net words:empty.txt
refused 1 'nowhere.txt: No such file' lm.net words:nowhere.txt
refused 2 'no text: --task=next reads' lm.net train.txt
refused 2 'a symbol is one number' two.net words:train.txt
refused 2 '--search is of clips' lm.net words:train.txt --search 'lr=0.1..1'
refused 2 '--doctor is of clips' lm.net words:train.txt --doctor
refused 2 '--sync: a server' lm.net text:nowhere.txt --sync central
says 1 'none of its 2 words is in' "$bin/convtt-infer" m.h5 words:other.txt
says 2 'a model of text' "$bin/convtt-train" lm.net \
    --data words:train.txt -o no.h5
says 0 written "$bin/convtt-train" lm.net --task next --data text:bytes.bin \
    --val none --epochs 1 -o odd.h5
says 0 written "$bin/convtt-train" lm.net --task next --data words:whole.txt \
    --val none --epochs 1 --vocab 500 -o odd.h5

# 6. Two processes: half of each batch, or half of the model.
if . "$src/tests/lib/mpirun.sh"; then
    # shellcheck disable=SC2086
    says 0 written "$bin/convtt-train" $run --threads 1 --shards 2 \
        --max-steps 40 -o whole.h5
    for how in '' '--stages auto'; do
        # shellcheck disable=SC2086
        limited mpirun -np 2 --bind-to none "$bin/convtt-train" $run \
            --threads 1 --shards 2 --max-steps 40 -o half.h5 $how \
            > out 2> err < /dev/null || fail "2 processes $how: $(head -3 err)"
        cmp -s whole.h5 half.h5 || fail "2 processes $how: another model"
    done
fi
exit $failed
