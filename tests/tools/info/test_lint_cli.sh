#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_lint_cli.sh: convtt-info --lint names lines, of texts and of files.
set -u
tools='convtt-info'
. "${srcdir:-.}/tests/lib/cli.sh"

info=$bin/convtt-info
cat > made.net << 'END'
# Line 1.
input x h=8 w=8 c=3 fps=4 mean=0 std=1

conv a in=x out=6 kernel=3 pad=1   # six
conv b in=x out=6 kernel=3 pad=1
concat k in=a,b
convlstm h in=k hidden=12 kernel=3
deconv d in=h out=3 kernel=4 stride=2 pad=1
pool q in=d kind=avg
clip
window v in=q steps=1000 every=50
pool m in=v kind=avg
conv y in=m out=2
END
lint() { "$info" --lint --device ref "$@" > out 2> err < /dev/null ||
    fail "--lint $*: $(cat err)"; }
lint made.net

# 1. Facts.
for row in 'receptive field 8 x 8 of 8 x 8 pixels, all frames before' \
    '^2 +x +input +1x1 +1 ' '^4 +a +conv +3x3 +1 +0\.7 +1\.5 ' \
    '^7 +h.z +conv +8x8 +all ' '^ +all  '; do
    grep -qE "$row" out || fail "no row '$row'"
done
grep -q 'Horowitz' out || fail "no source of energy"

# 2. A warning that needs no time, with its line, those of a cell included.
grep -A1 '^made.net:8: d: cannot read bytes: no kernel of a deconv' out |
    grep -q '^    deconv d in=h out=3' || fail "no warning of the deconv"
"$info" --lint made.net > out 2> err < /dev/null
grep -qE 'would gain [0-9.]+ ms|changes? of channels or convs gain|other prog' \
    out || fail "nothing is timed: $(cat out)"
if grep -qE '^made.net:.*other programs' out; then
    echo "busy: gains are not compared"
else
    grep -qE '^[0-9]+ warning' out || fail "no sum"
fi
grep '^made.net:' out | grep -vE ' (ms|MB) |other programs' &&
    fail "a warning without a gain"

# 3. The window does not fit: 1000 steps of 50 frames with 3 floats.
big=$(sed 's/every=50/every=1000/' made.net)
printf '%s\n' "$big" > big.net
lint --memory 8M big.net
grep -q '^big.net:11: v: what the model keeps .* 11.99. MB, does not fit' out ||
    fail "the window: $(grep big.net out)"
grep -q 'half as many steps saves 5.994 MB' out || fail "its gain"

# 4. A model file has the lines of the text that --net prints.
"$info" --net made.net > printed || fail "--net"
number=$(grep -n '^deconv' printed | cut -d: -f1)
"$info" --export made.onnx made.net > log 2>&1 &&
    "$info" --import made.onnx -o made.h5 >> log 2>&1 ||
    { sed 's/ spread=[^ ]*//' log | tail -3; fail "no model file"; }
lint made.h5
grep -q "^made.h5:$number: d: cannot read bytes" out ||
    fail "not line $number: $(grep ': d:' out)"

# 5. --merge writes a text of a text; whether convs gain depends on the machine.
cat > qkv.net << 'END'
input x h=16 w=16 c=32 fps=4 mean=0 std=1
conv q in=x out=16 kernel=1
conv k in=x out=16 kernel=1
state s of=k
conv v in=x out=16 kernel=1
mul m in=q,s
add t in=m,v
pool p in=t kind=avg
conv y in=p out=10
END
says 0 '^one.net written: [01] pairs? of convs' "$info" --lint qkv.net --merge \
    -o one.net
merged=$(sed -n 's/^one.net written: \(.\).*/\1/p' out)
"$info" --net one.net > one || fail "no text: $(cat one.net)"
[ "$(grep -c '^slice' one)" = $((2 * merged)) ] ||
    fail "not $merged: $(cat one)"
says 2 'a text, NAME.net, of a text' "$info" --lint qkv.net --merge -o one.h5
says 2 'given for two files' "$info" --lint qkv.net --merge -o qkv.net
says 2 'merge.*requires' "$info" qkv.net --merge -o one.net
says 2 'take one file' "$info" --lint made.net big.net
says 2 'take one file' "$info" --all made.net big.net
exit $failed
