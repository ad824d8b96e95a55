#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_search_cli.sh: convtt-train --search trains trials of settings and keeps
# the best, goes on where it was killed or stopped, and refuses what cannot be.
set -u
tools="convtt-data convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

make_clips
make_net
sed -i 's/out=8/out=$width*2/; 1i let width=4' tiny.net
cat > space.txt << 'END'
# What may vary.
lr            log    1e-3 0.3
optimizer     choice sgd adamw
momentum      range  0.5 0.95   if optimizer=sgd
frame-asks    int    2 6        if frame-loss=linear
frame-loss    choice none linear
$width        int    3 6
END
# Trials read the clips each, so they are packed.
for s in train validation test; do
    says 0 "$s.pack: " "$bin/convtt-data" pack clips -o $s.pack --split $s \
        --model tiny.net
done
data='--data train.pack --val validation.pack --test test.pack'
train() { "$bin/convtt-train" tiny.net $data --threads 2 "$@"; }
search() { train --search space.txt --epochs 3 --repeats 1 "$@"; }
# Times are not the same twice.
log() { sed 's/,"seconds":[0-9.]*//' "$1"; }
no_children() {    # no_children WHAT: of a search in this folder
    for _ in $(seq "$ticks"); do
        ps -eo args | grep -F "$PWD" | grep -q '[-]-pause' || return
        sleep 0.05
    done
    fail "$1: trials go on"
}

# 1. What cannot be is one line with status 2 and writes nothing.
while read -r options; do
    say=${options#*: } options=${options%%: *}
    says 2 "$say" search -o x.h5 --trials 4 $options
done << 'END'
--amp-plan: --search excludes .*--amp-plan
--doctor: --doctor|--search excludes
--resume: --search excludes .*--resume
--checkpoint c.ckpt: --search excludes .*--checkpoint
--log-json l.json: --search excludes .*--log-json
--time-limit 1: --search excludes .*--time-limit
--val-every 2: --search excludes .*--val-every
--pause 1: --search excludes .*--pause
--lr 0.1: space.txt:2: --lr is given as well
--set width=5: space.txt:7: --set is given as well
--search-first 5: --search-first=5: a trial has 3 epochs
--search-log x.h5: x.h5: given for two files
--search-csv space.txt: space.txt: given for two files
--report-html tiny.net: tiny.net: given for two files
END
for o in '--trials 3' '--jobs 2' '--repeats 2' '--search-log l'; do
    says 2 'requires --search' train -o x.h5 $o
done
says 2 'search-first.*requires' search -o x.h5 --search-method random \
    --search-first 2
while read -r line; do
    say=${line#*: } line=${line%%: *}
    printf '%s\n' "$line" > bad.txt
    says 2 "$say" train --search bad.txt -o x.h5
done << 'END'
# nothing: bad.txt: lists no setting
lrr log 1 2: bad.txt:1: 'lrr' is no option
epochs int 1 9: bad.txt:1: --epochs cannot vary
lr log 0.1 1 if eps<1: bad.txt:1: if 'eps': nothing here sets it
lr log 0.1 1 if lr<0.5: bad.txt:1: lr depends on itself
$width choice 3 0: bad.txt: trial [0-9]+, .width=0: tiny.net: line 3: e: out
$widht int 3 6: bad.txt: trial 1, .widht=[3-6]: tiny.net: 'widht': no line
$width choice 3,4 5: bad.txt:1: .width: '3,4' has a comma
set choice a b: bad.txt:1: --set cannot vary
at-most parameters 9: bad.txt: lists no setting
schedule choice cosine sampled: bad.txt: trial [0-9]+, schedule=sampled
END
printf 'lr log 1e-3 1\nat-most parameters 9\n' > bad.txt
says 2 "'at-most' limits networks, and no setting" train --search bad.txt \
    -o x.h5
printf '$width int 3 6\nat-most parameters 9\n' > bad.txt
says 2 "none of 1000 networks is within 'at-most'" train --search bad.txt \
    -o x.h5
says 2 'none.txt' train --search none.txt -o x.h5
for k in 0 1 2 3; do
    echo "clips/20bn-something-something-v2/$((k + 1)).webm $((k % 2))"
done > few.txt
says 2 'compares trials on validation clips' "$bin/convtt-train" tiny.net \
    --data few.txt --search space.txt -o x.h5
says 2 'pause=5: the run has 3 epochs' train -o x.h5 --epochs 3 --pause 5
ls > now
grep -q '^x' now && fail "files of what was refused: $(cat now)"

# 2. A search: its model, its log, and nothing else.
common='--trials 5 --jobs 1'
says 0 'a.h5 written: top-1 .* they chose the epoch' search $common -o a.h5 \
    --search-csv a.csv --report-html a.html
[ "$(ls -d a.* | paste -sd' ')" = 'a.csv a.h5 a.h5.search.jsonl a.html' ] ||
    fail "other files: $(ls)"
[ "$(grep -c '^a.h5 on .*(12 clips)' out)" = 1 ] || fail 'test clips'
grep -q '^what each setting alone explains' out || fail "$(cat out)"
grep -q '^the best of the trials' out || fail "$(cat out)"
grep -qE '^lr +5 +-' out || fail "no share of lr: $(cat out)"
[ "$(tail -n 1 a.h5.search.jsonl | cut -c 1-7)" = '{"won":' ] ||
    fail "log: $(cat a.h5.search.jsonl)"
grep -c '"epochs":1,' a.h5.search.jsonl > out
[ "$(cat out)" = 5 ] || fail "$(cat out) trials began"
[ "$(wc -l < a.csv)" = 6 ] || fail "csv: $(cat a.csv)"
head -1 a.csv | grep -qx 'trial,seed,epochs,score,loss,best,failed,seconds,lr,'\
'optimizer,momentum,frame-asks,frame-loss,$width' ||
    fail "csv: $(head -1 a.csv)"
[ "$(grep -c '<figcaption>Trials by --' a.html)" -ge 3 ] &&
    grep -q '^<tr><th scope="row">5' a.html || fail 'no page'
says 0 '^search trials=5 method=asha epochs=3 seed=1 repeats=1 settings=6' \
    "$bin/convtt-info" --all a.h5

# 3. A trial is a training with its settings: by hand it comes to the same, and
# so does one that pauses.
won=$(tail -n 1 a.h5.search.jsonl | grep -oE '[0-9]+' | head -1)
line=$(grep "^{\"trial\":$won," a.h5.search.jsonl | tail -n 1)
options=$(echo "$line" | sed 's/.*"settings":{\([^}]*\)}.*/\1/; s/"//g
    s/:/=/g; s/^/--/; s/,/ --/g; s/--.width/--set width/')
says 0 'h.h5 written' train --epochs 3 $options -o h.h5 --log-json h.json
[ "$(sed 's/.*"val_mean_top1":\([0-9.e-]*\).*/\1/' h.json | paste -sd,)" = \
    "$(echo "$line" | sed 's/.*"curve":\[\([^]]*\)\].*/\1/')" ] ||
    fail "by hand: $(cat h.json), not $line"
for e in 1 2; do
    says 0 "paused after $e of 3 epochs" train --epochs 3 $options -o p.h5 \
        --pause $e $([ $e = 1 ] || echo --resume)
    [ -e p.h5.ckpt ] || fail 'no checkpoint of a pause'
done
says 0 '^p.h5 written$' train --epochs 3 $options -o p.h5 --pause 3 --resume
cmp h.h5 p.h5 || fail 'paused: another model'
grep -q 'h5 on .* clips)' out && fail "test clips after a pause: $(cat out)"
"$bin/convtt-info" --all h.h5 | grep -E '^(train|search) ' > want
"$bin/convtt-info" --all a.h5 | grep -E '^train ' | cmp - want ||
    fail "history: $(cat want)"

# 4. The same with more jobs, where rounds decide; other methods.
search $common --search-method halving -o b.h5 > out 2>&1 ||
    fail "halving: $(tail -3 out)"
search --trials 5 --jobs 3 --search-method halving -o c.h5 > out 2>&1 ||
    fail "three jobs: $(tail -3 out)"
cmp b.h5 c.h5 || fail 'three jobs: another model'
log b.h5.search.jsonl | sort > want
log c.h5.search.jsonl | sort | cmp - want || fail 'three jobs: other results'
for m in median random; do
    says 0 "m.h5 written" search --trials 3 --jobs 2 --search-method $m -o m.h5
    rm m.h5*
done

# A disk without room says nothing of a trial's settings: it ends the search.
(trap '' XFSZ
 ulimit -f 4
 search $common -o room.h5 > out 2>&1)
[ $? = 1 ] && grep -q 'trial 1: .* with more room the same command' out ||
    fail "no room: $(cat out)"
search $common -o room.h5 > out 2>&1 || fail "room again: $(tail -3 out)"
cmp a.h5 room.h5 || fail 'room again: another model'

# 5. Killed at any moment, the same command comes to the same log and file.
log a.h5.search.jsonl > want
lines=$(wc -l < want)
every=${CTT_CHECK_EVERY:-1}
for ((k = 1; k < lines; k += 2 + every)); do
    head -n $k a.h5.search.jsonl > k.h5.search.jsonl
    printf '{"trial":3,"se' >> k.h5.search.jsonl
    search $common -o k.h5 > out 2>&1 || fail "after line $k: $(tail -2 out)"
    cmp a.h5 k.h5 || fail "another model after line $k"
    log k.h5.search.jsonl | cmp - want || fail "another log after line $k"
    rm -f k.h5*
done
# At ten moments of a run: once so many results are there, and then so many
# hundredths of a second later.
results() { grep -c '^{"trial"' k.h5.search.jsonl 2> /dev/null; }
strike() {    # strike RESULTS LATER OPTION...: fails if the search was over
    local after=$1 later=$2 pid
    shift 2
    rm -rf k.h5*
    "$bin/convtt-train" tiny.net $data --threads 2 --search space.txt \
        --epochs 3 --repeats 1 "$@" -o k.h5 > /dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2> /dev/null; do
        [ -e k.h5.trials ] && [ "$(results)" -ge "$after" ] 2> /dev/null &&
            break
        sleep 0.01
    done
    sleep "0.$later"
    kill -9 $pid 2> /dev/null
    wait $pid 2> /dev/null
    [ ! -e k.h5 ] && ! grep -q won k.h5.search.jsonl
}
killed() {    # killed RESULTS LATER WANTED OPTION...
    local after=$1 later=$2 as=$3 hit=0
    shift 3
    for _ in 1 2 3 4 5; do
        strike "$after" "$later" "$@" && hit=1 && break
    done
    [ $hit = 1 ] || fail "kill $after.$later: the search was always over"
    no_children "kill $after.$later"
    search "$@" -o k.h5 > out 2>&1 || fail "kill $after.$later: $(tail -2 out)"
    cmp "$as" k.h5 || fail "another model after kill $after.$later"
    log "$as.search.jsonl" | sort > k.want
    log k.h5.search.jsonl | sort | cmp - k.want ||
        fail "another log after kill $after.$later"
    [ "$(ls -d k.h5* | paste -sd' ')" = 'k.h5 k.h5.search.jsonl' ] ||
        fail "left behind: $(ls -d k.h5*)"
    rm -rf k.h5*
}
k=0
while read -r after later as options; do
    k=$((k + 1))
    [ "$every" = 1 ] || [ $((k % 4)) = 0 ] || continue
    # shellcheck disable=SC2086
    killed "$after" "$later" "$as" $options
done << END
0 00 a.h5 $common
0 15 a.h5 $common
1 05 a.h5 $common
2 20 a.h5 $common
3 10 a.h5 $common
4 00 a.h5 $common
5 05 a.h5 $common
0 10 b.h5 --trials 5 --jobs 3 --search-method halving
3 05 b.h5 --trials 5 --jobs 3 --search-method halving
5 05 b.h5 --trials 5 --jobs 3 --search-method halving
END

# 6. Stopped: its trials stop, too.
"$bin/convtt-train" tiny.net $data --threads 2 --search space.txt \
    --epochs 300 --trials 4 --jobs 2 --search-method random -o s.h5 \
    > out 2> err &
for _ in $(seq "$ticks"); do
    [ -e s.h5.trials/trial2.ckpt ] && break
    kill -0 $! 2> /dev/null || break
    sleep 0.05
done
kill -TERM $!
wait $!
got=$?
[ $got = 1 ] && [ "$(grep -c 'stopped: the same command goes on' err)" = 1 ] ||
    fail "SIGTERM: status $got: $(cat out err)"
no_children SIGTERM
[ -e s.h5.trials/trial1.ckpt ] && [ ! -e s.h5 ] || fail "stopped: $(ls)"

# Also before the first trial: of a hundred networks two are small enough, so
# 10,000 trials are drawn for minutes.
printf '$width int 1 1000\nat-most parameters 15500\n' > rare.txt
"$bin/convtt-train" tiny.net $data --threads 2 --search rare.txt --epochs 1 \
    --trials 10000 -o x.h5 > out 2> err & pid=$!
await 'clips are read' grep -q '^model: ' out
kill -INT $pid
wait $pid
got=$?
[ $got = 1 ] && grep -q ': stopped while networks are drawn$' err ||
    fail "SIGINT while drawn: status $got: $(cat out err)"
ls > now
grep -q '^x' now && fail "files of what was stopped: $(cat now)"

# 7. A search that has ended trains nothing; its model is made again if it is
# gone.
says 0 'a.h5 is there already' search $common -o a.h5
grep -q '^trial .* after' out && fail "trained again: $(cat out)"
cp a.h5 kept.h5
rm a.h5
says 0 'is trained again, as a.h5.trials' search $common -o a.h5
grep -q 'h5 on .* clips)' out && fail 'test clips were scored again'
cmp a.h5 kept.h5 || fail 'made again: another model'
log a.h5.search.jsonl | cmp - want || fail 'made again: another log'

# 8. Logs of another search, or damaged.
cp a.h5.search.jsonl o.jsonl
while read -r options; do
    say=${options#*: } options=${options%%: *}
    says 2 "o.jsonl: is of another $say" search $common -o x.h5 \
        --search-log o.jsonl $options
done << 'END'
--epochs 5: --epochs \(3, now 5\)
--trials 8: --trials \(5, now 8\)
--seed 2: --seed
--label-smooth 0.1: list of settings
--search-method random: --search-method
END
sed 's/kernel=3/kernel=5/' tiny.net > other.net
says 2 'is of another model' "$bin/convtt-train" other.net $data \
    --search space.txt --epochs 3 --repeats 1 $common -o x.h5 \
    --search-log o.jsonl
sed 's/2 6/2 5/' space.txt > other.txt
says 2 'is of another search space' train --search other.txt --epochs 3 \
    --repeats 1 $common -o x.h5 --search-log o.jsonl
{ cat space.txt; echo 'at-most parameters 5000'; } > other.txt
says 2 "other.txt: [0-9]+ networks? above 'at-most'" train --search \
    other.txt --epochs 3 --repeats 1 $common -o x.h5 --search-log o.jsonl
sed '3s/"seed":1/"seed":2/' a.h5.search.jsonl > o.jsonl
says 2 'o.jsonl:3: is no result of this search' search $common -o x.h5 \
    --search-log o.jsonl
cp a.csv o.jsonl
says 1 'o.jsonl: is there already and is no log of --search' search $common \
    -o x.h5 --search-log o.jsonl
ls > now
grep -q '^x' now && fail "files of what was refused: $(cat now)"

# 9. A trial that cannot be trained is a result; if all fail, something else is
# wrong.
echo 'freeze choice e none' > some.txt
says 0 'f.h5 written' train --search some.txt --epochs 1 --trials 4 \
    --repeats 1 -o f.h5
grep -q 'failed: .*none' out || fail "no failure: $(cat out)"
grep -q '"failed":"' f.h5.search.jsonl || fail "$(cat f.h5.search.jsonl)"
echo 'freeze choice none1 none2' > all.txt
says 1 'all 3 trials failed' train --search all.txt --epochs 2 --trials 6 \
    -o g.h5
[ -e g.h5 ] && fail 'a model of trials that failed'

# A trial that lost a clip which the search and the first trial had says so.
for k in $(seq 8); do
    cp clips/20bn-something-something-v2/$k.webm l$k.webm
    echo "l$k.webm $((k % 2))"
done > lost.txt
cp l1.webm v1.webm
cp l2.webm v2.webm
sed -n 's/l\([12]\)/v\1/p' lost.txt > others.txt
echo 'lr log 1e-3 0.1' > lr.txt
"$bin/convtt-train" tiny.net --data lost.txt --val others.txt --search lr.txt \
    --epochs 1 --trials 4 --jobs 1 --repeats 1 --threads 1 -o l.h5 \
    > lost.out 2>&1 & pid=$!
await 'a trial' grep -q '^trial 1' lost.out
mv l3.webm gone.webm
wait $pid || fail "a search with lost clips: $(cat lost.out)"
grep -q '^trial 4 failed: 1 clip lost that the search .*l3.webm:' lost.out ||
    fail "lost clips: $(cat lost.out)"

# 10. Repeats with other seeds, three if nothing else is said; prediction.
says 0 'r.h5 written' train --search space.txt --epochs 2 --trials 4 --jobs 2 \
    --search-method random -o r.h5
grep -q '^the best trials with other seeds' out || fail "$(cat out)"
grep -q '^4 trials, 2 at a time, of about 20 epochs in all, 12 of them' out ||
    fail "what is expected: $(cat out)"
[ "$(grep -c '"seed":[23],' r.h5.search.jsonl)" = 6 ] ||
    fail "repeats: $(cat r.h5.search.jsonl)"
grep -qE '^[1-4] +3 +top-1 [0-9.]+% ' out || fail "a mean: $(cat out)"
cat > next.net << 'END'
input x h=16 w=16 c=1 colour=gray fps=6 mean=0.45 std=0.25
convlstm h in=x hidden=4 kernel=3
conv y in=h out=1
END
echo 'lr log 1e-3 0.1' > lr.txt
says 0 'n.h5 written' "$bin/convtt-train" next.net --data clips --task predict \
    --input-frames 3 --future-frames 2 --search lr.txt --trials 2 --epochs 1 \
    --repeats 1 \
    --threads 2 --sampling-start off -o n.h5
grep -qE '^[12] +1 +MSE [0-9.]+e-3' out || fail "prediction: $(cat out)"
# Median ends what is below it; enough trials say what a setting explains.
echo 'lr log 1e-6 0.1' > lr.txt
says 0 'd.h5 written' "$bin/convtt-train" next.net --data clips --task predict \
    --input-frames 3 --future-frames 2 --search lr.txt --trials 12 --epochs 3 \
    --repeats 1 --search-method median --threads 2 --sampling-start off -o d.h5
[ "$(grep -c '"epochs":1,' d.h5.search.jsonl)" = 12 ] ||
    fail "median: $(cat d.h5.search.jsonl)"
ends=$(grep -c '"epochs":3,' d.h5.search.jsonl)
[ "$ends" -ge 3 ] && [ "$ends" -lt 12 ] ||
    fail "median: $ends of 12 came to the end"
grep -qE '^lr +12 +[0-9]+%' out || fail "no importance: $(cat out)"
exit $failed
