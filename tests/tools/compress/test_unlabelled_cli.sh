#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_unlabelled_cli.sh: a model is compressed on clips without classes: its
# own answers stand for them.
set -u
tools='convtt-compress convtt-data convtt-train'
. "${srcdir:-.}/tests/lib/cli.sh"

make_net
make_clips
"$bin/convtt-train" tiny.net --data clips --epochs 2 --batch 4 --threads 1 \
    -o m.h5 > log 2>&1 || fail "training: $(tail -3 log)"
mkdir plain
cp clips/20bn-something-something-v2/* plain/
"$bin/convtt-compress" m.h5 -o s.h5 --data plain --share 4 --share-epochs 1 \
    --batch 4 --threads 1 > log 2>&1 || fail "compression: $(tail -3 log)"
said=$(grep -c 'plain: no clip has a class: the answers of m.h5 stand' log)
[ "$said" = 1 ] ||
    fail "no word: $(cat log)"
grep -q 'clips are held out' log || fail "nothing to validate on: $(cat log)"
# The original agrees with itself.
grep -qE '^original .* [0-9.]+/[0-9.]+/100.0 ' log ||
    fail "the original: $(grep original log)"
"$bin/convtt-train" tiny.net --data plain --epochs 1 -o no.h5 > log 2>&1 &&
    fail "trained without classes"
grep -q 'plain: none of its [0-9]* clips has a class' log ||
    fail "not said: $(tail -1 log)"
exit $failed
