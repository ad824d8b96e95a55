#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# decide.sh FOLDER: tests the guarantees of early decisions, and measures the
# frames that they save. Trains a model on made-up clips, calibrates it on
# others, and prints the results of bench_decide on random splits of these into
# calibration and test; FOLDER keeps clips, models, answers.csv and curve.html,
# which are not made again.
# BUILD=FOLDER: the build folder (build).  MODEL=models/early-convttlstm.net.
# TRAIN=1200, POOL=3000: clips.  EPOCHS=24.  SIZE=64: pixels.  CLIPS=600: to
# calibrate on, of POOL.  SPLITS=1000.  DELTA=0.1.  THREADS=2.
set -u
work=${1:?"the folder for clips and models must be given"}
. "$(dirname "$0")/begin.sh" convtt-train convtt-data convtt-infer \
    bench/bench_decide
threads=${THREADS:-2} size=${SIZE:-64} pool=${POOL:-3000}
net=$src/${MODEL:-models/early-convttlstm.net}
mkdir -p "$work" && cd "$work" || exit 2

clips() {       # NAME COUNT SEED
    [ -e "$1/labels.json" ] && return
    "$build/convtt-data" synth "$1" --clips "$2" --size "$size" --seed "$3" ||
        die "no clips $1"
}

clips train "${TRAIN:-1200}" 1
clips pool "$pool" 2
[ -e dense.h5 ] || "$build/convtt-train" "$net" --data train -o dense.h5 \
    --epochs "${EPOCHS:-24}" --warmup 2 --batch 24 --lr 2e-3 \
    --weight-decay 0.02 --label-smooth 0.05 --augment off --jitter \
    --brightness 0.6 --contrast 0.2 --threads "$threads" || die "no model"

# All clips of the pool, whatever split they are in.
if [ ! -e pool.csv ]; then
    echo path,label > pool.csv
    awk -F'"' '/"id"/ && /"template"/ {
                   for (i = 2; i < NF; i++) {
                       if ($i == "id") id = $(i + 2)
                       if ($i == "template") class = $(i + 2)
                   }
                   gsub(/[][]/, "", class)
                   print "pool/20bn-something-something-v2/" id ".webm," class
               }' pool/train.json pool/validation.json >> pool.csv
    awk -F';' '{ gsub(/[][]/, "", $2)
                 print "pool/20bn-something-something-v2/" $1 ".webm," $2 }' \
        pool/test-answers.csv >> pool.csv
fi
[ "$(wc -l < pool.csv)" = $((pool + 1)) ] || die "pool.csv: not $pool clips"
if [ ! -e answers.csv ]; then
    cp dense.h5 model.h5
    "$build/convtt-infer" --calibrate model.h5 pool.csv --threads "$threads" \
        --answers answers.csv || die "not calibrated"
fi
"$build/bench/bench_decide" answers.csv "${CLIPS:-600}" "${SPLITS:-1000}" \
    "${DELTA:-0.1}" curve.html
