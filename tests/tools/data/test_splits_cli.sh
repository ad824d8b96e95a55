#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_splits_cli.sh: the split that is asked for is the one that is used: in
# folders, lists, CSV, JSON and packs, one that does not exist, does not fit or
# is not named is refused before the work, never another one or none in its
# place.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

# Pictures of three colours: 0 to 3 of each to train on, 4 and 5 for validation,
# 6 and 7 to test.
mkdir red green blue
pixels=$(printf '%064d' 0 | tr 0 x)
echo 'file,class,split' > all.csv
for k in 0 1 2 3 4 5 6 7; do
    lo="\\01$k" hi="\\34$k"
    rgb=("$hi$lo$lo" "$lo$hi$lo" "$lo$lo$hi") n=0
    split=train
    [ $k -gt 3 ] && split=validation
    [ $k -gt 5 ] && split=test
    for c in red green blue; do
        printf "P6\\n8 8\\n255\\n${pixels//x/${rgb[$n]}}" > $c/$k.ppm
        n=$((n + 1))
        echo "$c/$k.ppm,$n,$split" >> all.csv
        mkdir -p folder/$split/$n
        cp $c/$k.ppm folder/$split/$n
        [ $k -lt 4 ] && echo "$c/$k.ppm $n" >> list.txt
    done
done
cat > m.net << 'END'
input x h=8 w=8 c=3 fps=10
conv c in=x out=8 kernel=3 pad=1
act a in=c kind=relu
pool q in=a kind=avg
conv y in=q out=3
END
learn() {   # learn DATA OPTION...
    rm -f no.h5
    "$bin/convtt-train" m.net --lr 3e-2 --batch 6 --augment off --threads 1 \
        --epochs 4 -o no.h5 --data "$@"
}
infer() { "$bin/convtt-infer" m.h5 "$@" --observe 1 -k 1 --threads 1; }
calibrate() {
    cp m.h5 k.h5
    "$bin/convtt-infer" --calibrate k.h5 "$@" --max-gap 0.9 --delta 0.5
}
shrink() { "$bin/convtt-compress" m.h5 -o no.h5 --share 4 --data "$@"; }
data() { "$bin/convtt-data" "$@"; }
json() {   # json < CSV: the same as an array of objects
    echo '['
    sed '1d; s/\(.*\),\(.*\),/{"file": "\1", "class": "\2", "split": "/
        s/$/"}/; $!s/$/,/'
    echo ']'
}
json < all.csv > all.json
says 0 'top-1 100.0%, 100.0%, 100.0%' learn all.csv
mv no.h5 m.h5
says 0 'list.h5: 12 clips' data pack list.txt -o list.h5 --model m.net

# 1. Clips of all splits, with the right numbers.
for of in all.csv all.json folder; do
    says 0 '^100% +6 ' infer $of
    for split in train:12 validation:6 val:6 test:6; do
        says 0 "^100% +${split#*:} " infer $of --split ${split%:*}
        says 0 "${split#*:} clips, 0 bad" data check $of \
            --split ${split%:*}
    done
    says 0 'train 12, validation 6, test 6' data check $of
    says 0 'on split .test. \(6 clips\)' learn $of
done

# 2. Without validation clips none of another split take their place.
grep -v ,validation all.csv > two.csv
json < two.csv > two.json
cp -r folder two
rm -r two/validation
for of in two.csv two.json two; do
    says 2 "$of: no .*'?validation'?.*; --split names one" infer $of
    says 2 "$of has splits: --calibrate needs --split test" calibrate $of
    says 2 "$of: no .*validation" "$bin/convtt-info" --data $of m.h5
    says 0 '^100% +6 ' infer $of --split test
    says 0 '3 of 12 clips are held out, as .* has no split .validation' \
        learn $of
    says 0 'train 12, test 6' data check $of
done
grep -v ',test' all.csv > val.csv
for of in all.csv all.json folder val.csv; do
    says 2 "$of has splits: --calibrate needs --split test" calibrate $of
done
grep -E 'file|train' all.csv > train.csv
says 2 "no clip of the split 'validation'; the splits are 'train'" infer \
    train.csv
says 2 'train.csv has splits: --calibrate needs' calibrate train.csv
says 0 '^100% +12 ' infer list.txt

# 3. A split that does not fit is refused, by name, and no other one is used.
stray() {   # stray SPLIT: all.csv with an unknown class in it
    awk -F, -v OFS=, -v in_=$1 '$3 == in_ && !n++ { $2 = "x" } 1' all.csv
}
for split in validation test; do
    stray $split > $split.csv
    json < $split.csv > $split.json
    cp -r folder $split.dir
    mkdir $split.dir/$split/x
    mv $split.dir/$split/1/[46].ppm $split.dir/$split/x
    for of in $split.csv $split.json $split.dir; do
        one="$of, split '$split': class 'x' is none of the model's 3 classes"
        both="$one; labels of the list: 1, 2, 3, x; classes of the model: 1,"
        [ $split = validation ] && says 2 "$both" infer $of
        says 2 "$both" infer $of --split $split
        says 2 "$both" calibrate $of --split $split
        says 2 "$both" shrink $of --int8 mse
        says 0 '^x +0 +[01] +[01]$' data list $of
        if [ $of = $split.dir ]; then    # folders are classes of all splits
            says 1 "$of, split 'train': no clip of class 'x'$" learn $of
            says 1 "$of, split 'train': no clip of class 'x', which '$split'" \
                data check $of
        else
            says 2 "$both" learn $of
            says 2 "class 'x' is none" learn $of --val-split val
            says 1 "$both" data check $of
        fi
        grep -q "$of: 24 clips, 1 bad" out || fail "$of: $(cat out)"
        [ -e no.h5 ] && fail "$of: trained"
    done
done
says 0 'on split .test.' learn all.csv --val none
says 2 "split 'test': class 'x'" learn test.csv --val none
sed 's/[0-3]\.ppm/6.ppm/' list.txt > six.txt
says 0 'no.h5 on six.txt' learn test.csv --test six.txt

# 4. --classes: clips of others are left out; a split without clips of these is
# no other split.
printf '1\n3\n' > some
says 0 '^100% +4 ' infer all.csv --classes some
says 0 'on split .test. \(4 clips\)' learn all.csv --classes some
grep -vE ',[13],validation' all.csv > lacks.csv
says 2 "lacks.csv, split 'validation': no clip of the requested classes" \
    infer lacks.csv --classes some
says 2 "lacks.csv, split 'validation': no clip of the requested classes" \
    learn lacks.csv --classes some
grep -vE ',3,test' all.csv > less.csv
says 0 'on split .test. \(2 clips\)' learn less.csv --classes some
# From 0 on the numbers are places of the folders' names.
awk -F, -v OFS=, 'NR > 1 { $2-- } 1' all.csv > named.csv
printf '0\n2\n' > places
says 0 'on split .test. \(4 clips\)' learn named.csv --classes places
says 0 '^100% +4 +100.0%' "$bin/convtt-infer" no.h5 named.csv --observe 1 \
    --classes places

# 5. A split that is typed must exist, in data without splits, too.
for of in list.txt list.h5 red red/0.ppm; do
    says 2 "$of: (no split 'test', as it has no|a pack has no) splits" infer \
        $of --split test
    says 2 "$of: .* no splits" data list $of --split test
    says 2 "$of: .* no splits" "$bin/convtt-info" --data $of m.h5 --split test
done
says 2 "list.txt: no split 'test', as it has no splits" calibrate list.txt \
    --split test
says 2 "list.txt: no split 'test'" data pack list.txt -o a.h5 --split test \
    --model m.net
for of in list.txt list.h5; do
    says 2 "$of: .* no splits" learn $of --split nosuch
    says 2 "$of: .* no splits" learn $of --val-split nosuch
    says 2 "$of: .* no splits" learn all.csv --val $of --val-split nosuch
    says 2 "$of: .* no splits" shrink $of --val-split nosuch
    says 0 'written' learn $of
    says 0 '^100% +12 ' "$bin/convtt-infer" m.h5 $of --observe 1
done
for of in all.csv all.json train.csv folder; do
    says 2 "$of: no .*nosuch" infer $of --split nosuch
    says 2 "$of: no .*nosuch" learn $of --split nosuch
    says 2 "$of: no .*nosuch" learn $of --val-split nosuch
    says 2 "$of: no .*nosuch" data list $of --split nosuch
done
says 2 "no clip of the split 'test'; the splits are 'train'" infer train.csv \
    --split test
# 6. Several labels where the training has one are noticed before the first
# step.
for split in validation test; do
    awk -F, -v OFS=, -v in_=$split '$3 == in_ && !n++ { $2 = "1|2" } 1' \
        all.csv > more.csv
    json < more.csv > more.json
    for of in more.csv more.json; do
        many="^convtt-[a-z]*: $of, split '$split': clips have several labels"
        says 2 "$many" learn $of
        grep -q '^epoch' out && fail "$of: steps before: $(cat out)"
        says 2 "$many" shrink $of
        [ -e no.h5 ] && fail "$of: compressed"
        says 1 "$of, split '$split': clips have several labels, those of " \
            data check $of
    done
done
sed 's/6.ppm 3/6.ppm 1,3/' six.txt > more.txt
says 2 'more.txt: clips have several labels' learn all.csv --test more.txt
grep -q '^epoch' out && fail "steps before: $(cat out)"

# 7. Split test is scored without validation clips, too.
says 0 'no.h5 on split .test. \(6 clips\): top-1' learn all.csv --val none
grep -q '^no.h5 written$' out || fail "$(tail -1 out)"
awk -F, 'NR == 1 || $3 == "test" || ($3 == "train" && $1 ~ /[01].ppm/)' \
    all.csv > few.csv
says 0 'no.h5 on split .test. \(6 clips\): top-1' learn few.csv
grep -q 'too few clips to hold some out' out || fail "$(cat out)"
says 0 'no.h5 on six.txt .* top-1' learn all.csv --val none --test six.txt
says 0 "no.h5 written; nothing has measured .*: there is no split 'test'" \
    learn list.txt --val none
exit $failed
