#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tutorial.sh: each command of doc/tutorial.md runs and leaves its files,
# on small made videos, with a small model and few epochs.
set -u
tools='convtt-compress convtt-data convtt-infer convtt-info convtt-train'
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
type ffmpeg ffprobe > where 2>&1 || { echo 'no ffmpeg'; exit 77; }
make_net
"$bin/convtt-data" synth made --clips 64 --size 24 --actions across,tear \
    --seed 3 > out 2> err || { cat err; exit 77; }

# Clips one after the other in a video per eight, and the list of its parts;
# clips of two classes are "nothing".
named() { case $1 in 0) echo open ;; 1) echo close ;; *) echo nothing ;; esac; }
join() {    # join VIDEO FIRST LAST: prints the lines of its list
    local at=0 to i
    for i in $(seq "$2" "$3"); do
        echo "file '$dir/made/20bn-something-something-v2/$i.webm'"
    done > parts
    ffmpeg -v error -y -f concat -safe 0 -i parts -c copy "$1" < /dev/null
    for i in $(seq "$2" "$3"); do
        to=$(echo "$at + ${long[$i]}" | bc)
        echo "$1 $at $to $(named "${class[$i]}")"
        at=$to
    done
}
mapfile -t long < <(echo; for i in $(seq 64); do
    ffprobe -v error -show_entries format=duration -of csv=p=0 \
        "made/20bn-something-something-v2/$i.webm"; done)
mapfile -t class < <(echo; for i in $(seq 64); do
    grep -hE "\"id\":\"$i\"" made/train.json made/validation.json |
        sed 's/.*"template":"//; s/".*//; s/\[something\]/something/' |
        grep -v '^$' || sed -n "s/^$i;//p" made/test-answers.csv; done |
    sed 's/.*left to right.*/0/; s/.*right to left.*/1/; s/.*Tear.*/2/
         s/.*Pretend.*/3/')
[ "${#long[@]}" = 65 ] && [ "${#class[@]}" = 65 ] ||
    fail "clips: ${#long[@]} lengths, ${#class[@]} classes"
for v in 1 2 3 4 5 6; do
    join "monday$v.webm" $((8 * v - 7)) $((8 * v))
done > monday.txt
for v in 1 2; do
    join "friday$v.webm" $((8 * v + 41)) $((8 * v + 48))
done > friday.txt
cp friday1.webm x.webm && ffmpeg -v error -y -i x.webm -c copy camera.mkv \
    < /dev/null

# The commands, in their order.
sed -n '/^```$/,/^```$/p' "$root/doc/tutorial.md" | grep '^convtt-' |
    sed 's/early-convttlstm/tiny.net/; s/--epochs 40/--epochs 2/
         s/--data monday.txt --prune/& /; s/--share 4/& --retrain-epochs 1/
         s/--augment strong/& --batch 4 --threads 1/
         s/--calibrate friday.txt/& --max-gap 0.2 --delta 0.4/' > commands
[ "$(wc -l < commands)" = 10 ] || fail "commands: $(cat commands)"
while read -r line; do
    # shellcheck disable=SC2086
    set -- $line
    "$bin/$1" "${@:2}" > out 2> err < /dev/null || {
        rc=$?
        case $line in
        # A model of two epochs may have much to say.
        *--doctor*) [ $rc = 3 ] ;;
        *) false ;;
        esac || fail "$line: status $rc: $(cat out err)"
    }
done < commands
"$bin/convtt-infer" small.h5 --calibrate friday.txt > out 2> err < /dev/null
grep -qE '16 allow --max-gap 0\.13[0-9] or more' err ||
    fail "the least gap of few clips: $(cat err)"
for f in dense.h5 small.h5 wrong.csv friday.html; do
    [ -s $f ] || fail "no $f"
done
[ "$(stat -c %s small.h5)" -lt "$(stat -c %s dense.h5)" ] ||
    fail 'small.h5 is not smaller'
[ $failed = 0 ] && echo 'the tutorial runs'
exit $failed
