#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sensitivity_cli.sh: convtt-compress --sense measures what a weight bears,
# goes on from its log, and refuses what has no effect.
set -u
tools="convtt-compress convtt-data convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
compress=$bin/convtt-compress

make_clips
make_conv 8 4
cp m.h5 given.h5
sense="--data clips --threads 1 --choose-by rules"

# 1. What is refused writes nothing.
says 2 'sense requires --data or --val' "$compress" --sense m.h5
for o in -o=a.h5 --prune=0.5 --tt-rank=8 --int8=mse --lr=0.1 --report=r \
    --retrain-epochs=3 --checkpoint=c --resume --norm-clips=3 --for=ms; do
    says 2 'has no effect with --sense' "$compress" --sense m.h5 $sense \
        ${o/=/ }
done
says 2 'sense-csv requires --sense' "$compress" m.h5 -o a.h5 --prune 0.5 \
    --sense-csv a.csv
says 2 'given for two files' "$compress" --sense m.h5 $sense --sense-log a \
    --sense-csv a
says 2 'm.h5' "$compress" --sense m.h5 $sense --sense-csv m.h5
says 2 'sense-kl' "$compress" --sense m.h5 $sense --sense-kl 0
echo 'my own words' > words
cp words kept
says 1 'none/a.jsonl: cannot write' "$compress" --sense m.h5 $sense \
    --sense-log none/a.jsonl
says 1 'words: .*' "$compress" --sense m.h5 $sense --sense-log words
says 1 'words: .*' "$compress" --sense m.h5 $sense --report-html words
cmp words kept || fail 'a file of the user was changed'
ls > now
grep -qE '^a|jsonl' now && fail "files of what was refused: $(cat now)"

# 2. A table per weight, all of them, and the files.
says 0 '66 results in m.h5.sense.jsonl' "$compress" --sense m.h5 $sense \
    --sense-csv s.csv --report-html s.html
for w in e y; do
    grep -q "^$w: [0-9]* values, .*% of the multiplications:" out ||
        fail "no table of $w"
    grep -qE "^$w +[0-9.]+ +[0-9.-]+ +[0-9.-]+" out || fail "$w bears nothing"
done
[ "$(wc -l < s.csv)" = 67 ] || fail "$(wc -l < s.csv) lines of CSV"
awk -F, 'NR > 1 && NF < 13 { exit 1 }' s.csv || fail 'CSV lacks columns'
grep -q '^e,thin,.*"no layer has more channels' s.csv || fail 'no reason'
[ "$(wc -l < m.h5.sense.jsonl)" = 67 ] || fail 'lines of the log'
[ "$(grep -c '<figure>' s.html)" -ge 5 ] && grep -q '>e</th>' s.html ||
    fail 'no page'
cmp m.h5 given.h5 || fail 'the model was changed'

# 3. All is known: nothing is measured, and the table is the same.
says 0 '66 of 66 results are in m.h5.sense.jsonl already' "$compress" \
    --sense m.h5 $sense --sense-csv again.csv
cmp s.csv again.csv || fail 'known results differ'

# A part of the clips has other results, and a log of its own.
says 0 'sensitivity: 4 of 12 clips' "$compress" --sense m.h5 $sense \
    --sense-clips 4 --sense-log part.jsonl --sense-csv part.csv
cmp -s s.csv part.csv && fail 'four clips are as good as twelve'
says 2 'is of another model, other clips' "$compress" --sense m.h5 $sense \
    --sense-clips 4

# Times with other threads are other times.
timed="--data clips --threads 1 --sense-log times.jsonl"
says 0 '66 results in times.jsonl' "$compress" --sense m.h5 $timed \
    --time-threads 2
says 2 'is of another model, other clips, another device or other threads' \
    "$compress" --sense m.h5 $timed
sed '/svd/s/"kl":[[][^,]*/"kl":[1e309/' times.jsonl > huge.jsonl
says 2 'huge.jsonl:[0-9]*: is no result of --sense' "$compress" --sense m.h5 \
    --data clips --threads 1 --time-threads 2 --sense-log huge.jsonl
says 0 '66 results in same.jsonl' "$compress" --sense m.h5 --data clips \
    --threads 1 --sense-log same.jsonl
says 0 '66 of 66 results are in same.jsonl' "$compress" --sense m.h5 \
    --data clips --threads 1 --time-threads 1 --sense-log same.jsonl

# 4. Killed anywhere it goes on, with the same result; half a line is cut.
for k in 1 40; do
    head -n $k m.h5.sense.jsonl > k.jsonl
    printf '{"weight":"e","opti' >> k.jsonl
    says 0 '66 results in k.jsonl' "$compress" --sense m.h5 $sense \
        --sense-log k.jsonl --sense-csv k.csv
    cmp s.csv k.csv || fail "other results after line $k"
    cmp m.h5.sense.jsonl k.jsonl || fail "another log after line $k"
done
"$compress" --sense m.h5 $sense --sense-log s.jsonl > /dev/null 2>&1 &
while [ "$(wc -l 2> /dev/null < s.jsonl || echo 0)" -lt 3 ] &&
    kill -0 $! 2> /dev/null; do
    sleep 0.02
done
kill -9 $! 2> /dev/null
wait $! 2> /dev/null
"$compress" --sense m.h5 $sense --sense-log i.jsonl > out 2> err &
while [ "$(wc -l 2> /dev/null < i.jsonl || echo 0)" -lt 3 ] &&
    kill -0 $! 2> /dev/null; do
    sleep 0.02
done
kill $! 2> /dev/null
wait $!
case $? in
0) ;;    # it was faster
1) grep -q 'stopped; the same command goes on from i.jsonl' err &&
       [ "$(wc -l < err)" = 1 ] || fail "stopped: $(cat err)" ;;
*) fail "stopped: status $?: $(cat err)" ;;
esac
says 0 'results in s.jsonl' "$compress" --sense m.h5 $sense \
    --sense-log s.jsonl --sense-csv k.csv
cmp s.csv k.csv || fail 'other results after kill -9'

# 5. Logs of something else.
sed '1s/"model":"......../"model":"00000000/' m.h5.sense.jsonl > o.jsonl
says 2 'o.jsonl: is of another model' "$compress" --sense m.h5 $sense \
    --sense-log o.jsonl
sed '20s/"kl"/"ki"/' m.h5.sense.jsonl > d.jsonl
says 2 'd.jsonl:20: is no result of --sense' "$compress" --sense m.h5 \
    $sense --sense-log d.jsonl
says 2 'another model' "$compress" --sense m.h5 $sense --val clips \
    --val-split train

# 6. Times, and limits.
says 0 'results in t.jsonl' "$compress" --sense m.h5 --data clips --threads 1 \
    --sense-log t.jsonl --sense-csv t.csv --sense-kl 0.000001
awk -F, 'NR > 1 && $2 != "share" && $4 != "" && $12 <= 0 { exit 1 }' t.csv ||
    fail 'points without a time'
grep -qE '^y +[0-9.]+ +- +- ' out || fail "y bears much: $(tail -9 out)"
exit $failed
