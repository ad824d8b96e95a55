#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_budget_cli.sh: convtt-compress --budget finds an assignment that keeps a
# model within limits, goes on where it was killed, and refuses what cannot be.
set -u
tools="convtt-compress convtt-data convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
compress=$bin/convtt-compress

make_clips
make_conv 24 30
plain="--data clips --threads 1 --choose-by rules --batch 8 --retrain-epochs 2
    --budget-steps 3"
budget() { "$compress" m.h5 -o s.h5 $plain --budget "$@"; }

# 1. What cannot be is one line and writes nothing.
while read -r limits words; do
    says 2 "$words" budget "$limits"
done << 'END'
bytes is not NAME=NUMBER
bytes=-1 is not a number above 0
bytes=1k,bytes=2k bytes is limited twice
bytes=1k, a comma without a limit
top1=-1,top1=90 limited twice
top1=101 is not -100 to 100 points
energy=1 there is no counter of it
ram=1M ms and ram require runs
ms=1 ms and ram require runs
END
for o in '--prune 0.5' '--tt-rank 8' '--int8 mse' '--report r' --resume \
    --sense; do
    says 2 'chooses for itself|has no effect' budget bytes=2k $o
done
says 2 'leaves it nothing' budget bytes=2k --retrain-epochs 0
says 2 'given for two files' budget bytes=2k --sense-log s.h5
says 1 'none/a.jsonl: cannot write' budget bytes=2k --sense-log none/a.jsonl
says 2 'budget requires --data' "$compress" m.h5 -o s.h5 --budget bytes=2k
says 2 'dry-run requires' "$compress" m.h5 -o s.h5 $plain --prune 0.5 --dry-run
says 2 'for has no effect with limits of bytes, ms, macs or ram' \
    budget bytes=2k,top1=-1 --for ms
says 2 'bytes=100 cannot be met: the least found is [0-9]+$' budget bytes=100
least=$(sed 's/.*the least found is \([0-9]*\).*/\1/' err)
near=$((least * 9 / 10))
says 2 "bytes=$near cannot be met: the least found is $least" \
    budget bytes=$near
ls > now
grep -qE '^s.h5|jsonl' now && fail "files of what was refused: $(cat now)"

# 2. A plan; what cannot be met is refused before anything is trained, with the
# least that is possible.
says 0 'without retraining it has [0-9]+ bytes' budget bytes=2k --dry-run
grep -qE '^y +288' out || fail "no plan: $(cat out)"
cp m.h5.budget.jsonl first.jsonl
grep -q '"trained"' first.jsonl && fail 'a dry run trained'
[ "$(grep -c '"short"' first.jsonl)" -gt 5 ] || fail 'no short retraining'
grep -qE "^prune any 0.995 " out || fail "no table of it: $(cat out)"
grep -qE '^least harm, by weight .*[0-9]+ bytes' out ||
    fail "no candidates: $(cat out)"
cp first.jsonl least.jsonl
says 2 "bytes=100 cannot be met: the least found is $least" \
    budget bytes=100 --sense-log least.jsonl
cmp first.jsonl least.jsonl || fail 'what is coded is in the log'
says 2 'top1@100=100 cannot be met: the original has' budget top1=100
[ -e s.h5 ] && fail 'a plan wrote a model'

# 3. A budget that is met: the file is as small as it must be; nothing is
# measured again.
says 0 's.h5 written: round' budget bytes=2k,top1=-100 --budget-csv s.csv \
    --report-html b.html
grep -q 'Whole clips by size' b.html || fail 'no page'
[ "$(stat -c %s s.h5)" -le 2000 ] || fail "$(stat -c %s s.h5) bytes"
grep -q 'results are in m.h5.budget.jsonl already' out || fail 'a cold start'
grep -qE '^bytes +2000 ' out || fail 'no costs'
grep -q "^split 'test', 12 held-out clips, never used" out || fail 'no proof'
grep -A 3 '^split' out > proof
grep -q '^retrained,' s.csv && grep -q '^tried,' s.csv || fail 'no CSV'
grep -q '^short,[0-9]' s.csv || fail 'no short row in the CSV'
[ "$(grep -cE '^bytes +2000 ' out)" = "$(grep -c '^round [1-4]: ' out)" ] ||
    fail "not the costs of each round: $(cat out)"
grep -q 'over predicted %' out || fail 'no prediction'
# Columns: what, four costs, six top-1, loss, steps, mix.
csv() { awk -F, -v what="^$1\$" -v column="$2" -v want="$3" '
    $1 ~ what && $column ~ want { n++ } END { print n + 0 }' s.csv; }
for row in 'original 6 ^[0-9]' 'original 11 ^[0-9]' 'retrained 11 ^[0-9]' \
    'short 6 ^[0-9]' 'short 13 ^[0-9]' 'tried 6 ^$'; do
    # shellcheck disable=SC2086
    [ "$(csv $row)" -gt 0 ] || fail "s.csv has no $row: $(cat s.csv)"
done
ls s.h5.* > now 2> /dev/null && fail "left behind: $(cat now)"
cp s.h5 want.h5
cp m.h5.budget.jsonl want.jsonl
says 2 'want.h5: is pruned, shared or quantised: --budget needs the' \
    "$compress" want.h5 -o s.h5 $plain --budget bytes=1k
ls want.h5.* > now 2> /dev/null && fail "a log of what is refused: $(cat now)"

# 4. Known: nothing is tested on split test, trained or written again; the same
# model if its file is gone.
cp -p s.h5 was.h5
says 0 's.h5 is there already: round' budget bytes=2k,top1=-100 \
    --budget-csv s.csv
grep -q 'choices, as it was tested before' out || fail 'proved twice'
grep -q 'retrained again' out && fail 'retrained again'
grep -A 3 '^split' out | sed 's/, as it was tested before//' | cmp - proof ||
    fail "another proof: $(cat out)"
[ s.h5 -nt was.h5 ] && fail 'written again'
cmp m.h5.budget.jsonl want.jsonl || fail 'what is known was measured again'
[ "$(grep -c '"proved"' want.jsonl)" = 1 ] || fail 'no proof in the log'
rm s.h5
says 0 's.h5 written: round' budget bytes=2k,top1=-100
grep -q 'retrained again, as its file is gone' out || fail 'not retrained'
cmp s.h5 want.h5 || fail 'another model the second time'
cmp m.h5.budget.jsonl want.jsonl || fail 'what is known was measured again'

# 5. One that is not met writes nothing and keeps the old file.
# (Which weights a model has, and so what it loses, depends on the processor: a
# model that loses nothing shows nothing here.)
limits="bytes=$((least + 150)),top1@25=-0,top1@50=-0,top1=-0"
if budget "$limits" > out 2> err; then
    echo 'nothing is lost: no budget that is not met'
    cp want.h5 s.h5
else
    [ $? = 1 ] && grep -q 'not met, and nothing is written: [0-9]* bytes' err ||
        fail "not met: $(cat out err)"
    cmp s.h5 want.h5 || fail 'the old file was changed'
fi
ls s.h5.* > now 2> /dev/null && fail "left behind: $(cat now)"

# A second budget measures nothing again, and says that the clips of split test
# have been used.
cp want.jsonl warm.jsonl
says 0 'written: round' "$compress" m.h5 -o w.h5 $plain \
    --budget macs=30k,top1=-100 --sense-log warm.jsonl
grep -qE '^macs +30000 ' out || fail "no limit of macs: $(cat out)"
head -n "$(wc -l < want.jsonl)" warm.jsonl | cmp - want.jsonl ||
    fail 'lines were changed'
tail -n "+$(($(wc -l < want.jsonl) + 1))" warm.jsonl | grep -q '"weight"' &&
    fail 'sensitivity was measured again'
sed -n 's/.*"budget":\("[a-z]*"\).*\("steps":[0-9]*\).*\("mix".*\)/\1\2\3/p' \
    warm.jsonl | sort | uniq -d > now
[ -s now ] && fail "measured twice: $(cat now)"
grep -q 'have tested 1 other model of this log' out || fail "no word of it"

# 6. Only top-1: as small as it allows, in at most four rounds.
says 0 's.h5 written: round' budget top1=-100 --for bytes
[ "$(grep -c '^round ' out)" -le 4 ] || fail 'more than four rounds'
[ "$(stat -c %s s.h5)" -lt "$(stat -c %s want.h5)" ] || fail 'not smaller'

# 7. Killed at any moment, the same command comes to the same file: after a line
# of the log, half a line, or in the middle of retraining.
every=${CTT_CHECK_EVERY:-1}
cuts="1 20 $(($(wc -l < first.jsonl) - 1)) $(wc -l < first.jsonl)"
[ "$every" -lt 9 ] || cuts=20
for k in $cuts; do
    rm -f s.h5
    head -n "$k" want.jsonl > k.jsonl
    printf '{"budget":"tri' >> k.jsonl
    says 0 's.h5 written' budget bytes=2k,top1=-100 --sense-log k.jsonl
    cmp s.h5 want.h5 || fail "another model after line $k"
    cmp k.jsonl want.jsonl || fail "another log after line $k"
done
# Ten kills: eight once so many ninths of the log before the whole retraining
# are written, and two in the middle of that.
reached() {    # K: moment k has come
    case $1 in
    9) [ -e s.h5.ckpt ] ;;
    10) [ -e k.mark ] && [ s.h5.ckpt -nt k.mark ] ;;
    *) [ "$(wc -l 2> /dev/null < k.jsonl || echo 0)" -gt $((lines * $1 / 9)) ]
    esac
}
interrupt() {    # K: whether the search was killed then, before its end
    rm -f s.h5* k.jsonl k.mark
    "$compress" m.h5 -o s.h5 $plain --budget bytes=2k,top1=-100 \
        --sense-log k.jsonl --checkpoint-every 1 > /dev/null 2>&1 &
    until reached "$1" || ! kill -0 $! 2> /dev/null; do
        [ -e s.h5.ckpt ] && [ ! -e k.mark ] && cp -p s.h5.ckpt k.mark
        sleep 0.005
    done
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    [ $? = 137 ] && ! grep -q '"trained"' k.jsonl
}
lines=$(grep -n '"trained"' want.jsonl | head -n 1)
lines=$((${lines%%:*} - 1))
for ((k = 1; k <= 10; k += every)); do
    # On a busy machine this may look too late.
    interrupt $k || interrupt $k || interrupt $k || interrupt $k ||
        { [ $k -gt 8 ] && continue; } || fail "no kill $k"
    says 0 's.h5 written' budget bytes=2k,top1=-100 --sense-log k.jsonl \
        --checkpoint-every 1
    cmp s.h5 want.h5 || fail "another model after kill $k"
    cmp k.jsonl want.jsonl || fail "another log after kill $k"
    ls s.h5.* > now 2> /dev/null && fail "left behind: $(cat now)"
done

# 8. Logs of something else, or damaged.
sed '1s/"model":"......../"model":"00000000/' want.jsonl > o.jsonl
cp o.jsonl was.jsonl
rm -f s.h5
says 2 'o.jsonl: is of another model' budget bytes=2k --sense-log o.jsonl
cmp o.jsonl was.jsonl || fail 'a log of another model was changed'
ls s.h5* > now 2> /dev/null && fail "files of what was refused: $(cat now)"
says 1 'tiny.net: is there already and is no' budget bytes=2k \
    --sense-log tiny.net
for change in 's/"how":"/"how":"x/' 's/"loss":/"lost":/' \
    's/"bytes":/"bytes":x/' 's/"bytes":/"bytes":-/' 's/"}$/"/' \
    's/"seen":\[0/"seen":[-1/'; do
    sed "/tried/$change" want.jsonl > d.jsonl
    says 2 'd.jsonl:[0-9]+: is no result' budget bytes=2k --sense-log d.jsonl
done

# 9. Memory at run time, of a model with more weights than frames.
make_conv 200 10
timed=${plain/--choose-by rules/}
says 0 'kB of memory' "$compress" m.h5 -o r.h5 $timed --budget ram=1G \
    --sense-log r.jsonl --dry-run
given=$(sed -n '/"tried"/s/.*"ram":\([0-9]*\).*/\1/p' r.jsonl | head -n 1)
# A log without memory is measured again; a damaged one is refused.
sed 's/,"ram":[0-9]*}/}/' r.jsonl > q.jsonl
says 0 'kB of memory' "$compress" m.h5 -o r.h5 $timed --budget ram=1G \
    --sense-log q.jsonl --dry-run
[ "$(grep -c '"weight".*"ram":[0-9]' q.jsonl)" -gt 5 ] ||
    fail 'memory that a log has not is not measured'
sed '/"weight"/s/"ram":/"ram":x/' r.jsonl > d.jsonl
says 2 'd.jsonl:[0-9]+: is no result' "$compress" m.h5 -o r.h5 $timed \
    --budget ram=1G --sense-log d.jsonl --dry-run

says 0 'r.h5 written: round' "$compress" m.h5 -o r.h5 $timed \
    --budget "ram=$((given - 9000)),top1=-100" --sense-log r.jsonl
grep -qE "^ram +$((given - 9000)) +[0-9.e+]+ " out || fail "no ram: $(cat out)"

# Refused by what is measured, before anything more is trained.
trained() { grep -c '"short"\|"trained"' r.jsonl; }
was=$(trained)
says 2 'ram=1000 cannot be met: the least found is [0-9.e+]+' \
    "$compress" m.h5 -o r.h5 $timed --budget ram=1000 --sense-log r.jsonl
[ "$(trained)" = "$was" ] || fail 'what was refused was trained'

# 10. Times that a budget of bytes leaves out are measured once when another
# budget asks for them.
for limits in bytes=1M ram=1G ram=1G; do
    cp t.jsonl was.jsonl 2> /dev/null
    says 0 'without retraining it has' "$compress" m.h5 -o t.h5 $timed \
        --budget "$limits" --sense-log t.jsonl --dry-run
done
cmp t.jsonl was.jsonl || fail 'times were measured twice'
[ "$(grep -c '"faster":[0-9]' t.jsonl)" -gt 5 ] || fail 'nothing was timed'
exit $failed
