#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_infer_cli.sh: what convtt-infer prints does not depend on the threads
# that decode; a prediction has the figures that the training printed.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
models=$(cd "${srcdir:-.}/models" && pwd)
. "${srcdir:-.}/tests/lib/cli.sh"
infer=$bin/convtt-infer

make_net
make_clips
says 0 'm.h5 written' "$bin/convtt-train" tiny.net --data clips --batch 4 \
    --threads 1 --max-steps 2 -o m.h5

# 1. Threads that decode.  Bad clips and bad operands are told in their turn,
# and "-" answers before it reads on.
printf 'no clip' > bad.webm
mapfile -t files < <(ls clips/20bn-*/*.webm | head -12)
set -- "${files[@]:0:3}" bad.webm "${files[3]}" nowhere "${files[@]:4:4}"
json() {
    "$infer" m.h5 --json --threads 1 "$@" 2>&1 | sed 's/"ms":[0-9.]*//'
}
json --workers 0 "$@" > of.0
[ "$(grep -c '"frame":' of.0)" = 24 ] || fail "answers: $(cat of.0)"
[ "$(grep -n 'bad.webm.*skipped' of.0 | cut -d: -f1)" = 10 ] ||
    fail "bad.webm is not in its turn: $(cat of.0)"
[ "$(grep -n 'nowhere.*skipped' of.0 | cut -d: -f1)" = 14 ] ||
    fail "nowhere is not in its turn: $(cat of.0)"
json --workers 0 clips > all.0
for n in 1 2 7; do
    json --workers $n "$@" | cmp - of.0 || fail "--workers $n changes answers"
    json --workers $n clips | cmp - all.0 || fail "--workers $n: a folder"
done
says 1 'bad.webm' "$infer" m.h5 --strict --workers 3 "$@"
[ "$(grep -c '100\|[0-9]/' out)" = 9 ] || fail "before an error: $(cat out)"
# A list that cannot be read ends it before the first answer.
printf '%s,a\n%s,\n' "${files[0]}" "${files[1]}" > bad.txt
says 1 'bad.txt:2: no label' "$infer" m.h5 "${files[0]}" bad.txt
[ ! -s out ] || fail "before a bad list: $(cat out)"
mkfifo ask
"$infer" m.h5 --json --workers 4 - < ask > answers 2> err & pid=$!
exec 9> ask
for i in 1 2; do
    echo "${files[$i]}" >&9
    for _ in $(seq "$ticks"); do
        [ "$(grep -c '"frame":' answers)" = $((3 * i)) ] && break
        sleep 0.05
    done
    [ "$(grep -c '"frame":' answers)" = $((3 * i)) ] ||
        fail "no answer before the next path: $(cat answers err)"
done
exec 9>&-
wait $pid || fail "paths from a pipe: $(cat err)"

# Answers that can be judged: right or wrong, the clips that are wrong at the
# end, as a file; a clip without a class as a page.
"$infer" m.h5 clips --wrong wrong.csv > plain 2> err ||
    fail "--wrong: $(cat err)"
head -1 plain | grep -qE '^clip +frame +time +answers$' ||
    fail "no heading: $(head -1 plain)"
clips=$(sed -n 's/^100%  *\([0-9]*\) .*/\1/p' plain)
wrong=$(sed -n 's/^wrong at the end: \([0-9]*\) of .*/\1/p' plain)
last='^[^ ]+ +([0-9]+)\/\1 .* (right|wrong) '
[ "$(grep -cE "$last" plain)" = "$clips" ] || fail "answers: $(cat plain)"
[ "$(grep -E "$last" plain | grep -c ' wrong ')" = "$wrong" ] ||
    fail "not $wrong wrong answers: $(cat plain)"
[ "$(grep -E "$last" plain | grep -c '(true: ')" = "$wrong" ] ||
    fail "a wrong answer without its true class: $(cat plain)"
[ "$(wc -l < wrong.csv)" = $((wrong + 1)) ] || fail "$(cat wrong.csv)"
says 0 '^1.webm' "$infer" m.h5 "${files[@]:0:2}" --report-html film.html
[ "$(grep -c '<img alt="frame' film.html)" = 8 ] || fail 'frames of a clip'
points=$(sed -n 's/^<path fill="none".* d="\([^"]*\)".*/\1/p' film.html |
         sed 's/H[0-9.]*//g; s/[ML]/ x/g; s/x[0-9.]* [0-9.]*/x/g')
frames=$(sed -n 's|^1.webm  *[0-9]*/\([0-9]*\) .*|\1|p' out | tail -1)
[ "$(echo "$points" | wc -l)" = 5 ] &&
    [ "$(echo "$points" | head -1 | wc -w)" = "$frames" ] ||
    fail "curves of a clip: $frames frames, $points"
# A clip of one frame has one answer, of which each ratio counts.
mkdir -p one/a
{ printf 'P6\n24 24\n255\n'; head -c 1728 /dev/zero; } > one/a/1.ppm
says 0 '^1.ppm +1/1 ' "$infer" m.h5 one/a/1.ppm
[ "$(grep -c '^1.ppm' out)" = 1 ] || fail "a picture: $(cat out)"
cp one/a/1.ppm one/a/2.ppm
printf 'one/a/%s,Moving something up\n' 1.ppm 2.ppm > one.csv
says 0 '^25% +2 ' "$infer" m.h5 one.csv
grep -qE '^100% +2 ' out || fail "pictures: $(cat out)"
says 2 'm.h5: given for two files' "$infer" m.h5 clips --wrong m.h5
says 1 'is there already and is no table' "$infer" m.h5 clips \
    --wrong "${files[0]}"
says 1 'wrong: no clip has a class' "$infer" m.h5 "${files[0]}" --wrong no.csv
[ ! -e no.csv ] || fail 'a table without clips'

# 2. The times of decoding are there, per clip; that of waiting where clips are
# decoded ahead.
says 0 '^decode +8 ' "$infer" m.h5 --time "${files[@]:0:8}"
grep -qE '^wait +8 ' out || fail "no times of waiting: $(cat out)"
says 0 '"decode_ms":\{"count":8,.*"wait_ms":\{"count":8,.*"frame_ms"' \
    "$infer" m.h5 --time --json --workers 2 "${files[@]:0:8}"
says 0 '^decode +2 ' "$infer" m.h5 --every 2 --time "${files[@]:0:2}"
grep -q '^wait' out && fail "--every waits: $(cat out)"
says 2 'workers.*every' "$infer" m.h5 --every 2 --workers 3 "${files[0]}"

# 3. The test of a training and a prediction with the same windows: the same
# figures.  A margin to crop, and three channels of which each has its light.
for line in 'c=1 colour=gray' 'c=3 scale=1.25 mean=0.4,0.5,0.6 std=0.2,0.3,0.5'
do
    channels=${line:2:1}
    cat > next.net << END
input x h=16 w=16 $line
convlstm h in=x hidden=4 kernel=3
conv y in=h out=$channels
END
    "$bin/convtt-train" next.net --task predict --data clips --batch 4 \
        --threads 1 --max-steps 3 -o next.h5 --input-frames 3 \
        --future-frames 2 > log 2>&1 || fail "$(cat log)"
    says 0 '^mean ' "$infer" next.h5 --predict 2 --input-frames 3 \
        --threads 1 --csv ahead.csv --workers 2 clips
    # Rows and columns as the table of the training has them, to its digits.
    awk -F, 'NR > 1 { print $1, $3, $7, $8, $5, $6, $4 }' ahead.csv |
        paste -d ' ' - <(awk '/^(1|2|mean) / { print $2, $3, $4, $5, $8, $9 }' \
                             log) > pairs
    awk 'function far(a, b, digit) { d = a - b
                                     return d > digit || d < -digit }
         { for (i = 2; i <= 7; i++)
               bad += far($i, $(i + 6), i == 5 || i == 6 ? .00051 : .0051) }
         END { exit NF != 13 || NR != 3 || bad }' pairs ||
        fail "$line: training and prediction measure otherwise: $(cat pairs)"
    grep -q "^$(tail -1 ahead.csv | cut -d, -f 2) sequences, 3 obs" log ||
        fail "$line: other windows: $(cat log ahead.csv)"
done

# 4. The residual predictor learns with its answers fed back, is compressed with
# INT8, and predicts.
says 0 'r.h5 written' "$bin/convtt-train" "$models/camera-residual.net" \
    --task predict --data clips --batch 4 --max-steps 2 --epochs 1 \
    --input-frames 3 --future-frames 2 --sampling-start 0 \
    --sampling-decay 1000 -o r.h5
says 0 'rc.h5 written' "$bin/convtt-compress" r.h5 --prune 0.5 \
    --retrain-epochs 0 --int8 minmax --data clips -o rc.h5
says 0 '^quant ' "$bin/convtt-info" --net rc.h5
says 0 '^mean +95 ' "$infer" rc.h5 --predict 2 --input-frames 3 clips
exit $failed
