#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# affinity.sh DATA: seconds of an epoch with threads and ranks that the system
# places (none), that convtt binds to processors (--affinity auto), and that
# mpirun binds (core): one process of two threads, and two ranks of one thread,
# alone and beside an endless loop.  Prints the median of TURNS epochs and the
# longest; the ways take turns.
# BUILD=FOLDER: the build folder (build).  MODEL=early-convttlstm.  TURNS=5.
# LEARN="...": options of convtt-train.
set -u
data=${1:?"the clips must be given"}
. "$(dirname "$0")/begin.sh" convtt-train
model=$src/models/${MODEL:-early-convttlstm}.net
export CTT_MODULES=$build/.libs OMPI_MCA_mpi_yield_when_idle=1
work=$(mktemp -d) || exit 2
busy=
trap '[ -z "$busy" ] || kill $busy; rm -rf "$work"' EXIT

# epoch WAY RANKS: seconds of the second epoch; the first one also opens files.
epoch() {
    local bind=none kind=none start=()
    case $1 in
    auto) kind=auto ;;
    core) bind=core ;;
    esac
    [ "$2" = 1 ] && [ "$1" != core ] || start=(mpirun -np "$2" --bind-to $bind)
    # shellcheck disable=SC2086
    "${start[@]}" "$build/convtt-train" "$model" --data "$data" \
        -o "$work/m.h5" --epochs 2 --threads $((2 / $2)) --affinity $kind \
        --baselines off ${LEARN:---batch 16 --val none} \
        --log-csv "$work/log.csv" > "$work/log" 2>&1 < /dev/null || {
        echo "$(tail -n 1 "$work/log")" >&2
        return
    }
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { last = $at["seconds"] - before; before = $at["seconds"] }
        END { print last }' "$work/log.csv"
    rm -f "$work"/m.h5*
}

printf '%-26s %-6s %8s %8s\n' placed beside median longest
for beside in nothing loop; do
    if [ $beside = loop ]; then
        while :; do :; done & busy=$!
    fi
    for _ in $(seq "${TURNS:-5}"); do
        for way in none.1 none.2 auto.2 core.2; do
            epoch ${way%.*} ${way#*.} >> "$work/$way.$beside"
        done
    done
    for way in none.1 none.2 auto.2 core.2; do
        sort -g "$work/$way.$beside" | awk -v way="$way" -v by=$beside '
            { s[NR] = $1 }
            END { split(way, w, ".")
                  printf "%-26s %-6s %8.2f %8.2f\n", w[1] ", " w[2] \
                      (w[2] == 1 ? " process" : " ranks"), by,
                      s[int((NR + 1) / 2)], s[NR] }'
    done
done
