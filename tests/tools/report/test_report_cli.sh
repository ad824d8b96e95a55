#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_report_cli.sh: --report-html of the programs: pages that need nothing
# else, with the run's numbers, whatever the names of classes and clips, and
# whatever logs hold.
set -u
tools='convtt-train convtt-compress convtt-infer convtt-info'
. "${srcdir:-.}/tests/lib/cli.sh"

# With a mark that turns the direction of text, and Hebrew.
evil=$'<img src=x onerror=alert(1)>"\u202e\u05d0\u05d1'
mkdir -p "clips/$evil" clips/dark
for k in 1 2 3 4 5 6 7 8 9; do
    for t in 1 2 3 4; do
        for of in "$evil" dark; do
            mkdir -p "clips/$of/<i>$k"
            { printf 'P6\n8 8\n255\n'
              LC_ALL=C awk -v s=$k$t -v w=${#of} 'BEGIN { srand(s)
                  for (i = 0; i < 192; i++)
                      printf "%c", 9 * w - 30 + int(rand() * 30) }'
            } > "clips/$of/<i>$k/$t.ppm"
        done
    done
done
cat > tiny.net << 'END'
input x h=8 w=8 c=3 fps=4
conv c in=x out=4 kernel=3 pad=1
act a in=c kind=relu
pool q in=a kind=avg
conv y in=q out=2
END
# A page has no markup of strangers, loads nothing, closes what it opens, and
# each of its charts has words for a reader and a table of its numbers.
check_page() {
    [ "$(wc -c < "$1")" -lt 1000000 ] || fail "$1: $(wc -c < "$1") bytes"
    grep -q $'<img src=x\\|<i>\\|<script\\|\u202e' "$1" &&
        fail "$1: names are markup"
    grep -oE '(src|href)="[^"]{0,20}' "$1" | grep -v '"data:' &&
        fail "$1 loads something"
    for tag in table tr td th div figure svg details h2 p span; do
        a=$(grep -oE "<$tag[ >]" "$1" | wc -l)
        b=$(grep -o "</$tag>" "$1" | wc -l)
        [ "$a" = "$b" ] || fail "$1: $a <$tag>, $b </$tag>"
    done
    a=$(grep -c 'role="img" aria-label="[^"]' "$1")
    b=$(grep -c '<summary>numbers' "$1")
    [ "$a" = "$b" ] && [ "$a" = "$(grep -c '<figcaption>.' "$1")" ] ||
        fail "$1: $a charts, $b tables of their numbers"
    grep -q 'NaN\|[>"( -]nan\|[>"( -]inf[<" ]' "$1" && fail "$1: no numbers"
}
has() { # has PAGE WORDS...
    for words in "${@:2}"; do
        grep -qF -- "$words" "$1" || fail "$1 has no '$words'"
    done
}

pages='r c i o n q x y d m l'
learn() { "$bin/convtt-train" tiny.net --data clips --fps 4 -o m.h5 --batch 4 \
    --lr 1e-4 --threads 1 --report-html r.html "$@" > log 2>&1 < /dev/null; }
learn --epochs 3 --log-json a.jsonl || fail "training: $(tail -3 log)"
has r.html 'Loss by epoch' 'Right answers by epoch' 'Learning rate' \
    'first frame alone' '&#60;img src=x onerror=alert(1)&#62;' \
    'true class (row)' 'Most wrong'
# The loss of the first epoch, as in the log.
loss=$(sed -n '1s/.*"loss":\([0-9.]*\),.*/\1/p' a.jsonl)
loss=$(printf %.4g "$loss")
sed 's/<[^>]*>/ /g' r.html | grep -qE "^ *1 +$loss" ||
    fail "loss $loss is not in the page"

"$bin/convtt-compress" m.h5 -o s.h5 --data clips --fps 4 \
    --share 2 --share-epochs 1 --batch 4 --threads 1 --report-html c.html \
    --report c.json > log 2>&1 || fail "compression: $(tail -3 log)"
has c.html "s.h5, $(wc -c < s.h5) bytes" 'shared' \
    'Each weight in the file' 'Validation clips after each stage' \
    'Whole clips by size' 'bits a weight' 'McNemar'

# The answers to clips: the sums of the page are those of the table.
"$bin/convtt-infer" m.h5 clips --fps 4 --threads 1 --report-html i.html \
    > out 2> log || fail "answers: $(tail -3 log)"
clips=$(sed -n 's/^100%  *\([0-9]*\) .*/\1/p' out)
cells=$(grep -oE '<td style="[^>]*>(<b>)?[0-9]+<' i.html |
        grep -oE '[0-9]+<' | tr -d '<' | paste -sd+ | bc)
[ -n "$clips" ] && [ "$cells" = "$clips" ] ||
    fail "the page has $cells clips, the table $clips"
wrong=$(sed -n 's/^wrong at the end: \([0-9]*\) of .*/\1/p' out)
right=$(grep -c '^<h2>Right</h2>' i.html)
[ "$(grep -c '^<h3>' i.html)" = $(((wrong < 6 ? wrong : 6) + right)) ] ||
    fail "clips of the page: $wrong are wrong"
has i.html 'Calibration' 'Confusion' 'always the most frequent class'
# Where the first answer is right at last, the surest of them is shown.
early=$(awk '$4 == "s" && $1 != clip { clip = $1; early = $5 == "right" }
             $4 == "s" && $2 ~ /^4\// { n += early && $5 == "right" }
             END { print n + 0 }' out)
[ $right = $((early > 0)) ] || fail "$early are right early, shown: $right"

# Of clips without a class the first is shown; with several labels, too.
"$bin/convtt-infer" m.h5 clips/dark/*1 --fps 4 --threads 1 \
    --report-html o.html > out 2> log || fail "no classes: $(tail -3 log)"
has o.html '<h2>A clip</h2>' '&#60;i&#62;1'
{ echo path,label
  name=${evil//\"/\"\"}
  for k in 1 2 3 4 5 6 7 8 9; do
      echo "\"clips/$name/<i>$k\",\"$name|same\""
      echo "clips/dark/<i>$k,dark|same"
  done
} > several.csv
sed 's/^conv y.*/conv y in=q out=3/' tiny.net > three.net
"$bin/convtt-train" three.net --data several.csv --val none --fps 4 \
    -o l.h5 --epochs 1 --batch 4 --threads 1 > log 2>&1 < /dev/null ||
    fail "several labels: $(tail -3 log)"
"$bin/convtt-infer" l.h5 several.csv --fps 4 --threads 1 \
    --report-html n.html > out 2> log || fail "several: $(tail -3 log)"
has n.html 'Mean average precision' '<h2>A clip</h2>' 'same (true)'
grep -q 'dark (true)' n.html && fail 'a class that the first clip has not'
grep -q '<h2>Confusion' n.html && fail 'several labels have no confusion matrix'

# A search, what weights bear, what a compression costs, early decisions.
echo 'lr log 1e-4 1e-2' > space.txt
"$bin/convtt-train" tiny.net --data clips --fps 4 --batch 4 --threads 1 \
    --search space.txt --trials 3 --search-method random --repeats 1 \
    --epochs 1 -o q.h5 --report-html q.html > log 2>&1 < /dev/null ||
    fail "search: $(tail -3 log)"
has q.html 'Trials by --lr' 'Most wrong' '(best)' 'true class (row)'
"$bin/convtt-compress" --sense m.h5 --data clips --fps 4 --threads 1 \
    --choose-by rules --report-html x.html > log 2>&1 ||
    fail "sense: $(tail -3 log)"
has x.html 'nats (--sense-kl)' 'divergence, nats'
"$bin/convtt-compress" --explain s.h5 --dense m.h5 --val clips --fps 4 \
    --threads 1 --explain-steps 0 --report-html y.html > log 2>&1 ||
    fail "explain: $(tail -3 log)"
has y.html 'c, sharing' 'all weights, everything'
cp m.h5 d.h5
"$bin/convtt-infer" --calibrate d.h5 clips --fps 4 --threads 1 --max-gap 0.9 \
    --delta 0.5 > out 2> log || fail "calibration: $(tail -3 log)"
"$bin/convtt-infer" --decide d.h5 clips --fps 4 --threads 1 \
    --report-html d.html > out 2> log || fail "decisions: $(tail -3 log)"
has d.html 'decided early' 'Decisions by the part of the clip'

# Models beside each other.  Trainings beside each other: a log that was cut,
# one of another version, and one with many lines.
"$bin/convtt-info" --compare m.h5 s.h5 --data clips --threads 1 \
    --report-html m.html > out 2> log || fail "models: $(tail -3 log)"
has m.html 'The same clips against m.h5' 'Whole clips by size'
grep -qE '^s\.h5 .* [0-9]+ +[0-9]+ +[0-9.e-]+ *$' out &&
    grep -q '^lost, won: whole clips that only m.h5 has right' out ||
    fail "no lost and won: $(cat out)"
learn --epochs 2 --batch 3 --log-json b.jsonl --report-html no.html ||
    fail "training: $(tail -3 log)"
head -c -30 b.jsonl > cut.jsonl
echo '{"epoch":1,"loss":2,"of_tomorrow":[1,{}]}' > other.jsonl
awk 'BEGIN { for (i = 1; i <= 50000; i++)
    printf "{\"epoch\":%d,\"loss\":%g,\"val_top1\":0.5}\n", i, 1 / i }' \
    > long.jsonl
"$bin/convtt-info" --report a.jsonl cut.jsonl other.jsonl long.jsonl \
    --report-html l.html > out 2> log || fail "logs: $(tail -3 log)"
grep -q 'cut.jsonl: 1 lines are no rows' log || fail "cut: $(cat log)"
grep -qE '^batch +4 +3' out || fail "settings: $(cat out)"
grep -qE '^a.jsonl +3 ' out && grep -qE '^cut.jsonl +1 ' out &&
    grep -qE '^long.jsonl +50000 ' out || fail "scores: $(cat out)"
has l.html 'Settings that differ' 'Loss, training' 'long.jsonl'
says 1 'tiny.net: has no row of a training' "$bin/convtt-info" \
    --report tiny.net --report-html l.html
says 2 'given for two files' "$bin/convtt-info" --report a.jsonl \
    --report-html a.jsonl

# Curves as text: each column has a letter, the first value of the loss is at
# the top or at the bottom.
"$bin/convtt-info" --watch long.jsonl > out 2> log || fail "--watch: $(cat log)"
grep -qx 'long.jsonl: 50000 epochs' out || fail "--watch: $(head -1 out)"
[ "$(grep -c '^.\{10\}|' out)" = 20 ] && grep -qE '^ +1 \|t +$' out &&
    grep -qE '^ +50.0% \|v{68}$' out || fail "--watch: $(cat out)"
printf '{"epoch":%d,"loss":%se308}\n' 1 -1 2 1 3 0 > huge.jsonl
says 0 '^ +1e\+308 \| +t' "$bin/convtt-info" --watch huge.jsonl
says 1 'tiny.net: has no row of a training: --watch' "$bin/convtt-info" \
    --watch tiny.net
says 2 'take one file' "$bin/convtt-info" --watch a.jsonl b.jsonl

for page in $pages; do
    check_page $page.html
done
[ "$(grep -c '^{' a.jsonl)" = 3 ] || fail "the log was changed"

# A page for which there is no room stays as it was; the command goes on, and
# ends with an error.
cp i.html was.html
(trap '' XFSZ
 ulimit -f 4
 exec "$bin/convtt-infer" m.h5 clips --fps 4 --threads 1 --report-html i.html \
     > /dev/null 2> log)
[ $? = 1 ] || fail "without room: $(tail -3 log)"
grep -q '^convtt-infer: the page of --report-html was not written' log ||
    fail "$(cat log)"
grep -q 'warning: --report-html: .*stays as it was' log || fail "$(cat log)"
cmp -s i.html was.html || fail "a page without room is not the old one"

# Another file is not replaced; a page that cannot be written stops no training.
echo mine > other.html
says 1 'other.html: is there already and is no report' "$bin/convtt-train" \
    tiny.net --data clips --fps 4 -o n.h5 --report-html other.html
mkdir -p gone
"$bin/convtt-train" tiny.net --data clips --fps 4 -o n.h5 --epochs 100000 \
    --batch 4 --threads 1 --report-html gone/r.html --log-json goes.jsonl \
    > log 2>&1 < /dev/null &
pid=$!
await 'a page' test -e gone/r.html
mv gone moved
await 'a warning' grep -q 'warning: --report-html: .*stays' log
kill -0 $pid || fail "it ended: $(tail -3 log)"
"$bin/convtt-info" --watch goes.jsonl > out 2>&1 || fail "$(cat out)"
grep -q 'epochs*, running' out || fail "--watch of a run: $(head -1 out)"
kill -TERM $pid
wait $pid
"$bin/convtt-info" --watch goes.jsonl > out 2>&1 || fail "$(cat out)"
grep -q running out && fail "--watch of an end: $(head -1 out)"
grep -q 'Loss by epoch' moved/r.html || fail "the old page is damaged"

if command -v chromium > browser; then
    # One page with all of them as frames: a browser is slow to start.
    for page in $pages; do
        echo "<iframe src=\"$page.html\"></iframe>"
    done > all.html
    limited chromium --headless --no-sandbox --disable-gpu \
        --enable-logging=stderr --dump-dom "file://$PWD/all.html" > dom 2> err
    [ "$(grep -c '<iframe' dom)" = 11 ] || fail "not shown: $(tail -3 err)"
    grep CONSOLE err && fail "errors in the browser"
fi
exit $failed
