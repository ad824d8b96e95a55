#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compress_cli.sh: convtt-compress as a person calls it: with and without
# clips, its report, a stop by a signal, and what it says to bad input.
set -u
tools="convtt-data convtt-train convtt-compress convtt-infer"
. "${srcdir:-.}/tests/lib/cli.sh"
compress=$bin/convtt-compress
tells() { says "$1" "$2" "$compress" "${@:3}"; }
size() { wc -c < "$1"; }
# Nothing to choose, which takes longest.
told='--prune-form any --int8 none'

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=32 kernel=3 stride=2 pad=1 bias=0
norm n in=e kind=batch
act f in=n kind=relu
convlstm h in=f hidden=16 kernel=3
pool p in=h kind=avg
conv y in=p out=12
END
make_clips
rm clips/test-answers.csv    # without it split test has no classes
common='--data clips --batch 8 --threads 1'
"$bin/convtt-train" tiny.net -o m.ctt $common --epochs 1 > out 2>&1 ||
    { cat out; exit 1; }

# 1. Without clips; what is asked is what the file has.
tells 1 'tiny.net: is there already and is no model' m.ctt -o tiny.net \
    --prune 0.5
tells 0 'n.ctt written: [0-9.]+ times smaller than m.ctt' m.ctt -o n.ctt \
    --prune 0.9 --prune-least 0 --threads 1
grep -qE '^pruned 1/1 .* 90\.[01] ' out || fail "not 90% pruned: $(cat out)"
[ "$(size n.ctt)" -lt $(($(size m.ctt) / 4)) ] || fail "n.ctt is large"
[ "$(grep -c ':$' out)" = 2 ] && grep -q '^e .* deflate' out &&
    grep -q "^rounded *$(size n.ctt) " out &&
    grep -qE '^stage +bytes +smaller +pruned % of all +of prunable +RAM' out ||
    fail "not two tables, without scores: $(cat out)"

# The score of m.ctt is not that of n.ctt.
"$bin/convtt-info" m.ctt | grep -qE '^validation +top-1 [0-9.]+%$' ||
    fail "no score: $("$bin/convtt-info" m.ctt)"
"$bin/convtt-info" n.ctt > out
grep -q '^compressed  *pruned, folded, rounded$' out ||
    fail "other stages: $(cat out)"
grep -q '^validation  *not measured since the last change' out ||
    fail "another model's score: $(cat out)"

# A model that is replaced is named; so is what stands for two files.
tells 0 '^warning: n.ctt is a model already, which will be' m.ctt -o n.ctt \
    --prune 0.9 --prune-least 0 --threads 1
tells 2 "m.ctt: given for two files; name another one" m.ctt -o m.ctt \
    --prune 0.5

# convtt-info counts the units that are kept: e.w has 32 outputs of 3x3x3.
units() {
    "$bin/convtt-info" --all "$1" | awk '$1 == "e.w" {print $6, $7, $8}'
}
[ "$(units m.ctt)" = '864 288/288 54/54' ] ||
    fail "of m.ctt are kept: $(units m.ctt)"
tells 0 'n3.ctt written' m.ctt -o n3.ctt --prune 0.5 --prune-form block \
    --prune-scope layer --prune-least 0 --fold none --threads 1
[ "$(units n3.ctt)" = '432 144/288 54/54' ] ||
    fail "of n3.ctt are kept: $(units n3.ctt)"
# 2:4: two of the 3 inputs of e stay, and half of the others'; retrained, too,
# and written and read again.
tells 2 '2:4 takes half of the weights, not 0.6: --prune 0.5' m.ctt -o n3.ctt \
    --prune 0.6 --prune-form 2:4
tells 0 'n3.ctt written' m.ctt -o n3.ctt --prune 0.5 --prune-form 2:4 \
    --prune-least 0 --threads 1
[ "$(units n3.ctt)" = '576 288/288 54/54' ] ||
    fail "of n3.ctt are kept: $(units n3.ctt)"
tells 0 'n3.ctt written' m.ctt -o n3.ctt $common --prune 0.5 --prune-least 9 \
    --prune-form 2:4 --int8 none --retrain-epochs 1 --prune-steps 4
[ "$(units n3.ctt)" = '576 288/288 54/54' ] &&
    "$bin/convtt-info" --all n3.ctt > out &&
    awk '$1 ~ /^h\.zx?\.w/ && $6 * 2 == $5 {found++}
        END {exit found != 2}' out || fail "not 2:4: $(cat out)"
"$bin/convtt-info" --all n3.ctt | grep -q 'two of each 4 inputs' ||
    fail "its history does not say 2:4"
rm n3.ctt
tells 0 'in\|kh\|kw\|out +4,4,4' m.ctt -o t.ctt --tt-rank 4 --tt-least 0 \
    --tt-except 'e,y' --threads 1
grep -qE '^e .* excepted' out || fail "e is not excepted: $(cat out)"
tells 0 'in\|kh kw\|out' m.ctt -o w.ctt --tt-tol 0.6 --tt-form window \
    --tt-least 0 --threads 1
tells 0 'in kh kw\|out +3 ' m.ctt -o v.ctt --svd-rank 3 --svd-least 0 \
    --svd-except 'e,y' --threads 1
grep -qE '^e .* excepted' out || fail "e is not excepted: $(cat out)"
tells 0 'v.ctt' m.ctt -o v.ctt --svd-energy 0.5 --svd-least 0 --threads 1
tells 0 'v.ctt written' m.ctt -o v.ctt --svd-macs 0.5 --svd-least 0 --threads 1
# What is chosen by times is not the same each time.
responses='--data clips --calibrate 5 --retrain-epochs 0 --threads 1
           --choose-by rules'
for file in v v2; do
    tells 0 "$file.ctt written" m.ctt -o $file.ctt --svd-rank 3 --svd-least 0 \
        --svd-on responses $responses
    grep -qE '^e .*out +3 ' out || fail "e is not factorised: $(cat out)"
done
cmp v.ctt v2.ctt || fail "the same command wrote another file"
for file in t1 t2; do
    tells 0 'in\|kh\|kw\|out +4,4,4 .*error of its results' m.ctt -o $file.ctt \
        --tt-rank 4 --tt-least 0 --tt-on responses $responses
done
cmp t1.ctt t2.ctt || fail "the same command wrote another file"

# Without its norm the model answers the same, and may be trained, compressed
# and answered with further; --fold alone is worth a run.
top1() { "$bin/convtt-infer" --threads 1 "$1" clips 2> err | grep -i top-1; }
tells 0 'f.ctt written' m.ctt -o f.ctt --fold all --bias-bits 0 --round 24 \
    --threads 1
"$bin/convtt-info" --all f.ctt > out 2>&1
grep -q '^norm ' out && fail "a norm is left: $(cat out)"
grep -q 'folded: 1 norms, 0 dead' out || fail "$(cat out)"
[ "$(top1 m.ctt)" = "$(top1 f.ctt)" ] && [ -n "$(top1 f.ctt)" ] ||
    fail "f.ctt answers $(top1 f.ctt), m.ctt $(top1 m.ctt)"
"$bin/convtt-train" --init f.ctt -o g.ctt $common --epochs 1 > out 2>&1 ||
    fail "not trained further: $(cat out)"
tells 0 '^folded: no change' g.ctt -o h.ctt $common $told --prune 0.5 \
    --prune-least 9 --retrain-epochs 2
[ -n "$(top1 h.ctt)" ] || fail "h.ctt does not answer: $(cat err)"
tells 0 'x.ctt written' m.ctt -o x.ctt --prune 0.5 --fold none --threads 1
grep -q '^folded' out && fail "folded, though told not to"

# agrees MODEL OUTPUT: convtt-infer answers as the last row of the report says.
agrees() {
    local says does
    says=$(sed -n 's|^rounded .* \([0-9.]*/[0-9.]*/[0-9.]*\) .*|\1|p' "$2")
    "$bin/convtt-infer" --threads 1 "$1" clips > answers 2>&1 ||
        fail "infer: $(cat answers)"
    does=$(sed -n 's/^\(25\|50\|100\)% *[0-9]* *\([0-9.]*\)%.*/\2/p' answers |
        paste -sd/)
    [ -n "$does" ] && [ "$says" = "$does" ] ||
        fail "top-1 of $1 is $does, the report says $says"
}

# 2. Both, with retraining and a report.
tells 0 'c.ctt written' m.ctt -o c.ctt $common --prune 0.8 --tt-rank 4 \
    --tt-least 2000 --prune-least 9 --prune-rounds 2 --retrain-epochs 4 \
    --report c.json
for stage in 'original' 'tensor trains' 'pruned 1/2' 'pruned 2/2' 'folded' \
        'rounded'; do
    grep -qE "^$stage  .*[0-9]/[0-9]+\.[0-9]/[0-9]" out ||
        fail "no accuracy of '$stage': $(cat out)"
    grep -q "\"stage\": \"$stage\"" c.json || fail "'$stage' is not in c.json"
done
[ "$(grep -cE ': epoch [0-9]+/' out)" = 4 ] || fail "not 4 epochs: $(cat out)"
grep -q "\"bytes\": $(size c.ctt)," c.json || fail "c.json has other bytes"
grep -qE '"pruned 1/2".*"clips": 12, "top1_95": .*"mcnemar_p": [0-9]' c.json ||
    fail "no test of accuracy in c.json: $(cat c.json)"
grep -qE '^original +- +([0-9.]+/){2}[0-9.]+ +([0-9.]+-[0-9.]+ +){3}- +- +-$' \
    out || fail "no confidence intervals: $(cat out)"
agrees c.ctt out
ls ./*.tmp 2> /dev/null && fail "files are left"

grep -qE '"weight": "h.z",.*"bits_a_weight": [1-9].*"over_entropy": [1-9]' \
    c.json || fail "no entropy in c.json: $(cat c.json)"

# Choices: measured, by a rule, for bytes, which need no time; what is given
# stays.
sed -n '/"choices":/,/^ "clips"/p' c.json > list
timed='"of": "pattern and type", .*"ms_a_frame": ([0-9.]+|null)'    # busy
[ "$(grep -cE "$timed" list)" = 4 ] ||
    fail "not four candidates are timed: $(cat list)"
[ "$(grep -c '"of": "pattern.*"chosen": true' list)" = 1 ] ||
    fail "not one is chosen: $(cat list)"
grep -q '"of": "all weights", "candidate": "tensor trains"' list ||
    fail "no time of tensor trains: $(cat list)"
grep -qE '^chosen for size and speed: (any|block), (floats|int8)' out ||
    fail "no word of the choice: $(cat out)"
small="$common --prune 0.8 --prune-least 9 --prune-rounds 1 --retrain-epochs 1"
tells 0 '^chosen by rule: block, int8$' m.ctt -o rule.ctt $small \
    --choose-by rules
"$bin/convtt-info" --all rule.ctt > info 2>&1
grep -q 'chosen by rule: block, int8' info || fail "no history: $(cat info)"
grep -qE '^conv .*in=[a-z0-9.]*q8' info || fail "no bytes: $(cat info)"
tells 0 'rule.ctt written' m.ctt -o rule.ctt $small --device ref --int8 none \
    --report rule.json
grep -qE '^pattern and type +any, floats +(- +){4}chosen$' out ||
    fail "on ref: $(cat out)"
tells 0 'rule.ctt written' m.ctt -o rule.ctt $small --prune-form row \
    --int8 none
grep -q '^choices' out && fail "what was given is chosen: $(cat out)"
"$bin/convtt-info" --all rule.ctt > info 2>&1
grep -q 'in rows of 16 outputs' info || fail "no rows: $(cat info)"
for file in b1 b2; do
    tells 0 "$file.ctt written" m.ctt -o $file.ctt $small --for bytes \
        --choose-by rules --report $file.json
done
cmp b1.ctt b2.ctt || fail "the same command wrote another file"
grep -qE '"of": "pattern and type", .*"bytes": [0-9]+, "ms_a_frame": null' \
    b1.json || fail "no bytes: $(cat b1.json)"

# 3. Stopped by signals in each stage that retrains: --resume goes on, and the
# file is that of the whole run, byte by byte.  tests/fault/test_faults.sh does
# so at each write of a smaller run.  A sample has fewer epochs and signals.
epochs=9 signals='TERM thinned 2/2: epoch 1
TERM SVD: epoch 1
KILL tensor trains: top-1
KILL pruned: epoch 1
TERM pruned: epoch 3
KILL shared: top-1
TERM shared: epoch 1'
[ "${CTT_CHECK_EVERY:-1}" -lt 9 ] || epochs=3 signals='TERM SVD: epoch 1
KILL pruned: epoch 1
TERM shared: epoch 1'
work="$common --thin 0.25 --thin-rounds 2 --thin-score response
      --thin-multiple 1 --svd-rank 4 --svd-least 200 --svd-except h.z,h.zx
      --tt-rank 4 --tt-least 2000 --prune 0.8 --prune-least 9 --share 3
      --share-least 9 --share-epochs 2 --retrain-epochs $epochs
      --checkpoint-every 2 --amp O1 --amp-type bf16 --choose-by rules"
"$compress" m.ctt -o whole.ctt $work > whole.out 2>&1 || fail "$(cat whole.out)"
grep -qE '^pruned  .* 80\.[0-9] ' whole.out ||
    fail "not pruned in steps to 80%: $(cat whole.out)"
for stage in 'thinned 1/2' 'thinned 2/2' SVD 'tensor trains' pruned folded \
        shared rounded; do
    grep -q "^$stage  " whole.out || fail "no '$stage': $(cat whole.out)"
done
agrees whole.ctt whole.out
[ ! -e whole.ctt.ckpt ] || fail "the checkpoint of a finished run stays"
grep -qE '^pruned: loss scale 1, 0 steps skipped' whole.out ||
    fail "no word of the loss scale: $(cat whole.out)"
# start LINE ARGS: runs in the background until it has said this.
start() {
    local until=$1
    shift
    : > out    # a signal before the program runs would end a copy of this shell
    "$compress" m.ctt -o s.ctt $work "$@" > out 2> err < /dev/null & pid=$!
    for i in $(seq "$ticks"); do
        grep -q "^$until" out && break
        kill -0 $pid 2> /dev/null || break
        sleep 0.01
    done
}
stops=0 resume= round=0
while read -r signal until; do
    round=$((round + 1))
    start "$until" $resume
    kill -$signal $pid 2> /dev/null
    wait $pid 2> /dev/null
    case $? in
    0) break ;;
    1) grep -q 'stopped; --resume continues from s.ctt.ckpt$' err ||
           fail "stopped: $(cat err)"
       stops=$((stops + 1)) ;;
    137) stops=$((stops + 1)) ;;
    *) fail "stopped in $until: $(cat err)" ;;
    esac
    [ -e s.ctt ] && fail "a stopped run leaves a model"
    [ -e s.ctt.ckpt ] || fail "a stopped run leaves no checkpoint"
    if [ $round = 1 ]; then
        tells 1 's.ctt.ckpt: .*with --lr=0.001$' m.ctt -o s.ctt $work \
            --lr 0.01 --resume
        tells 1 'the checkpoint was made with other settings' m.ctt -o s.ctt \
            $work --round 9 --resume
        tells 1 'the checkpoint was made from another model' t.ctt -o s.ctt \
            $work --resume
        # As many clips of the same names, but two classes are exchanged.
        cp -r clips turned
        sed -i 's/\(Moving .something.\) up"/\1 Q"/
                s/\(Moving .something.\) down"/\1 up"/
                s/\(Moving .something.\) Q"/\1 down"/' \
            turned/train.json turned/validation.json
        for with in '--data turned --val clips' \
                '--data clips --val turned'; do
            tells 1 'turned: not the clips of the checkpoint' m.ctt -o s.ctt \
                ${work/--data clips/$with} --resume
        done
        says 1 'the checkpoint is of convtt-compress' "$bin/convtt-train" \
            -o t.ctt --resume --checkpoint s.ctt.ckpt $common --epochs 1
    fi
    resume=--resume
done <<< "$signals"
[ -e s.ctt ] || "$compress" m.ctt -o s.ctt $work --resume > out 2>&1 ||
    fail "resumed: $(cat out)"
[ $stops -gt $((round / 2)) ] || fail "only $stops runs were stopped in time"
cmp -s whole.ctt s.ctt || fail "a resumed run gives another file"
[ ! -e s.ctt.ckpt ] || fail "the checkpoint stays"
# Without what is measured: memory, which malloc rounds, and time, with the word
# that it could not be.
times='([0-9.]+ +[0-9.]+x|busy +busy) *$'
rows() {
    sed -n '/^stage /,/^$/p' "$1" | sed -E "/^busy: /d; s/ [0-9]+ +$times//"
}
grep -qE "^rounded .* [0-9]{3,} +$times" whole.out ||
    fail "no memory or time: $(cat whole.out)"
diff <(rows whole.out | sed 's/  */ /g') <(rows out | sed 's/  */ /g') ||
    fail "a resumed run gives another table"
"$compress" m.ctt -o early.ctt $common --prune 0.8 > out 2> err < /dev/null &
pid=$!
sleep 0.05    # before anything was retrained, there is nothing to go on from
kill -TERM $pid
wait $pid && fail "a stopped run says it is done"
[ -e early.ctt ] && fail "a stopped run leaves a model"

# 4. What validation chose flatters; split test, where it has classes, does not.
grep -q "nothing else is held out: there is no split 'test' with" whole.out ||
    fail "no warning"
mkdir sorted
for split in train validation test; do
    for class in up down; do
        mkdir -p sorted/$split/$class
    done
done
i=0
for clip in clips/*/*.webm; do
    set -- train/up validation/down test/up train/down validation/up test/down
    shift $((i % 6))
    cp "$clip" "sorted/$1/$i.webm"
    i=$((i + 1))
done
"$bin/convtt-train" tiny.net -o two.ctt --data sorted --epochs 1 --threads 1 \
    > out 2>&1 || fail "$(cat out)"
grep -qE "^two.ctt on split 'test' \(20 clips\): top-1 [0-9.]+%," out ||
    fail "no test split: $(cat out)"
says_written='written: top-1 .*; they chose the epoch, .* split .test. do not'
grep -qE "$says_written" out ||
    fail "no word of the choice: $(cat out)"
tells 0 "^ *20 +sorted +test +proof" two.ctt -o small.ctt --data sorted \
    $told --prune 0.5 --prune-least 9 --retrain-epochs 2 --threads 1 \
    --report p.json
grep -qE '^ *[0-9]+ +sorted +train +training' out || fail "no training clips"
grep -qE '^ *[0-9]+ +sorted +validation +choice' out || fail "no choice clips"
# proof MODEL ROW: what convtt-infer says of these clips is in the table.
proof() {
    local top=$("$bin/convtt-infer" --threads 1 --split test $1 sorted 2> err |
        awk '/^[0-9]+% / { printf "%s%s", s, $3; s = "/" }' |
        tr -d %)
    grep -qE "^$2 +$top +([0-9.]+-[0-9.]+ +){3}" out ||
        fail "no proof of $1: '$top' $(cat out err)"
}
proof two.ctt 'original'
proof small.ctt compressed
grep -q '"model": "compressed", "top1": .*"mcnemar_p"' p.json ||
    fail "no proof in p.json: $(cat p.json)"
grep -q '"choice", "path": "sorted", "split": "validation", "clips": 20' \
    p.json || fail "no choice in p.json: $(cat p.json)"

# A signal while it is measured stops nothing: all is written.
tiny="--data sorted $told --prune 0.5 --prune-least 9 --retrain-epochs 1
    --threads 1"
rm -f small.ctt out
"$compress" two.ctt -o small.ctt $tiny > out 2> err < /dev/null & pid=$!
for i in $(seq "$ticks"); do
    grep -q 'it flatters' out && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.01
done
kill -TERM $pid 2> /dev/null
wait $pid || fail "a signal after all was written: status $? $(cat err)"
[ -e small.ctt ] || fail "no model after a signal at the end"
grep -q '^compressed ' out || fail "it stopped at the signal"
# A split that cannot be read is not one that does not exist; the same clip in
# training and validation is noticed.
echo nothing > sorted/test/up/bad.webm
set -- sorted/train/up/*.webm
cp "$1" sorted/validation/up/same.webm
tells 0 "split 'test' cannot be read" two.ctt -o small.ctt $tiny --strict
cat out err > all 2> /dev/null
grep -q "split 'test': .*bad.webm" all || fail "no reason: $(cat all)"
grep -q "no split 'test'" all && fail "'test' is there"
grep -qE '1 validation clip is also in the training data.*same.webm' all ||
    fail "the same clip is not noticed: $(cat all)"

# 5. Pruning what is pruned more already; a file that became larger.
tells 2 'nothing to prune: 90.* of the prunable weights are pruned already' \
    n.ctt -o less.ctt --prune 0.5 --prune-least 0
[ ! -e less.ctt ] || fail "a file without a change is written"
tells 0 'more than the [0-9]* of n.ctt' n.ctt -o less.ctt $common \
    --prune 0.901 --prune-least 0 --prune-rounds 1 --round 24 \
    --retrain-epochs 1
"$bin/convtt-info" --all n.ctt > out 2>&1
grep -qE '^ *pruned 1/1: 90.0[0-9]% of all convolution weights, 90.0' out ||
    fail "the history says something else: $(grep pruned out)"

# The teacher's answers and the clips of norms make a difference.
rm -f tried.*
set -- '' '--distil 0' '--self-distil 0.3' '--teacher tried.' '--fold none' \
    '--fold none --norm-clips 0'
[ "${CTT_CHECK_EVERY:-1}" -lt 9 ] || set -- '' '--teacher tried.'
for with in "$@"; do
    tells 0 'small.ctt written' two.ctt -o small.ctt $tiny \
        $with
    for other in tried.*; do
        cmp -s small.ctt "$other" && fail "'$with' makes no difference"
    done
    cp small.ctt "tried.${with// /}"
done

# Until accuracy is back, or the limit; rates of the model's own training.
tells 0 'after [0-9]+ epochs of retraining' two.ctt -o small.ctt --data sorted \
    $told --prune 0.5 --prune-least 9 --threads 1 --retrain-epochs auto \
    --retrain-limit 12 --retrain-schedule rewind
grep -qE 'warning: [0-9]+ validation clips: a loss below [0-9]+ points' err ||
    fail "no warning of few validation clips: $(cat err)"
"$bin/convtt-info" --all small.ctt > all 2>&1
grep -qE '^ *train clips=[0-9]+ .* epochs=12 ' all || fail "history: $(cat all)"

# 6. Sharing: values that are few, stay so when they are trained, and are not
# shared again; what would undo a stage is refused.
tells 0 's.ctt written' m.ctt -o s.ctt $common --prune 0.8 --prune-least 9 \
    --prune-form any --int8 none --prune-rounds 1 \
    --share 2,e=auto --share-least 2 --share-epochs 1 \
    --retrain-epochs 1
"$bin/convtt-info" --all s.ctt > out 2>&1
grep -qE '^e\.w .* codebook' out || fail "no codebook: $(cat out)"
"$bin/convtt-info" --net s.ctt > s.net
"$bin/convtt-train" s.net --init s.ctt -o s2.ctt --data clips --epochs 1 \
    > out 2>&1 ||
    fail "a shared model is not trained further: $(cat out)"
"$bin/convtt-info" --all s2.ctt > out 2>&1
grep -qE '^e\.w .* codebook' out || fail "training unshared it: $(cat out)"
for bad in 0 9 x 3,e=0; do
    tells 2 "is not 1 to 8 bits" m.ctt -o a --share $bad
done
tells 2 'share values already' s.ctt -o a --share 3
"$compress" m.ctt -o u.ctt --fold none --share 2 --threads 1 > out 2>&1 ||
    fail "$(cat out)"
tells 2 'cannot be folded into shared weights: fold before sharing' u.ctt \
    -o a --fold all
tells 0 '^folded: no change' u.ctt -o u2.ctt --prune 0.5 --threads 1
"$bin/convtt-info" --all u2.ctt | grep -qE '^e\.w .* codebook' ||
    fail "folding unshared it"
tells 2 'is pruned or shared' s.ctt -o a --tt-rank 2 --tt-least 0
tells 2 'is pruned or shared' s.ctt -o a --svd-rank 2 --svd-least 0
says 1 'is for dense models, and this one is pruned or shared' \
    "$bin/convtt-train" s.net --init u.ctt -o a --data clips --dsd 0.3
[ ! -e a ] || fail "what was refused is written"

# 7. Bad input: one line, the right status, and nothing written.
cp m.ctt m2.ctt
for with in '--data sorted' '--data clips --val sorted' '--val sorted'; do
    tells 2 "sorted, split '[a-z]*': class '[a-z]*' is none of the model's 12" \
        m.ctt -o bad --share 3 --report bad.json $with
done
tells 2 "is not 1 to 8 bits" m.ctt -o bad --share 0 --report bad.json \
    --data clips
tells 2 'share values already' s.ctt -o bad --share 3 --report bad.json \
    --data clips
ls bad* 2> /dev/null && fail "bad input wrote a file"
tells 2 'no model given' -o a --prune 0.5
tells 2 'one model expected' m.ctt m.ctt -o a --prune 0.5
tells 2 '-o OUT must be given' m.ctt --prune 0.5
tells 2 'nothing to do' m.ctt -o a
tells 2 '--round excludes --half' m.ctt -o a --half --round 9
tells 0 'half.ctt written' m.ctt -o half.ctt --half
[ $((100 * $(wc -c < half.ctt))) -lt $((60 * $(wc -c < m.ctt))) ] ||
    fail "--half is no half: $(wc -c m.ctt half.ctt)"
# A part that runs on demand has one place a clip.
sed -e '/^conv y/i clip\nwindow v in=p steps=1' \
    -e 's/^conv y in=p/conv y in=v/' tiny.net > once.net
"$bin/convtt-train" once.net -o once.ctt --data clips --batch 4 --threads 1 \
    --max-steps 1 > out 2>&1 || fail "$(cat out)"
tells 1 'too few: give --calibrate more clips' once.ctt -o bad --data clips \
    --retrain-epochs 0 --svd-rank 2 --svd-on responses --svd-least 1 \
    --svd-except 'e,h*' --calibrate 1 --threads 1
tells 2 'unknown option .--prone' m.ctt -o a --prone 0.5
tells 2 "prune: bad value '1'" m.ctt -o a --prune 1
tells 2 'tt-rank: bad value' m.ctt -o a --tt-rank -1
tells 2 "thin: bad value '1'" m.ctt -o a --thin 1
tells 2 '--thin-rounds requires --thin' m.ctt -o a --prune 0.5 \
    --thin-rounds 2
tells 2 '--thin-score requires .*--data' m.ctt -o a --thin 0.5 \
    --thin-score response
tells 2 'no weight matches .q' m.ctt -o a --thin 0.5 --thin-except q
tells 2 'no channel to remove' m.ctt -o a --thin 0.5 --thin-except '*'
tells 2 'svd-energy: bad value' m.ctt -o a --svd-energy 1
tells 2 '--svd-except requires --svd-rank' m.ctt -o a --prune 0.5 \
    --svd-except e
tells 2 '--svd-on requires .*--data' m.ctt -o a --svd-rank 2 \
    --svd-on responses
tells 2 'excludes --svd-rank' m.ctt -o a --svd-rank 2 --svd-macs 0.5
tells 2 '--tt-on requires .*--data' m.ctt -o a --tt-rank 2 --tt-on responses
tells 2 '--calibrate requires --data' m.ctt -o a --svd-rank 2 \
    --calibrate 3
tells 2 'prune-scope: no choice' m.ctt -o a --prune-scope all
tells 2 'requires --data' m.ctt -o a --prune 0.5 --retrain-epochs 3
tells 2 'for: no choice' m.ctt -o a --prune 0.5 --for speed
tells 2 '--for requires --budget or --prune-form=auto or --int8=auto' m.ctt \
    -o a --svd-rank 4 --prune 0.5 --prune-form any --int8 none --for ms
# --for ms where nothing is timed.
for untimed in '--choose-by rules' '--device ref'; do
    tells 2 '--for=ms requires times' m.ctt -o a --tt-rank 2 $untimed --for ms
done
# --for where nothing is left to choose.
for nothing in '--prune 0.5' '--svd-rank 4' "$common --share 4" \
        "$common --thin 0.5 --int8 none" "$common --thin 0.5 --half" \
        "--data clips --prune 0.5 --int8 none --retrain-epochs 0"; do
    # shellcheck disable=SC2086
    tells 2 '--for requires something to choose' m.ctt -o a $nothing --for ms
done
tells 2 '--prune-scope requires --prune' m.ctt -o a --tt-rank 4 \
    --prune-scope layer
tells 2 '--tt-form requires --tt-rank or --tt-tol' m.ctt -o a --prune 0.5 \
    --tt-form pair
for with in '--share 4 -o a' --sense '--explain --dense m.ctt'; do
    tells 2 '--val=none: models are compared on' m.ctt --data clips \
        --val none $with
done
"$bin/convtt-compress" --help=all | grep -A3 -- '^ .*--val=' |
    grep -q 'none' && fail '--val none in the help'
tells 2 '--tt-harm requires --data or --val' m.ctt -o a --tt-rank 4 --tt-harm 1
tells 2 'retrain-epochs: bad value .x' m.ctt -o a --prune 0.5 --data clips \
    --retrain-epochs x
tells 2 '--retrain-limit requires --retrain-epochs=auto' m.ctt -o a \
    --data clips --prune 0.5 --retrain-limit 30 --retrain-epochs 30
tells 2 'retrain-limit=3: auto begins with 12' m.ctt -o a --data clips \
    --prune 0.5 --retrain-limit 3 --retrain-epochs auto
tells 2 '--lr: --retrain-schedule=rewind takes it' m.ctt -o a --data clips \
    --prune 0.5 --retrain-schedule rewind --lr 0.1
tells 2 '--prune-steps requires --prune-rounds=0' \
    m.ctt -o a --prune 0.5 --prune-rounds 2 --prune-steps 3
tells 2 'a bias is rounded to 2 to 8 bits, not to 1' m.ctt -o a --prune 0.5 \
    --bias-bits 1
tells 2 "bias-bits: bad value '9'" m.ctt -o a --prune 0.5 --bias-bits 9
tells 2 'norm-clips: bad value' m.ctt -o a --prune 0.5 --data clips \
    --norm-clips -1
tells 2 'norm-clips requires --data' m.ctt -o a --prune 0.5 --norm-clips 3
tells 2 'distil: bad value' m.ctt -o a --prune 0.5 --data clips --distil 1.5
tells 2 'no weight to prune: none has 4096' two.ctt -o a --prune 0.5 \
    --prune-least 4096 --prune-except 'e,h*'
tells 2 'fold: no choice' m.ctt -o a --prune 0.5 --fold most
tells 2 '--lr requires retraining' m.ctt -o a --prune 0.5 --lr 0.1
tells 2 '--resume requires retraining' m.ctt -o a --prune 0.5 --resume
tells 2 '--prune-steps requires retraining' m.ctt -o a --prune 0.5 \
    --prune-steps 3
tells 2 '--share-epochs requires retraining' m.ctt -o a --share 3 \
    --share-epochs 1 --data clips --retrain-epochs 0
tells 2 '--cache requires --data or --val' m.ctt -o a --prune 0.5 --cache 3
tells 2 "--amp-allow: 'q' is no op" m.ctt -o a --prune 0.5 --data nothere \
    --amp O1 --amp-allow q
# The model as given stays, whatever name it goes by.
ln m.ctt hard.ctt
ln -s m.ctt soft.ctt
for name in m.ctt "$PWD/m.ctt" hard.ctt soft.ctt; do
    tells 2 '[a-z]*.ctt: given for two files' m.ctt -o "$name" --prune 0.5
    tells 2 '[a-z]*.ctt: given for two files' m.ctt -o a --prune 0.5 \
        --report "$name"
done
cmp m.ctt m2.ctt || fail "the model that was given has changed"
says 1 '^convtt-compress: device cuda' env CTT_MODULES=/nowhere \
    "$compress" m.ctt -o a --prune 0.5 --data nothere \
    --device cuda
tells 1 '^convtt-compress: /nowhere/r' m.ctt -o a --prune 0.5 --data nothere \
    --report /nowhere/r
tells 1 'a.ckpt: ' m.ctt -o a --prune 0.5 --data clips --resume
tells 1 'm2.ctt: no checkpoint of convtt-compress' m.ctt -o a --prune 0.5 \
    --data clips --resume --checkpoint m2.ctt
tells 1 'nothere' nothere -o a --prune 0.5
tells 1 'tiny.net' tiny.net -o a --prune 0.5
tells 1 'nothere' m.ctt -o a --prune 0.5 --data nothere
tells 2 "no weight matches 'z" m.ctt -o a --prune 0.5 --prune-except 'z*'
tells 1 '/nowhere/a' m.ctt -o /nowhere/a --prune 0.5
tells 0 '^Usage: ' --help
tells 0 '^convtt [0-9]' --version
[ $failed = 0 ] && echo "the compressor does as it is told"
exit $failed
