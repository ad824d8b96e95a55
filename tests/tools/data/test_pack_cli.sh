#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_pack_cli.sh: packs as a person uses them: the same bytes from any number
# of threads, data for every program, classes by name or number; warnings that
# are counted; the same clip in training and validation.
set -u
tools="convtt-data convtt-train convtt-infer convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"
data="$bin/convtt-data"
make_clips

cat > tiny.net << 'END'
input x h=12 w=12 c=3 fps=6
conv c in=x out=2 kernel=12
lstm h in=c hidden=3
conv y in=h out=12
END

# 1. Threads make no difference, neither do bad clips between good ones.
video=clips/20bn-something-something-v2
find clips -name '*.webm' | sort | head -12 > good
i=0
while read -r clip; do
    i=$((i + 1))
    echo "$clip $((i % 3))"
    [ $((i % 4)) = 0 ] || continue
    echo broken > "bad$i.mp4"
    echo "bad$i.mp4 0"
done < good > mixed.txt
for threads in 1 2 5; do
    says 0 'p.h5: 12 clips, 3 bad clips skipped' "$data" pack mixed.txt \
        -o p.h5 --model tiny.net -j $threads
    [ "$(grep -c 'bad.*skipped' err)" = 3 ] || fail "warnings: $(cat err)"
    grep -o 'bad[0-9]*' err | tr '\n' ' ' | grep -q 'bad4 bad8 bad12' ||
        fail "not in order: $(cat err)"
    [ $threads = 1 ] && cp p.h5 one.h5
    cmp one.h5 p.h5 || fail "-j $threads makes another pack"
done
says 1 'bad4.mp4' "$data" pack mixed.txt -o q.h5 --model tiny.net --strict \
    -j 3
[ -e q.h5 ] && fail "written in spite of --strict"

# 2. A request to stop ends it at once and leaves nothing.
for k in $(seq 4000); do cat good; done > long.txt
mkdir stopped
"$data" pack long.txt -o stopped/s.h5 --model tiny.net -j 2 > out 2> err \
    < /dev/null & pid=$!
await 'a pack that grows' test -s stopped/s.h5.convtt0.tmp
kill -TERM $pid
wait $pid && fail 'stopped: status 0'
grep -q 's.h5 is not written' err || fail "stopped: $(cat err)"
[ -z "$(ls -A stopped)" ] || fail "left behind: $(ls -A stopped)"

# 3. Warnings of a kind are counted after the first ten.
for k in $(seq 20); do echo "gone$k.mp4 $((k % 3))"; done >> mixed.txt
says 0 'r.h5: 12 clips, 23 bad' "$data" pack mixed.txt -o r.h5 --model tiny.net
[ "$(wc -l < err)" = 11 ] || fail "not eleven lines: $(cat err)"
grep -q 'warning: 13 more like: ' err || fail "not counted: $(cat err)"
cmp one.h5 r.h5 || fail "bad clips make another pack"

# 4. Every program takes a pack.
says 0 '^one.h5: a pack with 3 classes' "$data" check one.h5
says 0 '^one.h5: 12 clips, 0 bad' "$data" check one.h5
says 0 'all +12' "$data" list one.h5
says 0 '^input line +d=1 h=12 w=12 c=3 fps=6 ' "$bin/convtt-info" one.h5
says 0 '^clips +12 of 3 classes' "$bin/convtt-info" one.h5
says 0 '^all +12 ' "$bin/convtt-info" one.h5
mkdir packs && cp one.h5 packs
says 1 'packs/one.h5: a pack of clips, not a clip; it is given by its own' \
    "$data" check packs
cp one.h5 broken.h5
printf '\1' | dd of=broken.h5 bs=1 seek=4000 conv=notrunc 2> /dev/null
says 1 'broken.h5: 12 clips, 1 bad' "$data" check broken.h5

# 5. A model with names reads a pack of numbers, and one of names in another
# order; numbers that it does not have are refused at the start.
sed 's/ 0$/ zero/; s/ 1$/ one/; s/ 2$/ two/' mixed.txt | grep -v bad |
    grep -v gone > named.txt
says 0 '^n.h5: 12 clips' "$data" pack named.txt -o n.h5 --model tiny.net
train() {
    "$bin/convtt-train" "$@" -o m.ctt --epochs 1 --batch 4 --threads 1
}
says 0 'm.ctt written' train tiny.net --data n.h5 --val none
infer() { "$bin/convtt-infer" m.ctt --threads 1 "$@"; }
says 0 '100% +12' infer one.h5
says 0 '100% +12' infer n.h5
says 0 '100% +12' infer mixed.txt
grep -q 'zero' out || fail "no names: $(head -3 out)"
sed 's/ 2$/ 3/' mixed.txt | grep -v bad | grep -v gone > high.txt
says 0 'high.h5: [0-9]+ clips' "$data" pack high.txt -o high.h5 --model tiny.net
says 2 "class '3' is none of the model.s 3 classes; labels" infer high.h5

# 6. Clips in training and validation are noticed by their frames.
says 2 'n.h5: --val has the same clips as the training data' \
    train tiny.net --data n.h5 --val n.h5
head -9 good | sed 's/$/ a/; 2,5s/a$/b/' > train.txt
cp "$(sed -n 3p good)" renamed.webm
{ sed -n '10,12s/$/ a/p' good; echo 'renamed.webm b'; } > val.txt
says 0 '1 validation clip is also in the training data, such as .*renamed.we' \
    train tiny.net --data train.txt --val val.txt
sed -i '$d' val.txt
echo "$(sed -n 12p good) b" >> val.txt
says 0 'm.ctt written' train tiny.net --data train.txt --val val.txt
grep -q 'also in' err && fail "found in vain: $(cat err)"
mkdir -p k/train/a k/val/a
cp "$(sed -n 1p good)" k/train/a/x.webm
cp "$(sed -n 1p good)" k/val/a/y.webm
says 0 "1 clip of 'validation' is also in 'train', such as .*y.webm .*x.webm" \
    "$data" check k

# So is a clip that one set has twice, by its frames; two classes for it are an
# error with --strict.
{ cat train.txt; echo "$(sed -n 1p good) a"; echo "renamed.webm $(sed -n \
    's/.* //; 3p' train.txt)"; } > twice.txt
says 0 'training: 2 clips have the frames of another one, such as .* and ' \
    train tiny.net --data twice.txt --strict --val none
says 0 "'train'|clips: 2 clips have the frames of another one, such as" \
    "$data" check twice.txt --strict
grep -q 'another class' err && fail "the same class is another: $(cat err)"
{ cat train.txt; echo 'renamed.webm a'; } > both.txt
pair='such as .*\(b\) and .*renamed.webm \(a\)'
says 0 "training: 1 clip has the frames of another one but .* class, $pair" \
    train tiny.net --data both.txt --val none
says 0 '^both.txt: 10 clips, 0 bad' "$data" check both.txt
grep -q 'clips: 1 clip has .* another class' err || fail "check: $(cat err)"
says 0 'both.h5: 10 clips' "$data" pack both.txt -o both.h5 --model tiny.net
says 1 'both.h5: the same frames have two classes: ' train tiny.net \
    --data both.h5 --strict
"$data" check both.txt --strict > out 2>&1
[ $? = 1 ] || fail "two classes are not bad with --strict: $(cat out)"

# 7. Clips without classes are refused at once, not one by one.
sed 's/ .*//' train.txt > plain.txt
says 1 'plain.txt: none of its 9 clips has a class' train tiny.net \
    --data plain.txt

# 8. A clip for which there was no memory is decoded again: whichever allocation
# fails, the pack is whole or an error is told, and some are made up for.
head -3 good | sed 's/$/ a/' > few.txt
says 0 '^whole.pack: 3 clips' "$data" pack few.txt -o whole.pack \
    --model tiny.net -j 2
again=0 in_a_row=0 k=0
while [ $in_a_row -lt 40 ]; do    # then the run has no k-th allocation
    k=$((k + 2))
    rm -f part.pack
    if CTT_FAIL_ALLOC=$k "$data" pack few.txt -o part.pack --model tiny.net \
        -j 2 > out 2> err; then
        in_a_row=$((in_a_row + 1))
        cmp part.pack whole.pack || fail "allocation $k: another pack"
    else
        [ ! -e part.pack ] || fail "allocation $k: a pack after an error"
        [ "$(wc -l < err)" = 1 ] || fail "allocation $k: $(head -3 err)"
        again=$((again + in_a_row)) in_a_row=0
    fi
done
[ $again -ge 3 ] || fail "only $again failed allocations were made up for"
exit $failed
