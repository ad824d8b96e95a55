#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_report_cli.sh: --report-html of a training and a compression: pages that
# need nothing else, with the run's numbers, whatever the names of classes and
# clips.
set -u
tools='convtt-train convtt-compress'
. "${srcdir:-.}/tests/lib/cli.sh"

evil='<img src=x onerror=alert(1)>'
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
learn() { "$bin/convtt-train" tiny.net --data clips --fps 4 -o m.h5 --batch 4 \
    --lr 1e-4 --threads 1 --report-html r.html "$@" > log 2>&1 < /dev/null; }
learn --epochs 3 || fail "training: $(tail -3 log)"
[ "$(wc -c < r.html)" -lt 1000000 ] || fail "a page of $(wc -c < r.html) bytes"
grep -q '<img src=x\|<i>\|<script' r.html && fail "names are markup"
grep -oE '(src|href)="[^"]{0,20}' r.html | grep -v '"data:' &&
    fail "the page loads something"
for words in 'Loss by epoch' 'Right answers by epoch' 'Learning rate' \
    'first frame alone' '&#60;img src=x onerror=alert(1)&#62;' \
    'true class (row)' 'Most wrong'; do
    grep -qF "$words" r.html || fail "the page has no '$words'"
done
# The loss of the first epoch, as in the log.
loss=$(sed -n 's/^epoch 1\/3: train loss \([0-9.]*\),.*/\1/p' log)
sed 's/<[^>]*>/ /g' r.html | grep -qE "training +1 +$loss" ||
    fail "loss $loss is not in the page"
balanced() {
    for tag in table tr td th div figure svg h2 p span; do
        a=$(grep -oE "<$tag[ >]" "$1" | wc -l)
        b=$(grep -o "</$tag>" "$1" | wc -l)
        [ "$a" = "$b" ] || fail "$1: $a <$tag>, $b </$tag>"
    done
}
balanced r.html

"$bin/convtt-compress" m.h5 -o s.h5 --data clips --fps 4 \
    --share 2 --share-epochs 1 --batch 4 --threads 1 --report-html c.html \
    --report c.json > log 2>&1 || fail "compression: $(tail -3 log)"
for words in "written</td><td>s.h5, $(wc -c < s.h5) bytes" 'shared' \
    'Bytes of each weight' 'Validation clips after each stage'; do
    grep -qF "$words" c.html || fail "the page of a compression has no '$words'"
done
balanced c.html

# Another file is not replaced; a page that cannot be written stops no training.
echo mine > other.html
says 1 'other.html: is there already and is no report' "$bin/convtt-train" \
    tiny.net --data clips --fps 4 -o n.h5 --report-html other.html
mkdir -p gone
"$bin/convtt-train" tiny.net --data clips --fps 4 -o n.h5 --epochs 100000 \
    --batch 4 --threads 1 --report-html gone/r.html > log 2>&1 < /dev/null &
pid=$!
await 'a page' test -e gone/r.html
mv gone moved
await 'a warning' grep -q 'warning: --report-html: .*stays' log
kill -0 $pid || fail "it ended: $(tail -3 log)"
kill -TERM $pid
wait $pid
grep -q 'Loss by epoch' moved/r.html || fail "the old page is damaged"

if command -v chromium > browser; then
    chromium --headless --no-sandbox --disable-gpu --enable-logging=stderr \
        --dump-dom "file://$PWD/r.html" > dom 2> err
    grep -q 'Loss by epoch' dom || fail "not shown: $(tail -3 err)"
    chromium --headless --no-sandbox --disable-gpu --enable-logging=stderr \
        --dump-dom "file://$PWD/c.html" > dom 2>> err
    grep -q 'Bytes of each weight' dom || fail "not shown: $(tail -3 err)"
    grep CONSOLE err && fail "errors in the browser"
fi
exit $failed
