#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_labels_cli.sh: numbers of classes are the same in every list that a model
# meets; labels that do not fit are refused, or said.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

# Pictures of three colours, of which two lists have the numbers 1, 2, 3.
mkdir red green blue val
pixels=$(printf '%064d' 0 | tr 0 x)
for k in 0 1 2 3 4 5 6 7; do
    lo="\\01$k" hi="\\34$k"
    rgb=("$hi$lo$lo" "$lo$hi$lo" "$lo$lo$hi") n=0
    for c in red green blue; do
        to=val/$c$k.ppm
        [ $k -lt 4 ] && to=$c/$k.ppm
        printf "P6\\n8 8\\n255\\n${pixels//x/${rgb[$n]}}" > $to
        n=$((n + 1))
        [ $k -lt 4 ] && echo "$to $n" >> t.txt && continue
        echo "$to $n" >> v.txt
        echo "$to $((n % 3 + 1))" >> turned.txt
        echo "$to $c" >> named.txt
    done
done
grep -v 'blue' v.txt > two.txt
cat > m.net << 'END'
input x h=8 w=8 c=3 fps=10
conv c in=x out=8 kernel=3 pad=1
act a in=c kind=relu
pool q in=a kind=avg
conv y in=q out=3
END
learn() {
    "$bin/convtt-train" m.net --data t.txt -o m.h5 --lr 3e-2 --batch 6 \
        --augment off --threads 1 "$@"
}
infer() { "$bin/convtt-infer" m.h5 --observe 1 -k 1 --threads 1 "$@"; }

# 1. The model keeps the numbers.
says 0 'validation: .* 100.0% at 100%' learn --epochs 4 --val two.txt
matrix() {    # matrix ROW...: those of the printed confusion matrix
    diff <(sed -n '/^confusion matrix/,/^$/p' out | sed '1d; /^$/d') \
        <(printf '%s\n' "$@") || fail 'the confusion matrix'
}
matrix 'class  1  2  3' '1      4  0  0' '2      0  4  0' '3      0  0  0'
sed 's/ 1$/,Held up/; s/ 2$/,Held so high/; s/ 3$/,1/' t.txt > long.txt
sed 's/ 1$/,Held up/; s/ 2$/,Held so high/; s/ 3$/,1/' two.txt > held.txt
says 0 'mistaken for' learn --epochs 4 --val held.txt --data long.txt
matrix 'class             (a)  (b)  (c)' '(a) 1               0    0    0' \
    '(b) Held so high    0    4    0' '(c) Held up         0    0    4'
learn --epochs 4 --val two.txt > out 2>&1 || fail "$(cat out)"
says 0 '^100% +8 +100.0%' infer two.txt
says 0 '^100% +12 +100.0%' infer v.txt
[ ! -s err ] || fail "a warning: $(cat err)"

# 2. What cannot be matched is refused, with both tables.
both='labels of the list: blue, green, red; classes of the model: 1, 2, 3'
says 2 "$both" infer named.txt
says 2 "$both" learn --val named.txt
says 2 "$both" "$bin/convtt-info" --data named.txt m.h5
says 2 "$both" "$bin/convtt-data" pack named.txt -o p.h5 --model m.h5
says 2 "$both" "$bin/convtt-compress" m.h5 -o p.h5 --data named.txt --share 4
says 2 'named.txt: given for two files' "$bin/convtt-data" pack named.txt \
    -o named.txt --model m.h5
sed 's/ 3$/ 0/' v.txt > zero.txt
says 2 "class '0' is none of the model's 3 classes; labels of the list: 0, 1" \
    infer zero.txt

# 3. Turned labels are noticed by the answers.
says 0 "top-1 would be 100.0% with other names .*'1' is answered as '3'" \
    infer turned.txt
cp m.h5 c.h5
says 0 "top-1 would be 100.0% with other names" "$bin/convtt-infer" \
    --calibrate c.h5 turned.txt --max-gap 0.9 --delta 0.5
says 0 "top-1 would be 100.0% with other names" "$bin/convtt-infer" \
    --decide c.h5 turned.txt

# 4. What looks wrong with classes is one line each at the start.
says 0 "validation: only 2 of the 3 classes have clips; '3' has none" learn \
    --epochs 1 --val two.txt
sed 's/ /,/; 1s/,.*/,Red one/; 2,$s/,1$/,red  One/' t.txt > alike.txt
says 0 "the classes 'Red one' and 'red  One' differ in case or blanks only" \
    learn --epochs 1 --data alike.txt
printf "$(sed 's/ 1$/,caf\\u00e9/; 1s/,.*/,cafe\\u0301/; s/ /,/' t.txt)\\n" \
    > alike.txt
accents="the classes '.*' and '.*' differ only in how their accents are written"
says 0 "$accents" learn --epochs 1 --data alike.txt
for k in 0 1 2 3 4 5 6 7 8 9; do cat t.txt; done | grep -v ' 3$' > far.txt
grep ' 3$' t.txt | head -4 >> far.txt
far="^classes: 40 clips of '1', 4 of '3'; --sampler balanced or --class-w"
says 0 "$far" learn --epochs 1 --data far.txt --val none
says 0 'training: 84' learn --epochs 1 --data far.txt --val none \
    --sampler balanced
grep -qE "$far" out && fail "balanced: $(cat out)"

# 5. Validation clips are others than those of the training, in whatever list;
# lists may come from standard input.
cat t.txt > same.txt
for val in t.txt ./t.txt same.txt; do
    says 2 "$val: --val has the same clips as the training data" learn \
        --val $val
done
from() { "${@:2}" < "$1"; }
piped() { cat "$1" | "${@:2}"; }
reads() {   # reads PATTERN COMMAND...
    "${@:2}" > out 2> err || fail "${*:2}: $(cat err)"
    grep -qE "$1" out || fail "${*:2}: $(cat out)"
}
for with in from piped; do
    reads 'training: 12 clips of 3' $with t.txt learn --epochs 1 --data - \
        --val v.txt
    reads 'validation: 12 clips of 3' $with v.txt learn --epochs 1 \
        --val /dev/stdin
    reads '^100% +12 ' $with v.txt infer /dev/stdin
done

# 6. --classes leaves clips out in every program, for a model that has the other
# classes too and for one that was trained without them.
echo 1 > one
printf '1\n3\n' > two
subset() {    # subset CLIPS LOW FILE: of v.txt, with m.h5, which answers
    rm -f c.h5 p.h5    # all right: from LOW % on (Wilson 1927)
    cp m.h5 c.h5
    says 0 "^100% +$1 +100.0%" infer v.txt --classes $3
    says 0 "^100% +$1 " infer v.h5 --classes $3
    says 0 ", from $1 clips" "$bin/convtt-infer" --calibrate c.h5 v.txt \
        --max-gap 0.9 --delta 0.5 --classes $3
    says 0 "^$1 +0 " "$bin/convtt-infer" --decide c.h5 v.txt --classes $3
    says 0 " \\($2-100.0" "$bin/convtt-info" m.h5 --data v.txt --classes $3
    says 0 "p.h5: $1 clips," "$bin/convtt-data" pack v.txt -o p.h5 \
        --model m.h5 --classes $3
    rm p.h5
    says 0 ", $1 validation clips" "$bin/convtt-compress" m.h5 -o p.h5 \
        --data t.txt --val v.txt --share 4 --classes $3
    says 0 "validation: $1 clips" "$bin/convtt-train" --init m.h5 -o q.h5 \
        --data t.txt --val v.txt --epochs 1 --batch 4 --classes $3
}
"$bin/convtt-data" pack v.txt -o v.h5 --model m.net > out 2>&1 ||
    fail "pack: $(cat out)"
learn --epochs 4 --val two.txt > out 2>&1 || fail "$(cat out)"
subset 4 51.0 one
learn --epochs 4 --val v.txt --test two.txt --classes two > out 2>&1
grep -q 'validation: 8 clips of 2 classes' out || fail "$(cat out)"
learn --epochs 1 --val none --test v.txt --classes two > out 2>&1
grep -q 'test: 8 clips of 2 classes' out || fail "$(cat out)"
subset 8 67.6 two
subset 4 51.0 one

# 7. Weights that --init takes go by the names of the classes.
printf '2\n3\n1\n' > turned
learn --epochs 4 --val v.txt > out 2>&1 || fail "$(cat out)"
cp m.h5 first.h5
says 0 'first.h5: its classes are in another order, the rows of y follow' \
    learn --epochs 1 --lr 1e-6 --val v.txt --classes turned --init first.h5
grep -q '^4 of 4 weights taken from first.h5$' out &&
    grep -q 'validation: .* 100.0% at 100%' out || fail "turned: $(cat out)"
sed 's/ 1$/,a/; s/ 2$/,b/; s/ 3$/,c/' t.txt > abc.txt
says 0 'first.h5: its classes are others, y stays new' \
    learn --epochs 1 --data abc.txt --val none --init first.h5
grep -q '^2 of 4 weights taken from first.h5; new: y$' out ||
    fail "others: $(cat out)"
says 0 '^4 of 4 weights taken from first.h5$' \
    learn --epochs 1 --val none --init first.h5
grep -q 'its classes' out && fail "the same: $(cat out)"
exit $failed
