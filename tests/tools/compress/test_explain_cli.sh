#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_explain_cli.sh: convtt-compress --explain measures what each thing that
# was done to a compressed model costs, goes on from its log, and refuses what
# has no effect and models that do not belong together.
set -u
tools="convtt-compress convtt-data convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
compress=$bin/convtt-compress

make_clips
make_conv 8 4
mv m.h5 d.h5
says 0 's.h5 written' "$compress" d.h5 -o s.h5 --data clips --threads 1 \
    --prune 0.6 --prune-least 1 --share 3 --share-least 1 --share-except y \
    --int8 mse --int8-slow --int8-except y --retrain-epochs 1 \
    --choose-by rules
cp s.h5 given.h5
explain="--explain s.h5 --dense d.h5 --data clips --threads 1 --choose-by rules"
two="$explain --explain-steps 2"

# 1. What is refused writes nothing.
says 2 'explain requires --dense' "$compress" --explain s.h5 --data clips
says 2 'dense requires --explain' "$compress" s.h5 -o a.h5 --prune 0.5 \
    --dense d.h5
says 2 'explain-csv requires --explain' "$compress" s.h5 -o a.h5 --prune 0.5 \
    --explain-csv a.csv
says 2 'explain requires --data' "$compress" --explain s.h5 --dense d.h5
says 2 'explain requires --data' "$compress" --explain s.h5 --dense d.h5 \
    --val clips
for o in -o=a.h5 --prune=0.5 --tt-rank=8 --int8=mse --report=r --sense-kl=1 \
    --retrain-epochs=3 --checkpoint=c --resume --norm-clips=3 --for=ms \
    --teacher=d.h5 --warmup=1 --budget=bytes=2k; do
    says 2 'has no effect with --explain' "$compress" $two ${o/=/ }
done
for o in --lr=0.1 --batch=4 --distil=0.5 --augment=strong; do
    says 2 'has no effect with --explain --explain-steps=0' "$compress" \
        $explain --explain-steps 0 ${o/=/ }
done
says 2 'has no effect with --sense' "$compress" $two --sense
says 2 'explain-steps' "$compress" $explain --explain-steps -1
says 2 'given for two files' "$compress" $two --explain-log a --explain-csv a
says 2 's.h5' "$compress" $two --explain-csv s.h5
says 2 'd.h5' "$compress" $two --report-html d.h5
echo 'my own words' > words
cp words kept
says 1 'words: .*' "$compress" $two --explain-log words
says 1 'words: .*' "$compress" $two --report-html words
cmp words kept || fail 'a file of the user was changed'

# Models that do not belong together.
says 2 'd.h5 against d.h5: nothing was done' "$compress" --explain d.h5 \
    --dense d.h5 --data clips
for o in d.h5 s.h5; do
    says 2 's.h5: is pruned, shared or quantised: --explain needs the dense' \
        "$compress" --explain $o --dense s.h5 --data clips
done
make_net
says 0 'o.h5 written' "$bin/convtt-train" tiny.net --data clips --batch 8 \
    --threads 1 --max-steps 2 -o o.h5
says 2 's.h5 against o.h5: the dense one has a weight h' "$compress" \
    --explain s.h5 --dense o.h5 --data clips
sed 's/out=8 kernel=3 stride=2/out=8 kernel=5 stride=2/; /convlstm/d;
    s/in=h /in=f /' tiny.net > k.net
says 0 'o.h5 written' "$bin/convtt-train" k.net --data clips --batch 8 \
    --threads 1 --max-steps 2 -o o.h5
says 2 's.h5 against o.h5: e is another conv' "$compress" --explain s.h5 \
    --dense o.h5 --data clips
says 1 'nosuch.h5' "$compress" --explain s.h5 --dense nosuch.h5 --data clips
ls > now
grep -qE '^a|jsonl' now && fail "files of what was refused: $(cat now)"

# 2. A row for each thing that was done to each weight, and the files.
says 0 '[0-9]+ results in s.h5.explain.jsonl' "$compress" $two \
    --explain-csv e.csv --report-html e.html
rows=$(grep -oE '^[0-9]+ results' out | cut -d' ' -f1)
for what in pruning sharing int8 everything; do
    grep -qE "^e +$what +-?[0-9.]+ \+-[0-9.]+ +-?[0-9.]+ \+-[0-9.]+ " out ||
        fail "no row of e, $what"
done
grep -qE '^y +(pruning|rounding) ' out || fail 'no row of y'
grep -qE '^all weights +everything ' out || fail 'not all together'
grep -q 'trained for 2 steps' out || fail 'not trained'
[ "$(wc -l < e.csv)" = $((rows + 1)) ] || fail "$(wc -l < e.csv) lines of CSV"
awk -F, 'NR > 1 && NF < 25 { exit 1 }' e.csv || fail 'CSV lacks columns'
awk -F, '$2 == "int8" && $1 == "e" && $3 == "" { exit 1 }' e.csv ||
    fail 'INT8 was not measured'
[ "$(wc -l < s.h5.explain.jsonl)" = $((rows + 1)) ] || fail 'lines of the log'
grep -q '>e, pruning</th><td>' e.html || fail 'no page'
cmp s.h5 given.h5 || fail 'the model was changed'

# 3. All is known: nothing is measured, and the table is the same.
says 0 "$rows of $rows results are in s.h5.explain.jsonl already" \
    "$compress" $two --explain-csv again.csv
cmp e.csv again.csv || fail 'known results differ'

# 4. Killed anywhere it goes on, with the same result; half a line is cut.
for k in 1 5; do
    head -n $k s.h5.explain.jsonl > k.jsonl
    printf '{"weight":"e","wha' >> k.jsonl
    says 0 "$rows results in k.jsonl" "$compress" $two \
        --explain-log k.jsonl --explain-csv k.csv
    cmp e.csv k.csv || fail "other results after line $k"
    cmp s.h5.explain.jsonl k.jsonl || fail "another log after line $k"
done
"$compress" $two --explain-log i.jsonl > /dev/null 2>&1 &
while [ "$(wc -l 2> /dev/null < i.jsonl || echo 0)" -lt 3 ] &&
    kill -0 $! 2> /dev/null; do
    sleep 0.02
done
kill -9 $! 2> /dev/null
wait $! 2> /dev/null
says 0 "$rows results in i.jsonl" "$compress" $two --explain-log i.jsonl \
    --explain-csv k.csv
cmp e.csv k.csv || fail 'other results after kill -9'
"$compress" $two --explain-log t.jsonl > out 2> err &
while [ "$(wc -l 2> /dev/null < t.jsonl || echo 0)" -lt 3 ] &&
    kill -0 $! 2> /dev/null; do
    sleep 0.02
done
kill $! 2> /dev/null
wait $!
case $? in
0) ;;    # it was faster
1) grep -q 'stopped; the same command goes on from t.jsonl' err &&
       [ "$(wc -l < err)" = 1 ] || fail "stopped: $(cat err)" ;;
*) fail "stopped: status $?: $(cat err)" ;;
esac

# Times that differ too much are no ratio.
sed 's/"faster":[^,]*,"busy":[01]/"faster":null,"busy":1/' s.h5.explain.jsonl \
    > busy.jsonl
says 0 ' busy$' "$compress" $two --explain-log busy.jsonl

# 5. Logs of something else.
for word in model dense how clips; do
    sed "1s/\"$word\":\"......../\"$word\":\"00000000/" s.h5.explain.jsonl \
        > o.jsonl
    says 2 'o.jsonl: is of other models' "$compress" $two \
        --explain-log o.jsonl
done
for s in 's/"bytes"/"bytez"/' 's/}$//' 's/"back":\[/"back":[nan,/' 's/,/;/'; do
    sed "4$s" s.h5.explain.jsonl > d.jsonl
    says 2 'd.jsonl:4: is no result of --explain' "$compress" $two \
        --explain-log d.jsonl
done
says 2 'of other models, clips, settings' "$compress" $explain \
    --explain-steps 3
says 2 'of other models, clips, settings' "$compress" $two --lr 0.01
says 1 'is no log of|s.h5.explain.jsonl' "$compress" --sense s.h5 \
    --data clips --sense-log s.h5.explain.jsonl

# 6. Values put back, without training and without training clips.
says 0 'results in b.jsonl' "$compress" $explain --explain-steps 0 \
    --explain-log b.jsonl --explain-csv b.csv
grep -q 'nothing trained' out || fail 'trained'
awk -F, 'NR > 1 && ($3 != "" || ($13 == "" && $25 == "")) { exit 1 }' b.csv ||
    fail 'columns of what was put back'
says 0 'results in v.jsonl' "$compress" --explain s.h5 --dense d.h5 \
    --val clips --threads 1 --choose-by rules --explain-steps 0 \
    --explain-log v.jsonl --explain-csv v.csv
cmp b.csv v.csv || fail '--val and --data differ'

# 7. Times.
says 0 'results in tt.jsonl' "$compress" --explain s.h5 --dense d.h5 \
    --data clips --threads 1 --explain-steps 0 --explain-log tt.jsonl \
    --explain-csv tt.csv
awk -F, 'NR > 1 && $13 != "" && $24 <= 0 { exit 1 }' tt.csv ||
    fail 'points without a time'
exit $failed
