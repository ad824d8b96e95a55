#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_data_cli.sh: convtt-data mnist as a person calls it: the pack it writes,
# what it says to bad input, that it leaves nothing half written, and training
# on the pack or on the digits themselves; pictures in all programs.
set -u
tools="convtt-data convtt-train convtt-compress convtt-infer"
. "${srcdir:-.}/tests/lib/cli.sh"
data="$bin/convtt-data"

# An idx file that says it has $1 images and has $2 bytes of them.
idx() {
    printf '\0\0\10\3\0\0\0\'"$1"'\0\0\0\34\0\0\0\34'
    head -c "$2" /dev/zero | tr '\0' '\360'
}
mkdir digits short
idx 5 3920 > digits/train-images-idx3-ubyte
idx 5 3000 | gzip > short/train-images-idx3-ubyte.gz

# 1. The same numbers give the same file, whatever the digits are read from.
says 0 '^a.h5: 12 sequences of 7 frames, 3 of the 5 digits of digits/train' \
    "$data" mnist digits a.h5 --sequences 12 --frames 7 --digits 3 --seed 4
says 0 'b.h5: 12 sequences' "$data" mnist digits/train-images-idx3-ubyte \
    b.h5 -n 12 --frames=7 --digits=3 --seed=4
cmp -s a.h5 b.h5 || fail "not the same file twice"
for other in --seed=5 --split=validation --split=test --digits=2; do
    says 0 'c.h5: 12 sequences' "$data" mnist digits c.h5 -n 12 --frames 7 \
        --digits 3 --seed 4 $other
    cmp -s a.h5 c.h5 && fail "$other makes no difference"
done
says 0 'mnist +makes sequences' "$data" --help
says 0 '--split=NAME' "$data" mnist --help

# 2. A model of such frames learns from it, one of others does not.
cat > tiny.net << 'END'
input x h=64 w=64 c=1 colour=gray
convlstm h in=x hidden=2 kernel=3
conv o in=h out=1
act y in=o kind=sigmoid
END
sed 's/64/32/g' tiny.net > less.net
train() {
    "$bin/convtt-train" "$@" --task predict --input-frames 4 \
        -o m.ctt --epochs 1 --batch 4 --threads 1 --future-frames 3 $more
}
more=
says 0 '^training: 12 sequences' train tiny.net --data a.h5
says 0 '^training: 6 sequences' train tiny.net --data mnist:digits \
    --sequences 6 --val-sequences 2
says 0 '^validation: 2 sequences' train tiny.net --data mnist:digits \
    --sequences 6 --val-sequences 2
says 2 'packed as 64x64x1, the model wants 32x32x1' train less.net \
    --data a.h5
says 2 'makes frames of 64x64x1, the model wants 32x32x1' train less.net \
    --data mnist:digits
says 1 'ends after 3 of 5 images' train tiny.net --data mnist:short

# What is read is never written to, whatever its name.
sed 's/^conv o.*/input u c=1\n&/' tiny.net > two.net
says 1 'has 2 inputs' train two.net --data a.h5
cp a.h5 kept.h5
for log in ./a.h5 digits/train-images-idx3-ubyte "$PWD/./m.ctt"; do
    says 2 'given for two files' train tiny.net --data a.h5 \
        --val mnist:digits --log-csv "$log"
done
cmp a.h5 kept.h5 || fail "a log took the place of the data"
# A pack is data for every command; its clips are read, not the file.
says 0 'a.h5: 12 clips, 0 bad' "$data" check a.h5
says 0 'all +12' "$data" list a.h5
says 2 'a pack has no splits' "$data" list a.h5 --split test
says 0 'd.h5: 12 clips, 0 bad' "$data" pack a.h5 -o d.h5 --model tiny.net
cmp -s a.h5 d.h5 || fail "a pack of a pack is another one"
says 2 'it is for convtt-data mnist' "$data" check mnist:digits
printf '\1' | dd of=d.h5 bs=1 seek=2500 conv=notrunc 2> /dev/null
says 1 'd.h5: 12 clips, 1 bad' "$data" check d.h5
more='--future-frames 4 --strict'
says 1 'seq0000: has 7 frames, 8 are needed' train tiny.net --data a.h5 \
    --workers 1

# 3. Bad input: one line, nothing written.
rm -f ./*.h5
says 2 'takes two paths' "$data" mnist digits
says 2 'takes two paths' "$data" mnist digits o.h5 more
says 2 'frames' "$data" mnist digits o.h5 --frames 0
says 2 'digits' "$data" mnist digits o.h5 --digits 10
says 2 'sequences' "$data" mnist digits o.h5 --sequences=-1
says 2 "no split 'all'" "$data" mnist digits o.h5 --split all
says 1 'nowhere: no such file' "$data" mnist nowhere o.h5
says 1 '\.: no train-images' "$data" mnist . o.h5
says 1 'ends after 3 of 5 images' "$data" mnist short o.h5
says 1 'no idx file of images' "$data" mnist "$bin/convtt-data" o.h5
says 1 'none/o.h5' "$data" mnist digits none/o.h5
says 1 'is there already and is no pack' "$data" mnist \
    digits/train-images-idx3-ubyte \
    digits/../digits/train-images-idx3-ubyte
says 1 'not a regular file' "$data" mnist digits /dev/full
[ -z "$(ls ./*.h5* 2> /dev/null)" ] || fail "left behind: $(ls ./*.h5*)"
(ulimit -f 400; says 1 'o.h5: ' "$data" mnist digits o.h5 -n 100
 exit $failed) || failed=1
[ -z "$(ls ./*.h5* 2> /dev/null)" ] || fail "left behind: $(ls ./*.h5*)"

# 4. Stopped: nothing stays.
"$data" mnist digits o.h5 -n 1000000 > out 2> err & pid=$!
for i in $(seq "$ticks"); do
    [ -s o.h5.convtt0.tmp ] && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.02
done
kill -TERM $pid
wait $pid
[ $? = 1 ] || fail "stopped, but not with status 1"
grep -q 'stopped; o.h5 is not written' err || fail "stopped: $(cat err)"
[ -z "$(ls ./*.h5* 2> /dev/null)" ] || fail "left behind: $(ls ./*.h5*)"

# 5. Lists come from pipes, of any name, with paths relative to the folder of
# the caller.
for i in 1 2 3; do
    mkdir "clip$i"
    printf 'P5\n8 8\n255\n%064d' 0 > "clip$i/1.pgm"
    echo "clip$i $((i % 2))"
done > clips.txt
piped() {
    limited "$@" > out 2> err || fail "$*: status $?: $(cat err)"
    grep -qE '(: 3 clips, 0 bad|^all +3)' out err ||
        fail "$*: $(cat out err)"
}
for command in check list; do
    piped "$data" $command - < clips.txt
    piped "$data" $command /dev/stdin < clips.txt
    piped "$data" $command - < <(cat clips.txt)
    piped "$data" $command /dev/stdin < <(cat clips.txt)
    piped "$data" $command <(cat clips.txt)
done
says 0 'o.h5: 3 clips, 0 bad' "$data" pack <(cat clips.txt) -o o.h5 \
    --model tiny.net --classes <(printf '0\n1\n')
rm o.h5
says 2 '^[^ ]*: -: no clips in it' "$data" check -

# 6. A FIFO that nobody writes to is refused, not waited for.
mkfifo fifo fifo.txt fifo.net train-images-idx3-ubyte
for word in 'check fifo.txt' 'check fifo' \
    'pack clips.txt -o o.h5 --model fifo.net' \
    'pack clips.txt -o o.h5 --model tiny.net --classes fifo' 'mnist . o.h5' \
    'mnist train-images-idx3-ubyte o.h5'; do
    # shellcheck disable=SC2086
    limited "$data" $word > out 2> err
    [[ $? = [12] ]] || fail "$word: not refused: $(cat err)"
    grep -q 'fifo\|train-images' out err || fail "$word: $(cat err)"
done

# 7. Labelled pictures, of idx files and in folders, are clips of one frame in
# every program, for a model of any kind.
pictures() {    # START COUNT: those of odd numbers are bright
    for i in $(seq "$1" $(($1 + $2 - 1))); do
        head -c 16 /dev/zero | tr '\0' "$(printf '\\%o' \
            $((i % 2 * 180 + i)))"
    done
}
labels() { for i in $(seq "$1"); do printf '\'$((i % 2)); done; }
mkdir -p set pics/train/dark pics/train/light pics/val/dark pics/val/light
{ printf '\0\0\10\3\0\0\0\30\0\0\0\4\0\0\0\4'; pictures 1 24; } |
    gzip > set/train-images-idx3-ubyte.gz
{ printf '\0\0\10\1\0\0\0\30'; labels 24; } > set/train-labels-idx1-ubyte
{ printf '\0\0\10\3\0\0\0\4\0\0\0\4\0\0\0\4'; pictures 31 4; } \
    > set/t10k-images-idx3-ubyte
{ printf '\0\0\10\1\0\0\0\4'; labels 4; } > set/t10k-labels-idx1-ubyte
for i in $(seq 24); do
    class=$([ $((i % 2)) = 1 ] && echo light || echo dark)
    split=$([ "$i" -le 20 ] && echo train || echo val)
    { printf 'P5\n4 4\n255\n'; pictures "$i" 1; } > "pics/$split/$class/$i.pgm"
done
says 0 '^all +22 +2 +4$' "$data" list digits:set
says 0 'idx files with 2 classes: train 22, validation 2, test 4' \
    "$data" check digits:set
says 0 'digits:set: 28 clips, 0 bad' "$data" check digits:set
says 0 'folder per class with 2 classes: train 20, validation 4' \
    "$data" check pics
mkdir -p lone/x && cp pics/train/light/1.pgm pics/train/dark/2.pgm lone/x
says 0 'warning: lone: one class: there is nothing to learn' "$data" check lone
head='input x h=4 w=4 c=1 colour=gray fps=60'
printf '%s\nconv y in=x out=2 kernel=4\n' "$head" > flat.net
printf '%s\nconvlstm h in=x hidden=3 kernel=3\nconv y in=h out=2 kernel=4\n' \
    "$head" > step.net
printf '%s\nclip\nwindow v in=x steps=4\nconv y in=v out=2 kernel=4,4,4\n' \
    "$head" > clip.net
thrice='top-1 ([0-9.]+%), \1, \1 at 25, 50, 100%'
for net in flat step clip; do
    says 0 "on split 'test' .4 clips.: $thrice" "$bin/convtt-train" $net.net \
        -o $net.h5 --data digits:set --epochs 3 --lr 0.05
    says 0 '^compressed +([0-9.]+)/\1/\1 ' "$bin/convtt-compress" \
        $net.h5 -o c.h5 --data digits:set --prune 0.3 --prune-least 1
    says 0 '^100% +4 ' "$bin/convtt-infer" c.h5 digits:set --split test
    says 0 'validation: 4 clips of 2 classes' "$bin/convtt-train" $net.net \
        -o p.h5 --data pics --epochs 1
    says 0 '^25% +4 ' "$bin/convtt-infer" p.h5 pics
done
says 0 's.h5: 4 clips, 0 bad' "$data" pack digits:set -o s.h5 --split test \
    --model flat.h5
says 0 '^100% +4 ' "$bin/convtt-infer" flat.h5 s.h5
says 2 'no split .train2.' "$data" list digits:set --split train2
for log in set/train-labels-idx1-ubyte set/t10k-images-idx3-ubyte; do
    says 2 'given for two files' "$bin/convtt-train" flat.net -o o.h5 \
        --data digits:set --log-csv $log
done

# A text that is no list.
echo 'filmed on monday' > notes.txt
says 1 'notes.txt: nothing in it can be used; each line of a list has' \
    "$bin/convtt-data" check notes.txt
grep -q 'film each' out && fail "advice on a text: $(cat out)"

printf 'a b\n\na\n' > lines.txt
says 0 '^words:lines.txt: .*: 2 lines, 5 symbols, a vocabulary of 4' \
    "$bin/convtt-data" check words:lines.txt
says 0 '^text:lines.txt: .*: 2 lines, 6 symbols, a vocabulary of 5' \
    "$bin/convtt-data" check text:lines.txt
says 0 '^a +2' "$bin/convtt-data" list words:lines.txt
grep -q '^all  *5' out || fail "symbols: $(cat out)"
says 2 'text has no splits .--split' "$data" check words:lines.txt \
    --split train
says 2 'text has no clips .--strict' "$data" check words:lines.txt \
    --strict
says 2 'text has no classes .--classes' "$data" list text:lines.txt \
    --classes lines.txt

# Made clips: all splits have each class, or a warning says which have none.
says 0 'clips: 24 clips of 12 classes: 12 to train, 12 to validate, 0 to test' \
    "$data" synth --clips 24 --size 32 clips
grep -q 'clips: no clip to test; --clips 36 or more has some' err ||
    fail "no word of a split without clips: $(cat err)"
exit $failed
