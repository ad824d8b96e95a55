#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dsd.sh MNISTDIR: gain of dense-sparse-dense training (Han and others 2017)
# over as many dense epochs: the error of LeNet-300-100 on the 10,000 test
# pictures, which choose nothing.  Exit status 2: a wrong use.
# BUILD=FOLDER: the build folder (build).  SEEDS="1 2 3 4 5": a pair for each.
# THREADS=2.  EPOCHS=20.  DSD=0.3: the share that is sparse.
set -u
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"

# The error after a training with these options, in percent.
trained() {
    # shellcheck disable=SC2086
    "$build/convtt-train" "$src/models/lenet-300-100.net" -o "$work/m.h5" \
        --data "$data" --epochs "${EPOCHS:-20}" --val-ratios 1 $common \
        --threads "$threads" "$@" > "$work/log" 2>&1 ||
        die "$(tail -n 1 "$work/log")"
    error_of "$work/m.h5"
}

printf '%-6s %8s %8s\n' seed dense dsd
for seed in ${SEEDS:-1 2 3 4 5}; do
    dense=$(trained --seed "$seed") || exit 2
    dsd=$(trained --seed "$seed" --dsd "${DSD:-0.3}") || exit 2
    printf '%-6s %8s %8s\n' "$seed" "$dense" "$dsd"
done | tee "$work/table"
[ "${PIPESTATUS[0]}" = 0 ] || exit 2
awk '{ a += $2; b += $3 }
     END { printf "mean   %8.2f %8.2f: %+.2f points gained\n", a / NR, b / NR,
           (a - b) / NR }' "$work/table"
