#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_terminal.sh: what strangers wrote into labels and paths does not reach
# the terminal as it is; programs that are started without standard input,
# output and error write nothing into the files that take their place.
set -u
tools='convtt-compress convtt-data convtt-infer convtt-info convtt-train'
. "${srcdir:-.}/tests/lib/cli.sh"

make_net
make_clips
clip=$PWD/clips/20bn-something-something-v2/1.webm

# ---- labels and paths ----

# Escape sequences that reset and fill the screen, a bell, a tab, a line, DEL,
# C1, marks that turn text around; a letter with an accent stays.
bad='red\u001bc\u001b#8\u0007 a\tb\nc \u007f \u009b1m \u202ed\u2066 é'
want='red\\x1bc\\x1b#8\\x07 a\\tb\\nc \\x7f \\xc2\\x9b1m '\
'\\xe2\\x80\\xaed\\xe2\\x81\\xa6 é'
escaped=${bad//\\/\\\\}
rm clips/test-answers.csv    # which has the class by its old name
for f in clips/*.json; do
    sed "s/Moving something up/$escaped/; s/Moving \[something\] up/$escaped/" \
        "$f" > new && mv new "$f"
done
grep -q '"red.u001b' clips/labels.json || fail "the labels are as they were"

# plain PATTERN COMMAND...: says it, and nothing that a terminal would obey.
plain() {
    local pattern=$1
    shift
    "$@" > both 2>&1 < /dev/null
    grep -qE -- "$pattern" both ||
        fail "$*: does not say '$pattern': $(cat -v both)"
    LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' both &&
        fail "$*: control characters: $(LC_ALL=C grep -P '[^\n\x20-\x7e]' both |
              cat -v | head -3)"
    LC_ALL=C grep -qP '\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]' both &&
        fail "$*: marks of direction: $(cat -v both)"
    iconv -f UTF-8 -t UTF-8 both > of.iconv 2>&1 ||
        fail "$*: not UTF-8: $(cat -v both)"
}
plain "^$want +[0-9]+ +[0-9]+ +[0-9]+\$" "$bin/convtt-data" list clips
plain "$want" "$bin/convtt-train" tiny.net -o m.h5 --data clips --epochs 1
plain "^  [0-9]+  $want\$" "$bin/convtt-info" --all m.h5
plain "% $want( |\$)" "$bin/convtt-infer" m.h5 "$clip" --top 12
plain "^seen +clips" "$bin/convtt-infer" m.h5 clips
plain '"class":"red\\u001bc\\u001b#8\\u0007 a\\u0009b\\u000ac \\u007f '\
'\\u009b1m \\u202ed\\u2066 é"' "$bin/convtt-infer" m.h5 "$clip" --json --top 12

name=$'no\e[2J\r\xff\xc3'
shown='no\\x1b\[2J\\r\\xff\\xc3'
plain "^convtt-info: $shown" "$bin/convtt-info" "$name"
plain "^convtt-infer: $shown" "$bin/convtt-infer" "$name" "$clip"
plain "$shown" "$bin/convtt-infer" m.h5 "$name"
plain "^convtt-train: .*$shown" "$bin/convtt-train" tiny.net -o o.h5 \
    --data "$name"
plain "$shown" "$bin/convtt-train" "--$name"
plain "$shown" "$bin/convtt-data" check "$name"
plain "$shown" "$bin/convtt-compress" "$name" -o o.h5 --data clips --prune 0.5
if cp m.h5 "$name" 2> err; then
    plain "^model +$shown\$" "$bin/convtt-info" "$name"
    plain "^$shown +[0-9]+ " "$bin/convtt-info" m.h5 "$name"
else
    echo "not looked at: a file of that name ($(cat err))"
fi

# ---- closed standard streams ----

# closed STATUS COMMAND...: without any of the three.
closed() {
    local want=$1 got
    shift
    "$@" <&- >&- 2>&-
    got=$?
    [ $got = "$want" ] || fail "$* <&- >&- 2>&-: status $got, not $want"
}
train="$bin/convtt-train tiny.net --data clips --epochs 2 --threads 1 --batch 4"
$train -o open.h5 --log-csv open.csv --log-json open.json > out 2>&1 ||
    fail "training: $(cat out)"
closed 1 $train -o closed.h5 --log-csv closed.csv --log-json closed.json
cmp open.h5 closed.h5 || fail "trained without streams: another model"
for f in csv json; do    # times differ, the form does not
    sed 's/[0-9.e+-]*//g' open.$f > open.form
    sed 's/[0-9.e+-]*//g' closed.$f > closed.form
    cmp open.form closed.form || fail "the log is not one: $(cat closed.$f)"
done
closed 1 "$bin/convtt-data" synth closed-clips --clips 60 --size 24 --seed 2
diff -r clips/20bn-something-something-v2 \
    closed-clips/20bn-something-something-v2 || fail "other clips"
closed 1 "$bin/convtt-data" pack clips -o closed.pack --model tiny.net
"$bin/convtt-data" pack clips -o open.pack --model tiny.net > out 2>&1
cmp open.pack closed.pack || fail "packed without streams: another pack"
compress() {
    "$bin/convtt-compress" m.h5 --data clips --prune 0.5 --prune-least 9 \
        --retrain-epochs 1 --threads 1 --choose-by rules "$@"
}
compress -o open.small.h5 > out 2>&1 || fail "compress: $(cat out)"
closed 1 compress -o closed.small.h5
cmp open.small.h5 closed.small.h5 || fail "compressed: another model"
closed 0 "$bin/convtt-info" --strip stripped.h5 m.h5
cmp m.h5 stripped.h5 || fail "stripped without streams: another model"

# What cannot be printed is an error; what is not printed is none.
for t in $tools; do
    closed 1 "$bin/$t" --help
    closed 2 "$bin/$t" --no-such-option
    "$bin/$t" --help > out 2>&1 <&- || fail "$t --help <&-: $(cat out)"
done
closed 1 "$bin/convtt-info" --all m.h5
closed 1 "$bin/convtt-infer" m.h5 "$clip"
"$bin/convtt-infer" m.h5 "$clip" > out 2>&- <&- || fail "no stdin, no stderr"
[ -s out ] || fail "nothing printed"
[ $failed = 0 ] && echo "a terminal only shows, files hold only their own"
exit $failed
