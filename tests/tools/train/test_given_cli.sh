#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_given_cli.sh: what the programs say to a file given for one of another
# kind, to options that the clips do not suit, to texts as Windows writes them,
# to lists from pipes and to a clip that is listed twice.
set -u
tools="convtt-data convtt-train convtt-compress convtt-infer convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"
data="$bin/convtt-data"
train="$bin/convtt-train"
make_clips
make_net
run='--data clips --batch 8 --threads 1'
"$train" tiny.net -o m.ctt $run --max-steps 1 --checkpoint m.ckpt > out 2>&1 ||
    { cat out; exit 1; }
"$data" pack clips -o p.h5 --model tiny.net > out 2>&1 || { cat out; exit 1; }
one=$(find clips -name '*.webm' | sort | head -1)

# 1. A file of ours for another one is named as what it is.
for given in m.ctt m.ckpt; do
    is="$given: a model or a checkpoint, not"
    says 1 "$is a pack of clips" "$data" check $given
    says 1 "$is a pack of clips" "$train" tiny.net -o a --data $given
    says 1 "$is the text of a model" "$train" $given -o a --data clips
done
is='p.h5: a pack of clips, not'
says 1 "$is a model" "$bin/convtt-infer" p.h5 clips
says 1 "$is a model" "$bin/convtt-compress" p.h5 -o a --prune 0.5
says 1 "$is a model" "$bin/convtt-info" --net p.h5
says 1 "$is a model" "$train" --init p.h5 -o a --data clips
says 1 "$is a model" "$train" -o a --data clips --resume --checkpoint p.h5
says 1 "$is the text of a model" "$train" p.h5 -o a --data clips
says 1 'm.ctt: a model without a training state, no checkpoint' "$train" -o a \
    --data clips --resume --checkpoint m.ctt
mkdir files && cp p.h5 m.ctt files
says 1 'files/p.h5: a pack of clips, not a clip; it is given by' "$data" \
    check files
grep -q '^files/m.ctt: a model or a checkpoint, not a clip$' out ||
    fail "no word of m.ctt: $(cat out)"
for special in /dev/null /dev/zero; do
    says 1 "$special: a device, not a clip, a list or a folder" limited \
        "$data" check $special
done

# 2. Options and a model that the clips do not suit are no bad clips.
infer() { "$bin/convtt-infer" m.ctt --threads 1 "$@"; }
printf '%s %s\n' "$one" 'nonsense' > other.txt
echo 'nonsense' > nonsense
printf '\0' > zero
says 2 "other.txt: class 'nonsense' is none of the model's 12" infer other.txt
says 2 "nonsense:1: no class 'nonsense' in clips" infer clips \
    --classes nonsense
says 2 'nonsense: the model was not trained with class' infer other.txt \
    --classes nonsense
says 2 'nowhere: No such file' infer clips --classes nowhere
says 2 'zero: not a text' infer clips --classes zero
says 2 'no holiday.json in it' infer clips --split holiday
says 2 'p.h5: a pack has no splits' infer p.h5 --split test
says 2 "$one: no split 'holiday', as it has no splits" infer "$one" clips \
    "$one" --split holiday
mkdir empty
says 1 'empty: no clips in it' infer "$one" empty

# 3. Texts as Windows writes them, with a byte order mark and CR LF, are the
# same texts; UTF-16 is named.
mark() { printf '\357\273\277'; sed 's/$/\r/' "$@"; }
find clips -name '*.webm' | sort | head -12 | awk '{ print $1, NR % 3 }' \
    > list.txt
printf '0\n2\n' > some
mkdir dos
cp -r clips dos
mark tiny.net > dos/tiny.net
mark list.txt | sed 's,clips,dos/clips,' > dos.txt
mark some > dos/some
for json in clips/*.json; do mark "$json" > "dos/$json"; done
for dir in . dos; do
    with="--max-steps 2 --batch 4 --threads 1"
    list=$([ $dir = . ] && echo list.txt || echo dos.txt)
    says 0 'written' "$train" $dir/tiny.net -o $dir/list.ctt --data $list \
        --classes $dir/some $with
    says 0 'written' "$train" $dir/tiny.net -o $dir/json.ctt \
        --data $dir/clips $with
done
for kind in list json; do
    cmp $kind.ctt dos/$kind.ctt || fail "CR LF makes another model of $kind"
done
for list in list.txt dos.txt; do
    cut -d ' ' -f 1 $list | tr -d '\r' | sed "$([ $list = dos.txt ] &&
        printf 's/$/\\r/')" > paths
    infer - < paths > $list.out 2> err || fail "infer - < $list: $(cat err)"
done
[ "$(wc -l < list.txt.out)" = 37 ] ||
    fail "not a heading and 36 answers: $(cat list.txt.out)"
cmp list.txt.out dos.txt.out || fail "CR LF makes other answers"
printf '\377\376i\0n\0' > wide.net
printf '\377\376i\0n\0' > wide.txt
says 1 'wide.net: a text in UTF-16, not UTF-8' "$train" wide.net -o a $run
says 1 'wide.txt: a text in UTF-16, not UTF-8' "$data" check wide.txt

# 4. A list or a choice of classes from a pipe is read once, and is the same for
# each split and set.
with="tiny.net --max-steps 2 --batch 4 --threads 1"
for source in - /dev/stdin; do
    "$train" $with -o pipe.ctt --data $source < <(cat list.txt) > out 2>&1 ||
        fail "--data $source: $(cat out)"
    grep -q "3 of 12 clips are held out, as $source has no split" out ||
        fail "--data $source: validation: $(cat out)"
done
says 0 'written' "$train" $with -o file.ctt --data list.txt
cmp file.ctt pipe.ctt || fail "a list from a pipe gives another model"
says 0 'validation: [0-9]+ clips of 2 classes' "$train" $with -o pipe.ctt \
    --data clips --classes <(printf 'Moving something up\n3\n')
"$train" $with -o pipe.ctt --data - --val /dev/stdin < <(cat list.txt) \
    > out 2>&1 && fail "two sets from one pipe: $(cat out)"
grep -q -e '--val has the same clips as the training data' out ||
    fail "one pipe is not the same twice: $(cat out)"
"$train" $with -o pipe.ctt --data - --max-steps 4 --checkpoint pipe.ckpt \
    < <(cat list.txt) > out 2>&1 || fail "$(cat out)"
"$train" $with -o pipe.ctt --data - --max-steps 9 --checkpoint pipe.ckpt \
    --resume < <(cat list.txt) > out 2>&1 || fail "resumed: $(cat out)"
grep -q '^5 steps' out || fail "a run from a pipe does not go on: $(cat out)"

# 5. Too few open files are no fault of clips: the same model, or none.
few() {     # few DESCRIPTORS FILE
    (ulimit -n "$1"
     exec "$train" tiny.net $run --max-steps 2 -j 8 -o "$2" \
         > out 2>&1 < /dev/null)
}
few 256 whole.ctt || fail "training: $(cat out)"
lacking=0
for n in 6 7 8 9 10 11 12 14 16; do
    rm -f few.ctt few.ctt.ckpt
    if few $n few.ctt; then
        cmp -s whole.ctt few.ctt || fail "$n descriptors: another model"
    else
        [ ! -e few.ctt ] || fail "$n descriptors: status 1 and a model"
        grep -q 'Too many open files' out && lacking=1
    fi
done
[ $lacking = 1 ] || fail "no run lacked descriptors: $(cat out)"

# 6. ONNX is taken where a model is: the same weights come of it.
info=$bin/convtt-info
cp whole.ctt whole.h5
"$info" --export whole.onnx whole.h5 > out 2>&1 || fail "$(cat out)"
for from in whole.h5 whole.onnx; do
    "$train" tiny.net $run --max-steps 2 --init $from --teacher $from \
        -o made.h5 > out 2>&1 < /dev/null || fail "--init $from: $(cat out)"
    grep -qE '[1-9][0-9]* of [0-9]+ weights taken' out ||
        fail "$from: $(cat out)"
    "$info" --export ${from#whole.}.safetensors made.h5 > out 2>&1 ||
        fail "$(cat out)"
done
cmp h5.safetensors onnx.safetensors || fail '--init of ONNX: other weights'
exit $failed
