#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# behind.sh [SECONDS]: a source that is five times as fast as the model, for 60
# seconds: convtt-infer --stream drops frames, the time from the arrival of a
# frame to its answer stays within twice the step and the time between two
# frames, and memory stays as it is, but for an index of the first 40,000 frames
# that FFmpeg keeps (1 to 2 MB).  The 99th percentile is compared with that
# of the step, which other programs on the machine make longer, too; the bar of
# the median step is printed beside it.
# Exit status 1: a bar was missed; 2: a wrong use, or a program failed.
# BUILD=FOLDER: the build folder (build), with tests/lib/lit made.  LAYERS=100:
# of the model at least; more where a step then takes less than 6 ms, as raw
# frames come at most 1,000 times a second.  THREADS=1.
set -u
seconds=${1:-60}
. "$(dirname "$0")/begin.sh" tests/lib/lit
threads=${THREADS:-1}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
layers=${LAYERS:-100}
infer() {
    "$build/convtt-infer" slow.h5 --stream - --threads "$threads" --json "$@"
}
total() { tail -n 1 out | grep -oE "$1" | head -n 1 | grep -oE '[0-9.]+$'; }
frames() { head -c $((64 * $1)) /dev/zero; }

step=0
while awk "BEGIN { exit !($step < 6) }"; do
    [ "$step" = 0 ] || layers=$((2 * layers))
    "$build/tests/lib/lit" slow.h5 "$layers" 0 || exit 2
    frames 300 | infer --raw 8x8xgray@10 --behind wait > out || exit 2
    step=$(total '"step_ms":\{"p50":[0-9.]+')
done
rate=$(awk "BEGIN { printf \"%.3f\", 5000 / $step }")
n=$(awk "BEGIN { printf \"%d\", $seconds * $rate }")
echo "$layers layers: step $step ms alone; $n frames, $rate per second"
frames "$n" | infer --raw "8x8xgray@$rate" --realtime --stats 1 > out ||
    exit 2
step=$(total '"step_ms":\{"p50":[0-9.]+')
p50=$(total '"answer_ms":\{"p50":[0-9.]+')
p99=$(total '"answer_ms":\{[^}]*"p99":[0-9.]+')
early=$(grep '"stats"' out | sed -n "$(((seconds + 9) / 10))p" |
        grep -oE '"resident_mb":[0-9.]+' | cut -d: -f2)
late=$(total '"resident_mb":[0-9.]+')
for c in decoded between dropped taken late inferred; do
    echo "$c $(total "\"$c\":[0-9]+")"
done
slow=$(total '"step_ms":\{[^}]*"p99":[0-9.]+')
bar() { awk "BEGIN { printf \"%.1f\", 2 * ($1 + 1000 / $rate) }"; }
echo "step p50 $step, p99 $slow ms; arrival to answer p50 $p50, p99 $p99 ms" \
    "(bar $(bar "$slow"); by the median $(bar "$step"))"
echo "resident memory $early MB after a tenth, $late MB at the end"
awk "BEGIN { exit !($p99 <= $(bar "$slow") && $late <= $early + 3) }" ||
    { echo missed; exit 1; }
