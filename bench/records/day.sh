#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# day.sh: a day of frames, 10 a second, through convtt-infer --stream at full
# speed: the counts, which must be exact, and memory, which must stay; and how
# far the states of a ConvLSTM in INT8 and with bf16 drift from those in fp32
# over as many frames without a reset (bench_drift).  The model is trained on
# made clips.
# Exit status 1: counts or memory; 2: a wrong use.
# BUILD=FOLDER: the build folder (build), with tests/lib/lit and
# bench/bench_drift made.  FRAMES=864000.
set -u
. "$(dirname "$0")/begin.sh" tests/lib/lit bench/bench_drift convtt-infer
n=${FRAMES:-864000}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

"$build/tests/lib/lit" lit.h5 || exit 2
{ time head -c $((64 * n)) /dev/zero |
    "$build/convtt-infer" lit.h5 --stream - --raw 8x8xgray@10 --threads 1 \
        --json --stats 0.2 --sliding 600 > out; } 2> times || exit 2
of() { grep -oE "\"$1\":[0-9.]+" | cut -d: -f2; }
early=$(grep '^{"stats"' out | awk -F'"inferred":' -v n="$n" \
    '{ split($2, a, ","); if (a[1] >= n / 10) { print; exit } }' |
    of resident_mb)
late=$(tail -n 1 out | of resident_mb)
for c in decoded dropped inferred slides events; do
    echo "$c $(tail -n 1 out | of $c)"
done
echo "resident memory ${early:?too few frames} MB after a tenth, $late MB" \
    "at the end; $(grep real times | tr '\t' ' ')"
[ "$(tail -n 1 out | of decoded)" = "$n" ] &&
    [ "$(tail -n 1 out | of inferred)" = "$n" ] &&
    awk "BEGIN { exit !($late <= $early + 1) }" || { echo missed; exit 1; }

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
act f in=e kind=relu
convlstm h in=f hidden=8 kernel=3
pool p in=h kind=avg
conv y in=p out=12
END
{ "$build/convtt-data" synth clips --clips 240 --size 24 --seed 2 &&
    "$build/convtt-train" tiny.net --data clips --threads 1 --seed 1 \
        --deterministic on -o m.h5 &&
    "$build/convtt-compress" m.h5 -o m8.h5 --int8 minmax --data clips \
        --retrain-epochs 0; } > log 2>&1 || { cat log; exit 2; }
for other in m8.h5 bf16; do
    echo "$other beside fp32"
    "$build/bench/bench_drift" m.h5 $other "$n" || exit 2
done
