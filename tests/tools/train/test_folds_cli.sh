#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_folds_cli.sh: convtt-train --folds: its models, table and logs, a run
# that is stopped and resumed, and what it refuses.
set -u
tools="convtt-data convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

make_net
make_clips
common='tiny.net --data clips --epochs 3 --batch 4 --threads 1 --folds 3
        --pick last'
train() { "$bin/convtt-train" $common "$@" > log 2>&1 < /dev/null; }

# 1. A model for each fold, and nothing else; the results in three forms.
train -o whole.h5 --log-csv whole.csv --log-json whole.json ||
    fail "folds: $(cat log)"
[ "$(ls whole.* | paste -sd' ')" = "whole.csv whole.fold1.csv whole.fold1.h5\
 whole.fold1.json whole.fold2.csv whole.fold2.h5 whole.fold2.json\
 whole.fold3.csv whole.fold3.h5 whole.fold3.json whole.json" ] ||
    fail "other files: $(ls)"
grep -q '3 folds; no clip that is tested chose anything' log ||
    fail "does not say what chose: $(cat log)"
for row in 'fold +clips +top-1 at 25%' '1 +12 ' '2 +12 ' '3 +12 ' 'mean +36 ' \
    'deviation +36 ' 'all clips \(95%\) +36 +[0-9.]+% \([0-9.]+-[0-9.]+\)'; do
    grep -qE "^$row" log || fail "no row '$row': $(cat log)"
done
[ "$(head -1 whole.csv)" = "fold,clips,top1_25,top1_50,top1_100,low_25,\
high_25,low_50,high_50,low_100,high_100" ] &&
    [ "$(cut -d, -f1 whole.csv | paste -sd' ')" = \
      'fold 1 2 3 mean deviation' ] || fail "csv: $(cat whole.csv)"
grep -q '^{"fold":"mean","clips":36,"top1":\[' whole.json ||
    fail "json: $(cat whole.json)"
awk -F, '$1 ~ /^[123]$/ { n++; s += $5; q += $5 * $5 }
         $1 == "mean" { m = $5 } $1 == "deviation" { d = $5 }
         END { v = (q - s * s / n) / (n - 1); v = v > 0 ? sqrt(v) : 0
               exit (s / n - m) ^ 2 > 1e-9 || (v - d) ^ 2 > 1e-9 }' whole.csv ||
    fail "mean or deviation: $(cat whole.csv)"

# Each fold has the interval of its clips (Wilson 1927); mean and deviation have
# none.
awk -F, 'NR > 1 { if (NF != 11) exit bad = 1 }
         NR > 1 && $1 + 0 { p = $5; n = $2; z = 1.96; d = 1 + z * z / n
             r = z / d * sqrt(p * (1 - p) / n + z * z / 4 / n / n)
             if (($10 - (p + z * z / 2 / n) / d + r) ^ 2 > 1e-7 ||
                 ($11 - (p + z * z / 2 / n) / d - r) ^ 2 > 1e-7) exit bad = 1 }
         NR > 1 && !($1 + 0) && $6 $7 $8 $9 $10 $11 != "" { exit bad = 1 }
         END { exit bad }' whole.csv || fail "intervals: $(cat whole.csv)"
grep -qE '^1 +12 .*% \([0-9.]+-[0-9.]+\) +[0-9.]+%' log ||
    fail "no interval of a fold: $(cat log)"
# So has each row of a training's log.
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
         { p = $at["val_top1"]; n = 12; z = 1.96; d = 1 + z * z / n; rows++
           r = z / d * sqrt(p * (1 - p) / n + z * z / 4 / n / n)
           m = (p + z * z / 2 / n) / d
           if (($at["val_top1_low"] - m + r) ^ 2 > 1e-7 ||
               ($at["val_top1_high"] - m - r) ^ 2 > 1e-7) exit bad = 1 }
         END { exit bad || rows != 3 }' whole.fold1.csv ||
    fail "interval of a row: $(cat whole.fold1.csv)"
[ "$(grep -c '"interval":\[\[' whole.json)" = 3 ] || fail "$(cat whole.json)"

# 2. Stopped in the second fold and resumed: the same models and results.
"$bin/convtt-train" $common -o part.h5 --log-csv part.csv > log 2>&1 \
    < /dev/null & pid=$!
for i in $(seq "$ticks"); do
    [ -e part.fold2.h5.ckpt ] && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.02
done
kill -KILL $pid 2> /dev/null
wait $pid 2> /dev/null
[ -e part.fold1.h5.ckpt ] && [ ! -e part.csv ] ||
    fail "not stopped in time: $(ls)"
train -o part.h5 --log-csv part.csv --resume || fail "resumed: $(cat log)"
grep -q 'no step is left to train' log || fail "fold 1 is trained again"
for k in 1 2 3; do
    cmp -s whole.fold$k.h5 part.fold$k.h5 || fail "fold $k differs"
done
cmp -s whole.csv part.csv || fail "results: $(diff whole.csv part.csv)"
ls part.*.ckpt > out 2> err && fail "checkpoints stay: $(cat out)"

# 3. What is refused, in one line.
says 2 'folds=1: two' "$bin/convtt-train" $common -o x.h5 --folds 1
says 2 'val has no effect' "$bin/convtt-train" $common -o x.h5 --val clips
says 1 'folds=90: the 36 clips are' "$bin/convtt-train" $common -o x.h5 \
    --folds 90
says 1 'whole.csv: is there already and is no results' "$bin/convtt-train" \
    $common -o x.h5 --log-json whole.csv
says 2 'whole.fold2.h5: given for two files' "$bin/convtt-train" $common \
    -o whole.h5 --init whole.fold2.h5
says 2 'whole.fold3.h5: given for two files' "$bin/convtt-train" $common \
    -o whole.h5 --teacher whole.fold3.h5
[ ! -e x.fold1.h5 ] || fail "a model of a run that was refused"
exit $failed
