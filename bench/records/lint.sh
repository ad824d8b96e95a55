#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [MODEL...]: what convtt-info --lint says of models (those of models/):
# each warning, its line and node, the time of a frame after the change as a
# share of that before, both timed in turns, or the memory; and how many changes
# gain nothing.
# BUILD=FOLDER: the build folder (build).  THREADS=1.
set -uo pipefail
. "$(dirname "$0")/begin.sh" convtt-info
[ $# -gt 0 ] || set -- "$src"/models/*.net
for model in "$@"; do
    "$build/convtt-info" --lint --threads "${THREADS:-1}" "$model" |
        awk -v name="$(basename "$model" .net)" -v path="$model:" '
            index($0, path) == 1 {
                line = substr($0, length(path) + 1)
                ratio = match(line, /[0-9.]+ ms of [0-9.]+/)
                split(substr(line, RSTART, RLENGTH), t, " ")
                printf "%-28s %-8s %s\n", name,
                    ratio ? sprintf("%.3f", 1 - t[1] / t[4]) : "-", line
                n++
            }
            /other changes? of channels or convs/ { vain = $1 }
            END { printf "%-28s %d warnings, %d changes in vain\n", name, n,
                      vain }' || die "$model: convtt-info --lint failed"
done
