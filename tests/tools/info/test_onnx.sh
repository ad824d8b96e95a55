#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_onnx.sh: convtt-info --import of ONNX files: the model, the table, what
# is refused, and --verify.
set -u
tools="convtt-info convtt-compress convtt-infer"
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
info=$bin/convtt-info

works() { "$@" > out 2> err < /dev/null || fail "$*: $(cat err)"; }

# Another program's: files of convtt have their model's text, which comes back
# whole (test_export.sh).
foreign() { LC_ALL=C sed -i '1s/convtt/others/' "$1"; }

# What goes out comes in.
cat > a.net << 'END'
input x h=8 w=6 c=3
conv e in=x out=4 kernel=3 pad=1
act r in=e kind=hswish
pool m in=r kind=max kernel=3 stride=2 after=0,1,1
pool p in=m kind=avg
conv y in=p out=3
END
"$info" --export a.onnx --with-softmax a.net > /dev/null 2>&1 ||
    fail 'a.net does not go out'
foreign a.onnx
works "$info" --import a.onnx -o b.h5
for row in 'lines           6' 'parameters      127' 'not imported    none' \
    'answer          before the softmax at the end'; do
    grep -q "^$row" out || fail "no row '$row' in the table: $(cat out)"
done
[ "$("$info" --net b.h5 | awk '{ print $1 }' | tr '\n' ' ')" = \
    'input conv act pool pool conv ' ] || fail 'b.h5 has other lines'
works "$info" --import a.onnx -o b.net
[ "$("$info" --net b.net)" = "$("$info" --net b.h5)" ] ||
    fail 'the text differs from the model'

# Labels and frames.
printf 'cat\nmissile\nmissile\n' > labels
works "$info" --import a.onnx -o b.h5 --labels labels \
    --frames 'mean=0.5 std=0.25 colour=bgr' --licence BSD-3-Clause
"$info" --all b.h5 > out
grep -q '^  2  missile (2)$' out || fail 'the second missile has no number'
grep -q 'mean=0.5,0.5,0.5 std=0.25,0.25,0.25 .* colour=bgr' out ||
    fail '--frames is not in the input line'
crc=$(gzip -c a.onnx | tail -c 8 | od -An -tx4 -N4 | tr -d ' ')
grep -q "^imported from a.onnx file-crc=$crc licence=BSD-3-Clause\$" out ||
    fail "the history is not of $crc: $(cat out)"
grep -q '^licence         BSD-3-Clause$' out || fail 'no licence in the card'
says 2 'licence=.: not a name of SPDX' \
    "$info" --import a.onnx -o c.h5 --licence '('
printf 'cat\n' > labels
printf 'cat\ncat (2)\ncat\n' > same
works "$info" --import a.onnx -o b.h5 --labels same
[ "$("$info" --all b.h5 | sed -n 's/^  [012]  //p' | paste -sd,)" = \
    'cat,cat (2),cat (3)' ] || fail 'two classes have one label'
says 1 'labels: 1 labels for 3 classes' \
    "$info" --import a.onnx -o c.h5 --labels labels
says 2 'frames h=9: the file says the size' \
    "$info" --import a.onnx -o c.h5 --frames h=9
says 2 'frames: ' "$info" --import a.onnx -o c.h5 --frames light=9
[ ! -e c.h5 ] || fail 'a model in spite of an error'

# --verify: a zip of arrays, by hand.
le() {  # le NUMBER BYTES: lowest byte first
    local n=$1 i
    for ((i = 0; i < $2; i++)); do
        printf "\\x$(printf %02x $((n & 255)))"
        n=$((n >> 8))
    done
}
array() {   # array SHAPE BYTES: .npy
    local head="{'descr': '<f4', 'fortran_order': False, 'shape': $1, }"
    printf '\x93NUMPY\x01\x00'
    le ${#head} 2
    printf '%s' "$head"
    printf "$2"
}
npz() {     # npz NAME FILE...
    local out=$1 at=0 f size directory=$PWD/directory
    shift
    : > "$directory"
    for f; do
        size=$(wc -c < "$f")
        for part in 'PK\x01\x02\x14\x00\x14\x00' 'PK\x03\x04\x14\x00'; do
            printf "$part"
            le 0 12
            le "$size" 4
            le "$size" 4
            le ${#f} 2
            le 0 2
            case $part in
            *x01*) le 0 10; le $at 4; printf '%s' "$f" ;;
            esac
        done > heads
        head -c $((46 + ${#f})) heads >> "$directory"
        { tail -c 30 heads; printf '%s' "$f"; cat "$f"; } >> "$out.new"
        at=$((at + 30 + ${#f} + size))
    done
    { cat "$directory"; printf 'PK\x05\x06\0\0\0\0'; le $# 2; le $# 2
      le "$(wc -c < "$directory")" 4; le $at 4; le 0 2; } >> "$out.new"
    mv "$out.new" "$out"
}
cat > r.net << 'END'
input x h=1 w=2 c=1
act y in=x kind=relu
END
"$info" --export r.onnx r.net > /dev/null 2>&1 || fail 'r.net goes not out'
foreign r.onnx
array '(1, 1, 1, 2)' '\x00\x00\x80\xbf\x00\x00\x00\x40' > in_x.npy   # -1, 2
array '(1, 1, 1, 2)' '\x00\x00\x00\x00\x00\x00\x00\x40' > out_0.npy  # 0, 2
npz right.npz in_x.npy out_0.npy
works "$info" --import r.onnx --verify right.npz
grep -q '^verified        2 numbers of out_0, largest difference 0' out ||
    fail "no word of the comparison: $(cat out)"
array '(1, 1, 1, 2)' '\x00\x00\x80\xbf\x00\x00\x00\x40' > out_0.npy
npz wrong.npz in_x.npy out_0.npy
says 1 'differs by more than 0.0001: number 0 of out_0 is -1 there and 0 here' \
    "$info" --import r.onnx --verify wrong.npz -o c.h5
[ ! -e c.h5 ] || fail 'a model that does not agree was written'
npz none.npz in_x.npy
says 1 'none.npz: no array out_0' "$info" --import r.onnx --verify none.npz
cp labels labels.npz
says 1 'labels.npz: no .npz' "$info" --import r.onnx --verify labels.npz
says 1 'verify ./labels: neither an .npz nor a library' \
    "$info" --import r.onnx --verify ./labels
# CTT_ONNXRUNTIME names ONNX Runtime's library, where it is installed.
if [ -n "${CTT_ONNXRUNTIME:-}" ]; then
    works "$info" --import a.onnx --verify "$CTT_ONNXRUNTIME"
    grep -qE '^verified +[3-9] values of ONNX Runtime' out ||
        fail "ONNX Runtime: $(cat out)"
fi

# A model with states has several inputs and outputs.
cat > s.net << 'END'
input x h=4 w=4 c=1 colour=gray
convlstm h in=x hidden=2
pool p in=h kind=avg
conv y in=p out=3
END
"$info" --export s.onnx s.net > /dev/null 2>&1 || fail 's.net goes not out'
foreign s.onnx
says 2 'name the answer with --answer' "$info" --import s.onnx -o c.h5
works "$info" --import s.onnx --answer y -o c.net
grep -c '^input ' c.net | grep -q '^3$' || fail 'the states are no inputs'

# Where a program takes a model it takes ONNX, and leaves nothing behind.
export TMPDIR=$PWD/temporary
mkdir temporary pictures
works "$info" --net a.onnx
[ "$(cat out)" = "$("$info" --net b.net)" ] || fail 'a.onnx is another text'
works "$bin/convtt-compress" a.onnx -o z.h5 --prune 0.5 --prune-least 1
"$info" --all z.h5 | grep -q '^prune' || fail "z.h5 is not pruned"
grep -q '^z.h5 written: .* smaller than a.onnx' out && ! grep proc out ||
    fail "not named as given: $(cat out)"
works "$info" a.onnx
grep -q '^model  *a.onnx$' out || fail "no model a.onnx: $(head -1 out)"
{ printf BM; le 214 4; le 0 4; le 54 4; le 40 4; le 6 4; le 8 4; le 1 2
  le 24 2; le 0 24; head -c 160 /dev/zero; } > pictures/0001.bmp
if "$bin/convtt-infer" a.onnx pictures > out 2> err; then
    grep -q '^0001.bmp' out || fail "no answer: $(cat out)"
else
    grep -q 'FFmpeg\|not built' err || fail "convtt-infer a.onnx: $(cat err)"
fi
[ -z "$(ls temporary)" ] || fail "left behind: $(ls -R temporary)"
printf 'in' > bad.onnx
says 1 'bad.onnx: ' "$bin/convtt-infer" bad.onnx pictures
says 1 'bad.onnx: ' "$bin/convtt-compress" bad.onnx -o y.h5 --prune 0.5

# Wrong words.
says 2 'input-shape z=1,3,8,6: no input of that name' \
    "$info" --import a.onnx -o d.h5 --input-shape z=1,3,8,6
says 2 'takes no model and no --map' "$info" --import a.onnx -o d.h5 a.net
says 2 '^convtt-info: --import' "$info" --import a.onnx
says 1 'a.net: ' "$info" --import a.net -o d.h5
says 2 'given for two files' "$info" --import a.onnx -o a.onnx
echo text > e.h5
says 1 'e.h5: is there already and is no model' \
    "$info" --import a.onnx -o e.h5
[ "$(cat e.h5)" = text ] || fail 'a text was replaced by a model'
[ ! -e d.h5 ] || fail 'a model in spite of wrong words'

exit $failed
