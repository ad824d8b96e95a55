#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_exact.sh: cost of --deterministic in training, as a table.  From the build
# folder, on a machine that does nothing else:
#     run_exact.sh MODEL.net...
# Each figure is bench_model --pairs: steps without and with it, in turns in one
# process.  BATCHES="16 2", THREADS="1 2" and PAIRS=15 change what is measured;
# BENCH names the program.
set -u -o pipefail
bench=${BENCH:-./bench/bench_model}

# A row: milliseconds without it, and how many times as long it takes with it,
# by the clock and by the time of processors.
row() {    # MODEL BATCH THREADS
    "$bench" --pairs "${PAIRS:-15}" --batch "$2" --threads "$3" "$1" |
        awk -v name="$(basename "$1" .net)" -v batch="$2" -v threads="$3" '
        $1 == "clock" { ms = $2; clock = $(NF - 1) }
        $1 == "processors" { cpu = $(NF - 1) }
        END {
            if (!cpu)
                exit 1
            printf "| %s | %d | %d | %.0f ms | %.2f | %.2f |\n", name, batch,
                   threads, ms, clock, cpu
        }'
}

[ $# -gt 0 ] || { echo "usage: run_exact.sh MODEL.net..." >&2; exit 2; }
echo '| model | batch | threads | off | on, clock | on, processors |'
echo '|---|---|---|---|---|---|'
for model in "$@"; do
    for batch in ${BATCHES:-16 2}; do
        for threads in ${THREADS:-1 2}; do
            row "$model" "$batch" "$threads" || exit 1
        done
    done
done
