#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_outputs.sh: what the programs are told to write costs no other file and
# no work: wrong places show before data are read, two runs do not share an
# output, and a file that becomes too large leaves the old one.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
for t in $tools; do declare "${t#convtt-}=$bin/$t"; done

make_net
make_clips
cat > next.net << 'END'
input x h=16 w=16 c=1 colour=gray fps=6 mean=0.45 std=0.25
convlstm h in=x hidden=4 kernel=3
conv y in=h out=1
END
few='--batch 4 --threads 1 --epochs 1 --max-steps 2'
ahead='--predict 2 --input-frames 3'
says 0 'm.h5 written' "$train" tiny.net --data clips $few -o m.h5 \
    --log-csv l.csv --log-json l.json
says 0 'next.h5 written' "$train" next.net --task predict --data clips \
    --input-frames 4 --future-frames 3 $few -o next.h5
less='--prune 0.5 --prune-least 10 --prune-rounds 1'
clip=$(echo clips/20bn-*/1.webm)

"$data" pack clips -o t.pack --model tiny.net > out 2>&1 || fail "$(cat out)"

# How each program is told to write the file @, with data that are not there,
# and each FILE PATTERN: all of them refuse FILE.
outputs="train tiny.net --data nothere -o @
train tiny.net --data nothere -o new --checkpoint @
train tiny.net --data nothere -o new --log-csv @
train tiny.net --data nothere -o new --log-json @
train tiny.net --data nothere --doctor --report-html @
compress m.h5 --prune 0.5 --data nothere -o @
compress m.h5 --prune 0.5 --data nothere -o new --checkpoint @
compress m.h5 --prune 0.5 --data nothere -o new --report @
infer next.h5 nothere $ahead --strip @
infer next.h5 nothere $ahead --video @.webm
infer next.h5 nothere $ahead --frames @
infer next.h5 nothere $ahead --csv @
info nothere --strip @
data pack nothere --model tiny.net -o @
data mnist nothere @"
each() {
    local file=$1 pattern=$2 tool words
    while read -r tool words; do
        # shellcheck disable=SC2086
        says 1 "$pattern" "${!tool}" ${words//@/$file}
    done <<< "$outputs"
}

# 1. No file of another kind is replaced: lists, labels, clips, models, texts.
cp "$clip" clip.webm
cp tiny.net text.net
for file in clips/train.json clips/labels.json clips/test-answers.csv \
    text.net t.pack; do
    cp $file kept
    each_of=$outputs
    outputs=$(grep -v -e '@.webm' -e "$([ $file = t.pack ] && echo 'data ' ||
                                        echo none)" <<< "$outputs")
    each $file "$file: is there already and is no "
    outputs=$each_of
    cmp -s $file kept || fail "$file is changed"
done
each_of=$outputs
outputs=$(grep -v '@.webm' <<< "$outputs")
each clip.webm 'clip.webm: is there already and is no '
outputs=$each_of
cmp -s clip.webm "$clip" || fail "clip.webm is changed"
mkdir own
cp clips/train.json own
says 1 'own/train.json: is there already' "$data" synth own --clips 2
says 0 '60 clips' "$data" synth clips --clips 60 --size 24 --seed 2
cmp -s clips/train.json own/train.json || fail "another set of made clips"

# 2. Where no file can be made.  A name may be as long as the file system
# allows, but not longer with the ending of the temporary file.
long=$(printf '%0255d' 0)
outputs=$(grep -v '@.webm' <<< "$outputs")
says 0 'm.h5 written' "$train" tiny.net --data clips $few -o m.h5 \
    --log-csv "$long"
rm "$long"
all=$outputs
outputs=$(grep -v -e '--log' <<< "$all")
each "$long" 'File name too long'
outputs=$all
each nowhere/x '^[^ ]*: nowhere/x: cannot write: No such file'
[ ! -d /proc/self ] || each /proc/x '^[^ ]*: /proc/x: cannot write: '
if [ "$(id -u)" != 0 ]; then
    mkdir closed
    chmod 500 closed
    each closed/x '^[^ ]*: closed/x: cannot write: Permission denied'
fi
[ -z "$(ls -d new* ./*.tmp ./*.lock 2> /dev/null)" ] ||
    fail "left behind: $(ls -d new* ./*.tmp ./*.lock)"

# 3. One run at a time writes a model, a checkpoint and a log.  The lock ends
# with the run, also when that is killed.
common='tiny.net --data clips --batch 4 --threads 1'
# shellcheck disable=SC2086
"$train" $common --epochs 100000 -o one.h5 --log-csv one.csv \
    --checkpoint-every 1 > log 2>&1 < /dev/null & pid=$!
for _ in $(seq "$ticks"); do
    [ "$(cat one.csv 2> /dev/null | wc -l)" -gt 1 ] && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.1
done
kill -0 $pid || fail "the run in the background ended: $(cat log)"
head -2 one.csv > begin
taken='another program is running that writes it'
# shellcheck disable=SC2086
{
    says 1 "one.h5: $taken" "$train" $common -o one.h5
    says 1 "one.h5: $taken" "$train" $common -o ../"${PWD##*/}"/one.h5 --resume
    says 1 "one.h5.ckpt: $taken" "$train" $common -o two.h5 \
        --checkpoint one.h5.ckpt
    says 1 "one.csv: $taken" "$train" $common -o two.h5 --log-csv one.csv
    says 1 "one.h5: $taken" "$compress" m.h5 --prune 0.5 -o one.h5
}
head -2 one.csv | cmp -s begin - || fail "another run changed the log"
kill -0 $pid || fail "another run ended the first: $(cat log)"
kill -9 $pid
wait $pid 2> /dev/null
# shellcheck disable=SC2086
says 0 'one.h5 written' "$train" $common --epochs 1 -o one.h5 --log-csv one.csv
[ -z "$(ls -d two* ./*.tmp ./*.lock 2> /dev/null)" ] ||
    fail "left behind: $(ls -d two* ./*.tmp ./*.lock)"

# 4. A file that becomes larger than the system allows: an error, and the file
# that was there.
"$infer" next.h5 "$clip" $ahead --strip s.png --video v.webm --frames f.h5 \
    --csv a.csv > out 2>&1 || fail "$(cat out)"
"$compress" m.h5 $less -o c.h5 --report r.json > out 2>&1 ||
    fail "$(cat out)"
too_large() {
    local file=$1
    shift
    cp "$file" kept
    (ulimit -f 0; "$@" 2>&1 > /dev/null < /dev/null; echo $?) | cat > err
    grep -q '^[^ ]*: .*: File too large$' err || fail "$*: $(cat err)"
    [ "$(tail -1 err)" = 1 ] || fail "$*: status $(tail -1 err)"
    cmp -s "$file" kept || fail "$*: $file is changed"
}
# shellcheck disable=SC2086
{
    too_large m.h5 "$train" $common $few -o m.h5
    too_large c.h5 "$compress" m.h5 $less -o c.h5
    too_large t.pack "$data" pack clips -o t.pack --model tiny.net
    too_large clips/labels.json "$data" synth clips --clips 60 --size 24
    cp m.h5 m2.h5
    too_large m2.h5 "$info" m.h5 --strip m2.h5
}
for out in '--strip s.png' '--video v.webm' '--frames f.h5' '--csv a.csv'; do
    # shellcheck disable=SC2086
    too_large "${out#* }" "$infer" next.h5 "$clip" $ahead $out
done

# 5. An encoder without memory says so, whatever its library calls it; the
# libraries load only from some size on.  Programs with sanitizers need more.
if ! grep -qs __asan_init "$bin/.libs/convtt-data" "$data"; then
    words=0
    for room in $(seq 100 10 600); do
        (ulimit -v ${room}000
         exec "$data" synth little --clips 4 --size 96) > out 2> err && break
        grep -q 'Invalid' err && fail "$room MB: $(cat err)"
        grep -q 'out of memory' err && words=$((words + 1))
    done
    grep -q '4 clips' out || fail "600 MB do not suffice: $(cat err)"
    [ $words -gt 0 ] || fail 'memory was never out'

    # Libraries that do not load are no fault of the clips.
    words=0
    for room in 60 120 180 240 300; do
        (ulimit -v ${room}000; exec "$data" check clips) > out 2>&1
        grep -q '[1-9][0-9]* bad' out && fail "$room MB: $(cat out)"
        grep -q 'too little memory' out && words=$((words + 1))
    done
    [ $words -gt 0 ] || fail 'no library lacked memory'
fi
exit $failed
