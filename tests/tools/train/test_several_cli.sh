#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_several_cli.sh: clips with several labels, their colours and a direction:
# training, packs, folds, inference, thresholds, INT8, events at the same time,
# and what is refused.
set -u
tools="convtt-compress convtt-data convtt-train convtt-info convtt-infer"
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"

# make_pictures CLIPS SEED FOLDER: a list of folders of 8 pictures, in which a
# red, a green or a yellow (both labels) square stands still or goes left or
# right.
make_pictures() {
    echo path,label
    LC_ALL=C awk -v n="$1" -v seed="$2" -v dir="$3" 'BEGIN {
        srand(seed)
        split("red green red|green", colour)
        split("left right still", move)
        for (k = 0; k < n; k++) {
            c = k % 3 + 1; d = int(k / 3) % 3 + 1
            v = d == 1 ? -1 : d == 2 ? 1 : 0
            x = int(rand() * 5) + (d == 1 ? 7 : d == 2 ? 0 : 3)
            y = int(rand() * 11)
            on = sprintf("%c", 200 + int(rand() * 50))
            off = sprintf("%c", 1 + int(rand() * 20))
            system("mkdir -p " dir "/" k)
            for (t = 0; t < 8; t++) {
                f = sprintf("%s/%d/%04d.ppm", dir, k, t)
                printf "P6\n16 16\n255\n" > f
                for (j = 0; j < 16; j++)
                    for (i = 0; i < 16; i++) {
                        b = i >= x + v * t && i < x + v * t + 5 && j >= y &&
                            j < y + 5
                        printf "%s%s%s", b && c != 2 ? on : off,
                            b && c != 1 ? on : off, off > f
                    }
                close(f)
            }
            print dir "/" k "," colour[c] (d < 3 ? "|" move[d] : "")
        }
    }'
}
make_pictures 180 1 a > train.csv
make_pictures 90 2 b > val.csv
make_pictures 60 3 c > more.csv
cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=8 mean=0.2 std=0.25
state p of=x
concat d in=x,p
conv e in=d out=12 kernel=5 stride=2 pad=2
act f in=e kind=relu
conv e2 in=f out=16 kernel=3 stride=2 pad=1
act f2 in=e2 kind=relu
pool q in=f2 kind=max
clip
window w in=q steps=4
pool r in=w kind=avg
conv y in=r out=4
END
run='--fps 8 --val val.csv --batch 9 --threads 1 --lr 0.01'
train() { "$bin/convtt-train" tiny.net "$@" > log 2>&1 < /dev/null; }
above() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x > y) }'; }

# 1. Both attributes are learnt: the mean average precision, in the logs too.
train --data train.csv $run --epochs 15 -o m.h5 --log-csv log.csv \
    --log-json log.json || fail "train: $(tail -3 log)"
grep -q 'training: 180 clips of 4 classes, several labels per clip' log ||
    fail "the set: $(head -3 log)"
map=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
               END { print $at["val_map"] }' log.csv)
above "$map" 0.9 || fail "mAP $map: $(tail -6 log)"
grep -q '"val_mean_map":' log.json || fail "JSON: $(tail -1 log.json)"
grep -qE '^left +30 +[0-9.]+%' log || fail "no average precision: $(cat log)"
grep -qE 'm.h5 written: mAP [0-9.]+%, top-1' log || fail "end: $(tail -1 log)"
"$bin/convtt-info" --all m.h5 > info
grep -q '^labels  *several per clip' info || fail "info: $(head info)"
[ "$(grep -c '^answers' info)" = 1 ] || fail "answers: $(head info)"
grep -q '^several$' info || fail "no line 'several' in the text"
grep -q 'val_map=' info || fail "history: $(tail -2 info)"

# 2. A pack trains the same model, and a run that paused goes on as it would
# have.
"$bin/convtt-data" pack train.csv --out train.h5 --model tiny.net --fps 8 \
    > out 2>&1 || fail "pack: $(cat out)"
"$bin/convtt-info" train.h5 > info
grep -q '180 of 4 classes, several labels per clip' info || fail "$(cat info)"
"$bin/convtt-data" check train.h5 > out 2>&1 || fail "check: $(cat out)"
train --data train.csv $run --epochs 4 -o list.h5 || fail "list: $(cat log)"
train --data train.h5 $run --epochs 4 -o pack.h5 || fail "pack: $(cat log)"
texts() { "$bin/convtt-infer" --threads 1 --json "$1" val.csv --fps 8 |
              sed 's/,"ms":[0-9.]*//'; }
texts list.h5 > list.json
texts pack.h5 > pack.json
cmp -s list.json pack.json || fail "a pack trains another model"
train --data train.csv $run --epochs 4 --pause 2 -o part.h5 \
    --checkpoint part.ckpt || fail "pause: $(cat log)"
train --data train.csv $run --epochs 4 -o part.h5 --checkpoint part.ckpt \
    --resume || fail "resume: $(cat log)"
cmp -s list.h5 part.h5 || fail "a resumed run makes another model"

# 3. What changes targets: mixed clips, weights of classes, a teacher, its own
# answers, losses on the way; folds; the doctor.
for o in '--mixup 0.3 --class-weights balanced --label-smooth 0.1' \
    '--sampler balanced --teacher m.h5' \
    '--self-distil 0.3 --observe uniform:0.2-1 --frame-loss linear'; do
    train --data train.csv $run --epochs 2 $o -o new.h5 || fail "$o: $(cat log)"
    grep -q 'written: mAP' log || fail "$o: $(tail -2 log)"
done
train --data train.csv --fps 8 --folds 2 --epochs 1 --lr 0.01 -o fold.h5 ||
    fail "folds: $(cat log)"
grep -q 'fold  *clips  *mAP at 25%' log || fail "folds: $(tail -8 log)"
train --data train.csv $run --doctor > /dev/null
grep -q '4 classes with 60 to 120 of 180 clips, several labels' log ||
    fail "doctor: $(cat log)"
grep -q 'an even guess of 4 classes has 2.773' log || fail "doctor: $(cat log)"

# 4. Answers: the classes over their thresholds, and these calibrated.
"$bin/convtt-infer" m.h5 val.csv --fps 8 > out 2>&1 || fail "infer: $(cat out)"
above "$(awk '$1 == "100%" { print $3 + 0 }' out)" 90 || fail "$(tail -3 out)"
"$bin/convtt-infer" m.h5 val.csv --fps 8 --json > json 2>&1
grep -q '"labels":\["red","green","left"\]' json || fail "$(head -3 json)"
grep -q '"there":true' json || fail "no classes are there: $(head -1 json)"
tail -1 json | grep -q '"map":' || fail "no mAP: $(tail -1 json)"
"$bin/convtt-infer" m.h5 b/2 --fps 8 --observe 1 > out 2>&1
grep -qE '% red.*' out || fail "b/2: $(cat out)"
[ "$(grep -oE '% (red|green|left|right)' out | wc -l)" -ge 2 ] ||
    fail "one class only: $(cat out)"
"$bin/convtt-infer" --calibrate m.h5 more.csv --fps 8 > out 2>&1 ||
    fail "calibrate: $(cat out)"
grep -qE '^left +[0-9]+ +0\.[0-9]+ +[0-9.]+%' out || fail "$(cat out)"
"$bin/convtt-info" --all m.h5 > info
grep -q '^thresholds  *of each class, from 60 clips' info ||
    fail "the thresholds are not stored"

# 5. INT8, pruned, with the teacher's probabilities.
"$bin/convtt-compress" m.h5 --data train.csv --fps 8 --val val.csv --lr 0.003 \
    --prune 0.5 --prune-least 100 --int8 auto --choose-by rules --threads 1 \
    --teacher m.h5 --retrain-epochs 2 -o s.h5 --report s.json > log 2>&1 ||
    fail "compress: $(tail -3 log)"
grep -q '^mAP after 25/50/100% of 90' log || fail "report: $(cat log)"
grep -q '"map": \[' s.json || fail "JSON: $(head -c 400 s.json)"
"$bin/convtt-info" --all s.h5 > info
grep -q '^quant ' info || fail "no INT8: $(cat info)"
grep -q '^several$' info || fail "a compressed model has one label per clip"
grep -q '^thresholds  *0.5' info || fail "thresholds of another model"
"$bin/convtt-infer" s.h5 val.csv --fps 8 > out 2>&1 || fail "infer: $(cat out)"
above "$(awk '$1 == "100%" { print $3 + 0 }' out)" 90 || fail "$(tail -3 out)"

# 6. Events of several classes go on at once.
"$bin/convtt-infer" m.h5 --stream 'b/2/%04d.ppm#@8' --smooth 0 --least 0.3 \
    --merge 0.1 --stats 0 > out 2>&1 < /dev/null || fail "stream: $(cat out)"
awk '/^begin/ { on++; most = on > most ? on : most } /^end/ { on-- }
     END { exit !(most >= 2 && on == 0) }' out || fail "events: $(cat out)"

# 7. Refused: early decisions, budgets, a model or a teacher of one label.
says 1 'no single answer to decide for' "$bin/convtt-infer" --decide m.h5 b/0 \
    --fps 8
says 2 'counts right and wrong clips' "$bin/convtt-compress" m.h5 \
    --data train.csv --fps 8 --val val.csv --budget bytes=3k -o new.h5
(echo path,label
 awk -F'[,|]' 'NR > 1 { print $1 "," $(NR % 2 ? 2 : NF) }' train.csv) > one.csv
train --data one.csv --fps 8 --val none --epochs 1 -o one.h5 ||
    fail "one label: $(cat log)"
"$bin/convtt-info" --net one.h5 | grep -q several && fail "one label is several"
says 2 "model's classes exclude each other" "$bin/convtt-train" tiny.net \
    --data one.csv --fps 8 --val val.csv --epochs 1 -o new.h5
says 1 'teacher answers with one label per clip, the model with several' \
    "$bin/convtt-train" tiny.net --data train.csv $run --epochs 1 -o new.h5 \
    --teacher one.h5
says 2 "model's classes exclude each other" "$bin/convtt-compress" one.h5 \
    --data train.csv --fps 8 --val val.csv --half -o new.h5
exit $failed
