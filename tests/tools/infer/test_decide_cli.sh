#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_decide_cli.sh: convtt-infer --calibrate finds thresholds and stores them
# in the model, --decide decides by them, and other models lose them.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
infer=$bin/convtt-infer

make_net
make_clips
"$bin/convtt-data" synth new --clips 100 --size 16 --seed 3 > out 2>&1 ||
    { cat out; exit 1; }
says 0 'm.h5 written' "$bin/convtt-train" tiny.net --data clips --batch 8 \
    --threads 1 --max-steps 40 -o m.h5
# A list of all clips of "new", which has no splits.
awk -F'"' '/"id"/ { for (i = 2; i < NF; i++) {
                        if ($i == "id") id = $(i + 2)
                        if ($i == "template") {
                            gsub(/[][]/, "", $(i + 2))
                            print "new/20bn-something-something-v2/" id \
                                ".webm," $(i + 2) } } }' \
    new/train.json new/validation.json > list.csv
n=$(wc -l < list.csv)
[ "$n" -ge 70 ] || { echo "a list of $n clips"; exit 99; }
set -- m.h5 list.csv --threads 1
cp m.h5 plain.h5

# Clips of the training promise too much.
"$bin/convtt-train" tiny.net --data list.csv --val none --batch 8 --threads 1 \
    --max-steps 2 -o seen.h5 > out 2>&1 || fail "training: $(cat out)"
"$infer" --calibrate seen.h5 list.csv --threads 1 --max-gap 0.9 > out 2> err
grep -q 'list.csv: the model was trained on these clips' err ||
    fail "no warning: $(cat err)"
cp plain.h5 other.h5
"$infer" --calibrate other.h5 list.csv --threads 1 --max-gap 0.9 > out 2> err
grep -q 'was trained on' err && fail "a warning: $(cat err)"

# 1. What is refused, and leaves the model as it was.
says 1 'm.h5: has no thresholds' "$infer" --decide "$@"
says 1 "$n clips are too few .* at least 459 are needed; $n allow --max-gap" \
    "$infer" --calibrate "$@" --max-gap 0.01 --delta 0.01
says 1 'conditional: at least 89 are needed' "$infer" --calibrate m.h5 \
    clips --split test --guarantee conditional
says 2 'not trained on, not --split train' "$infer" --calibrate "$@" \
    --split train
says 2 'clips has splits: --calibrate needs --split test' "$infer" \
    --calibrate m.h5 clips
says 2 'list.csv is given twice' "$infer" --calibrate "$@" list.csv
says 2 'calibrate.*decide|decide.*calibrate' "$infer" --calibrate --decide "$@"
says 2 'every' "$infer" --decide --every 2 "$@"
says 2 'observe' "$infer" --calibrate --observe 0.5 "$@"
says 2 'predict' "$infer" --decide --predict 2 "$@"
says 2 'bench' "$infer" --decide --bench m.h5
for o in max-gap=0.1 delta=0.2 guarantee=marginal answers=a.csv; do
    says 2 "${o%%=*}.*calibrate" "$infer" --decide "--$o" "$@"
done
for o in max-gap=0 max-gap=1 delta=0 delta=nan guarantee=sure; do
    says 2 "${o%%=*}" "$infer" --calibrate "--$o" "$@"
done
says 2 'answers would replace the model' "$infer" --calibrate "$@" \
    --answers m.h5
says 2 'list.csv' "$infer" --calibrate "$@" --answers list.csv
cmp m.h5 plain.h5 || fail "a refused calibration changes the model"

# 2. Calibrated: all else in the file is as it was.
gap=0.25
says 0 "marginal guarantee for a gap of 25% .* from $n clips" "$infer" \
    --calibrate "$@" --max-gap $gap --guarantee marginal --answers a.csv
grep -q 'replaced' out && fail "replaced what was not there: $(cat out)"
says 0 "early decision +marginal gap of 25% .*, from $n clips" \
    "$bin/convtt-info" --all m.h5
grep -v '^early\|^model ' out > with
"$bin/convtt-info" --all plain.h5 | grep -v '^early\|^model ' |
    sed 's/plain.h5/m.h5/' > without
sed -i 's/[0-9]* bytes/bytes/' with without
cmp with without || fail "more than the thresholds changed"
"$infer" "$@" --json > a 2>&1
"$infer" plain.h5 "${@:2}" --json > b 2>&1
cmp <(sed 's/"ms":.*//' a) <(sed 's/"ms":.*//' b) || fail "answers changed"
[ "$(head -1 a.csv)" = clip,label,end,answer,frames,frame,confidence ] ||
    fail "$(head -2 a.csv)"
[ "$(cut -d, -f1 a.csv | sort -u | wc -l)" = $((n + 1)) ] ||
    fail "clips of --answers"
# One clip that is the surest where it is wrong, if the answer at its end is
# right: no threshold before that.
one=$(awk -F, 'NR > 1 { if ($7 > most[$1]) { most[$1] = $7
                                              bad[$1] = $3 != $4 ? $3 : "" } }
               END { for (c in bad) if (bad[c]) print c "," bad[c] }' a.csv |
      sort | head -1 | tr -d '"')
[ -n "$one" ] || fail "no clip changes its class"
echo "new/20bn-something-something-v2/$one" > one.csv
cp m.h5 before.h5
says 1 'no early decision is sure' "$infer" --calibrate m.h5 one.csv \
    --max-gap 0.9
cmp m.h5 before.h5 || fail "thresholds lost"
says 0 '"calibrated":\{.*"checks":\[\{"frame":1,' "$infer" --calibrate "$@" \
    --max-gap $gap --guarantee marginal --json
grep -q '"replaced":true' out || fail "replaced nothing: $(cat out)"
lost=$(sed 's/.*"lost":\([0-9.]*\),"seen".*/\1/' out)
seen=$(sed 's/.*"seen":\([0-9.]*\),.*/\1/' out)

# 3. Decided: on the same clips what calibration said; the end of undecided
# clips is that of recognition, and the threshold is that of the table.
want="\"clips\":$n,.*\"seen\":$seen,.*\"known\":$n,.*\"lost\":$lost,"
says 0 "\"decided\":\{$want" \
    "$infer" --decide "$@" --json
grep -c '"early":true' out > early
[ "$(cat early)" -gt 10 ] || fail "only $(cat early) decided early"
for workers in 3; do
    "$infer" --decide "$@" --json --workers $workers | sed 's/"ms":.*//' > more
    cmp more <(sed 's/"ms":.*//' out) || fail "--workers $workers"
done
grep -o '"file":"[^"]*","frame":[0-9]*' out | sed 's/.*\///; s/".*:/ /' |
    sort > at
awk -F, -v least="$("$infer" --calibrate "$@" --max-gap $gap --guarantee \
        marginal --json | sed 's/.*"threshold":\([0-9.e-]*\),.*/\1/')" '
    NR > 1 { gsub(/"/, "", $1); last[$1] = $5
             if ($7 >= least + 0 && !($1 in at)) at[$1] = $6 }
    END { for (c in last) print c, c in at ? at[c] : last[c] }' a.csv |
    sort > want
cmp at want || fail "decided at other frames: $(diff at want | head -3)"
says 0 '^[0-9]+.webm +[0-9]+/[0-9]+ .* (early|end) ' "$infer" --decide "$@"
grep -qE '^clips +early +frames seen +saved +known +top-1 ' out &&
    grep -qE "^ *$n +[0-9]+ +[0-9.]+% " out || fail "no table: $(tail -3 out)"
# Without classes a clip ends where it is decided; a bad clip is skipped.
printf 'no clip' > bad.webm
says 0 'bad.webm' "$infer" --decide m.h5 bad.webm \
    new/20bn-something-something-v2/1.webm
grep -q known out && fail "classes that nobody knows: $(cat out)"

# Streams decide as clips do, once after each reset, beside other streams, too.
"$infer" --decide "$@" --json > decided 2> err
grep '"early":true' decided | head -3 > early
grep -o '"file":"[^"]*' early | cut -d'"' -f4 > streams
what() { grep -oE '"(frame|confidence)":[0-9.]+|"class":"[^"]*"'; }
says 0 '"total"' "$infer" m.h5 --decide --streams streams --json --threads 1
cp out many
while read -r clip; do
    grep -F "\"$clip\"" early | what | sort > want
    says 0 '"total"' "$infer" m.h5 --decide --stream "$clip" --json --threads 1
    for f in out many; do
        grep '^{"decided"' $f | grep -F "\"stream\":\"$clip\"" |
            sed 's/"decided"/"class"/' | what | sort > got
        cmp want got || fail "$f: $clip: $(cat want got)"
    done
done < streams
says 0 'new.*webm +decided after [0-9]+ frames? .*% ' "$infer" m.h5 \
    --decide --streams streams
frames() { head -c $((16 * 16 * 3 * 40)) /dev/zero | tr '\0' "$1"; }
frames '\0' > black.raw
frames '\377' > white.raw
cat black.raw white.raw black.raw > cuts.raw
made() {    # made FILE...: the decisions in these, by their frame and class
    for f; do
        "$infer" m.h5 --decide --stream "$f" --raw 16x16xrgb24@6 --json \
            --threads 1 --reset-on cut | grep '^{"decided"' |
            sed 's/,"seconds.*//'
    done
}
made black.raw white.raw black.raw > want
made cuts.raw | cmp - want || fail "after cuts: $(cat want; made cuts.raw)"
[ -s want ] || fail 'no decision before or after a cut'
says 2 'sliding excludes --decide' "$infer" m.h5 --decide --stream black.raw \
    --sliding 5
says 1 'plain.h5: has no thresholds' "$infer" plain.h5 --decide --streams \
    streams

# With a head: a third of the clips are not calibrated on; streams, alone and
# together, decide as clips do; another answer is compared than without.
cp m.h5 head.h5
says 0 "\"fitted\":$((n / 3))," "$infer" --calibrate head.h5 list.csv \
    --threads 1 --max-gap 0.5 --head on --guarantee marginal --json
grep -q "\"clips\":$((n - n / 3))," out || fail "calibrated on: $(cat out)"
says 0 'marginal gap of 50% .*, confidence head$' "$bin/convtt-info" head.h5
"$infer" --decide head.h5 list.csv --threads 1 --json > decided 2> err
grep '"early":true' decided | tail -4 > early
[ -s early ] || fail 'nobody decides early with a head'
grep -o '"file":"[^"]*' early | cut -d'"' -f4 > streams
"$infer" head.h5 --decide --streams streams --json --threads 1 > many 2> err
while read -r clip; do
    grep -F "\"$clip\"" early | what | sort > want
    grep '^{"decided"' many | grep -F "\"stream\":\"$clip\"" |
        sed 's/"decided"/"class"/' | what | sort > got
    cmp want got || fail "with a head: $clip: $(cat want got)"
done < streams
says 2 'head.*calibrate' "$infer" --decide --head on "$@"
grep -m2 webm list.csv > two.csv
says 1 'head: 2 clips, too few: 3 at least' "$infer" --calibrate m.h5 \
    two.csv --head on
head -8 list.csv > eight.csv
says 1 '6 clips \(without the 2 of --head\) are too few' "$infer" \
    --calibrate m.h5 eight.csv --head on

# 4. Other models do not decide by these thresholds.
says 0 'c.h5 written' "$bin/convtt-compress" m.h5 -o c.h5 --data clips \
    --prune 0.5 --prune-least 1 --retrain-epochs 0 --int8 none
says 1 'c.h5: has no thresholds' "$infer" --decide c.h5 list.csv
says 0 'i.h5 written' "$bin/convtt-train" --init m.h5 --data clips --batch 8 \
    --threads 1 --max-steps 1 -o i.h5 --checkpoint k.h5
says 1 'i.h5: has no thresholds' "$infer" --decide i.h5 list.csv
"$bin/convtt-info" --strip s.h5 m.h5 || fail 'no s.h5'
says 0 '"decided"' "$infer" --decide s.h5 list.csv --json

# 5. A checkpoint keeps its state; clips that are there twice; no class known.
cp k.h5 before.h5
says 1 'k.h5: is a checkpoint of a training' "$infer" --calibrate k.h5 clips \
    --split validation --max-gap 0.9
cmp k.h5 before.h5 || fail 'calibration changed a checkpoint'
says 0 'warning: --split val: if these clips chose' "$infer" --calibrate m.h5 \
    clips --split val --max-gap 0.9
sed 's|new/|./new/|' list.csv > again.csv
says 0 "warning: $n clips left out that have the frames of others" "$infer" \
    --calibrate "$@" again.csv --max-gap $gap
says 1 'no clip has a class of the model' "$infer" --calibrate m.h5 \
    new/20bn-something-something-v2/1.webm
grep -m8 'left to right' list.csv > few.csv
says 0 'warning: no clip of 11 of the 12 classes' "$infer" --calibrate m.h5 \
    few.csv --max-gap 0.5

# 6. A clip that goes between the reading of the list and its own is named.
class=$(sed -n '1s/.*,//p' list.csv)
cp "$(sed -n '1s/,.*//p' list.csv)" last.webm
echo "last.webm,$class" > goes.csv
cat > goes.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
int open64(const char *path, int flags, int mode)
{
    int (*real)(const char *, int, int);
    *(void **)&real = dlsym(RTLD_NEXT, "open64");
    if (strstr(path, "last.webm"))
        unlink(path);
    return real(path, flags, mode);
}
int open(const char *path, int flags, int mode)
{
    return open64(path, flags, mode);
}
END
if grep -qs -e __asan_init -e __tsan_init "$bin/.libs/convtt-infer" "$infer" ||
    ! ${CC:-cc} -shared -fPIC -o goes.so goes.c -ldl 2> /dev/null; then
    echo 'not tested: a clip that goes'
else
    says 1 'last.webm: was there when the calibration began, and is gone' \
        env LD_PRELOAD="$PWD/goes.so" "$infer" --calibrate "$@" goes.csv \
        --max-gap 0.9
fi
rm -f last.webm
says 0 'last.webm: .*skipped' "$infer" --calibrate "$@" goes.csv --max-gap 0.9
exit $failed
