#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_budget_cli.sh: convtt-compress --budget finds a mix that keeps a model
# within limits, goes on where it was killed, and refuses what cannot be.
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
says 2 'budget requires --data' "$compress" m.h5 -o s.h5 --budget bytes=2k
says 2 'dry-run requires' "$compress" m.h5 -o s.h5 $plain --prune 0.5 --dry-run
says 2 'bytes=100 cannot be met: with the strongest options .* it is [0-9]+' \
    budget bytes=100
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
grep -qE '^(by weight|alike) .*[0-9]+ bytes' out ||
    fail "no mixes that compete: $(cat out)"
grep -qE '^thinner by half .*[0-9]+ bytes' out ||
    fail "none of them is thinner: $(cat out)"
cp first.jsonl least.jsonl
says 2 'bytes=100 cannot be met: the least is [0-9]+, most of it of [ey]' \
    budget bytes=100 --sense-log least.jsonl
grep -q '"mix":"thin 0.5; ' least.jsonl || fail 'thinner models are not tried'
least=$(sed 's/.*the least is \([0-9]*\).*/\1/' err)
says 2 'top1@100=100 cannot be met: the model as given has' budget top1=100
[ -e s.h5 ] && fail 'a plan wrote a model'

# 3. A budget that is met: the file is as small as it must be; nothing is
# measured again.
says 0 's.h5 written: round' budget bytes=2k,top1=-100 --budget-csv s.csv \
    --budget-plot s.svg
[ "$(stat -c %s s.h5)" -le 2000 ] || fail "$(stat -c %s s.h5) bytes"
grep -q 'results are in m.h5.budget.jsonl already' out || fail 'a cold start'
grep -qE '^bytes +2000 ' out || fail 'no costs'
grep -q "^split 'test', 12 clips, which chose nothing" out || fail 'no proof'
grep -q '^retrained,' s.csv && grep -q '^tried,' s.csv || fail 'no CSV'
[ "$(tail -n 1 s.svg)" = '</svg>' ] || fail 'no picture'
grep -q '^short,,' s.csv || fail 'no short row in the CSV'
ls s.h5.* > now 2> /dev/null && fail "left behind: $(cat now)"
cp s.h5 want.h5
cp m.h5.budget.jsonl want.jsonl
says 2 'want.h5: is pruned, shared or quantised: --budget needs the' \
    "$compress" want.h5 -o s.h5 $plain --budget bytes=1k
ls want.h5.* > now 2> /dev/null && fail "a log of what is refused: $(cat now)"

# 4. Known: the same model without a test, retrained only as its file is gone.
rm s.h5
says 0 's.h5 written: round' budget bytes=2k,top1=-100 --budget-csv s.csv \
    --budget-plot s.svg
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
        fail "not met: $(tail -3 out err)"
    cmp s.h5 want.h5 || fail 'the old file was changed'
fi
ls s.h5.* > now 2> /dev/null && fail "left behind: $(cat now)"

# 6. Only top-1: as small as it allows, in at most four rounds.
says 0 's.h5 written: round' budget top1=-100 --for bytes
[ "$(grep -c '^round ' out)" -le 4 ] || fail 'more than four rounds'
[ "$(stat -c %s s.h5)" -lt "$(stat -c %s want.h5)" ] || fail 'not smaller'

# 7. Killed at any moment, the same command comes to the same file: after a line
# of the log, half a line, or in the middle of retraining.
every=${CTT_CHECK_EVERY:-1}
for k in 1 20 $(($(wc -l < first.jsonl) - 1)) $(wc -l < first.jsonl); do
    rm -f s.h5
    head -n "$k" want.jsonl > k.jsonl
    printf '{"budget":"tri' >> k.jsonl
    says 0 's.h5 written' budget bytes=2k,top1=-100 --sense-log k.jsonl
    cmp s.h5 want.h5 || fail "another model after line $k"
    cmp k.jsonl want.jsonl || fail "another log after line $k"
done
for ((k = 1; k <= 10; k += every)); do
    rm -f s.h5
    cp first.jsonl k.jsonl
    "$compress" m.h5 -o s.h5 $plain --budget bytes=2k,top1=-100 \
        --sense-log k.jsonl --checkpoint-every 1 > /dev/null 2>&1 &
    sleep "0.$((k * 6 + 10))"
    kill -9 $! 2> /dev/null
    wait $! 2> /dev/null
    says 0 's.h5 written' budget bytes=2k,top1=-100 --sense-log k.jsonl \
        --checkpoint-every 1
    cmp s.h5 want.h5 || fail "another model after kill $k"
    ls s.h5.* > now 2> /dev/null && fail "left behind: $(cat now)"
done

# 8. Logs of something else, or damaged.
sed '1s/"model":"......../"model":"00000000/' want.jsonl > o.jsonl
says 2 'o.jsonl: is of another model' budget bytes=2k --sense-log o.jsonl
for change in 's/"how":"/"how":"x/' 's/"loss":/"lost":/' \
    's/"bytes":/"bytes":x/' 's/"}$/"/' 's/"seen":\[0/"seen":[-1/'; do
    sed "/tried/$change" want.jsonl > d.jsonl
    says 1 'd.jsonl:[0-9]+: is no result' budget bytes=2k --sense-log d.jsonl
done

# 9. Memory at run time, of a model with more weights than frames.
make_conv 500 10
timed=${plain/--choose-by rules/}
says 0 'kB of memory' "$compress" m.h5 -o r.h5 $timed --budget ram=1G \
    --sense-log r.jsonl --dry-run
given=$(sed -n '/"tried"/s/.*"ram":\([0-9]*\).*/\1/p' r.jsonl | head -n 1)
says 0 'r.h5 written: round' "$compress" m.h5 -o r.h5 $timed \
    --budget "ram=$((given - 9000)),top1=-100" --sense-log r.jsonl
grep -qE '^ram +1\.[0-9]+e\+06 +[0-9.e+]+ ' out || fail "no ram: $(cat out)"

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
