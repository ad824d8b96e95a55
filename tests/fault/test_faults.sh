#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_faults.sh: allocations and writes that fail and kills lose nothing: each
# file is the old one or the new one, status 0 is never given for a file that
# is not there, and the next run puts everything right (sweep.c).
#
# CTT_FAULT_CASES=all: every allocation, every write and 1,000 kills, instead of
# a sample; CTT_FAULT_SEED: another sample.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
here=$(cd "$bin" && cd "${srcdir:-.}" && pwd)
. "$here/tests/fault/scenes.sh"
make_scenes
[ $failed = 0 ] || exit 1
known_crashes=$here/tests/fault/known.txt
: > known.found > table

if [ "$cases" = all ]; then
    allocs=0 calls=0 kills=40
else
    allocs=60 calls=10 kills=3
fi
head_line
for scene in train compress infer predict pack; do
    faults $scene alloc $allocs
    faults $scene alloc-on $((allocs / 6 + (allocs == 0) * 100))
done
for scene in train compress predict pack; do
    for fault in error short full stdout; do
        faults $scene $fault $calls
    done
    for fault in kill kill-after kill-time; do
        faults $scene $fault $kills
    done
done
faults infer stdout $calls
total
exit $failed
