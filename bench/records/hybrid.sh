#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hybrid.sh: a model of the time of a step of many ranks that share a batch of
# CLIPS clips: data parallel, groups with --bands and groups with --stages.
# Measured, in seconds of the processor on one thread: a clip forward and back,
# the slowest band of it (bench/bench_split.c), and the share of it that the
# slowest section takes (convtt-train --stages under mpirun, which needs no
# processor for each).  Simulated: LATENCY microseconds a message and GBIT/s,
# none of it hidden behind computing; the all-reduce of W floats by R ranks is
# 2 (R - 1) messages of W / R of them.
#   data:    CLIPS / R clips, all-reduce by R; no more ranks than clips work
#   bands:   CLIPS / groups clips in bands with their messages, all-reduce
#            within the group and by the groups
#   stages:  (CLIPS / groups + P - 1) times the slowest section and its
#            messages, all-reduce of 1 / P of the floats by the groups, and an
#            all-gather of all within the pipeline
# A line for each model and number of ranks: milliseconds of a step, the least
# marked by *; "-": more groups than clips, so some would have nothing to do.
# BUILD=FOLDER: the build folder (build).  CLIPS=64.  RANKS="8 16 .. 256".
# PARTS="2 4".  GBIT=100.  LATENCY=2.  RUNS=3.  NETS="early resnet".
set -u
. "$(dirname "$0")/begin.sh" bench/bench_split
bench=$build/bench/bench_split
export CTT_MODULES=$build/.libs
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Four clips of $1 grey pictures, whose values do not matter.
clips() {
    local i t
    rm -rf "$work/video"
    : > "$work/list"
    for i in 1 2 3 4; do
        mkdir -p "$work/video/$i"
        for t in $(seq "$1"); do
            { printf 'P5\n16 16\n255\n'; head -c 256 /dev/urandom; } \
                > "$work/video/$i/$(printf %03d "$t").pgm"
        done
        echo "video/$i $((i % 2))" >> "$work/list"
    done
}

# sections NET P: the share of a clip's seconds that the slowest of P sections
# takes, and the MB that it sends, of a clip there and back.
sections() {
    (cd "$work" && mpirun -np "$2" --bind-to none "$build/convtt-train" "$1" \
        --data list --batch 4 --shards 4 --stages "$2" --threads 1 \
        --affinity none --augment off --epochs 3 --baselines off -o m.h5) \
        > "$work/log" 2>&1 < /dev/null || die "$(tail -n 3 "$work/log")"
    awk '/^section [0-9]+, / {
        for (i = 1; i <= NF; i++) {
            if ($i == "forward") f = $(i - 2)
            if ($i ~ /^back/) b = $(i - 2)
            if ($i == "sent;") mb = $(i - 2)
        }
        all += f + b; most = f + b > most ? f + b : most
        far = mb > far ? mb : far
    } END { print most / all, far }' "$work/log"
}

for net in ${NETS:-early resnet}; do
    case $net in
    early) steps=16 weights=562316
        cp "$src/models/early-convttlstm.net" "$work/m.net" ;;
    resnet) steps=1 weights=11689512
        sed 's/h=224 w=224/h=512 w=512/' "$src/models/resnet18.net" \
            > "$work/m.net" ;;
    *) die "no net $net" ;;
    esac
    clips "$steps"
    : > "$work/rows"
    for parts in ${PARTS:-2 4}; do
        got=$("$bench" "$work/m.net" bands "$parts" --steps "$steps" --runs \
            "${RUNS:-3}" --latency "${LATENCY:-2}") || die "bands of $net"
        # shellcheck disable=SC2086
        set -- $got
        # whole and part in ms, messages and MB of a rank, values in MB
        echo "$parts $1 $2 $4 $5 ${10} ${11} $(sections m.net "$parts")" \
            >> "$work/rows"
    done
    echo "$net: parts; a clip and its slowest band, ms; messages and MB of a" \
        "band; MB of values, whole and band; share and MB of a section"
    cat "$work/rows"
    awk -v clips="${CLIPS:-64}" -v ranks="${RANKS:-8 16 32 64 128 256}" \
        -v gbit="${GBIT:-100}" -v us="${LATENCY:-2}" -v w="$weights" '
        function reduce(floats, r) {    # ms
            return r < 2 ? 0 : 2 * (r - 1) * wire(4 * floats / r)
        }
        function wire(bytes) { return us / 1e3 + bytes * 8 / (gbit * 1e6) }
        function show(ms) { return ms < 0 ? "-" : sprintf("%.4g", ms) }
        { parts[NR] = $1; if (NR == 1) whole = $2; band[NR] = $3
          many[NR] = $4; mb[NR] = $5; share[NR] = $8; sends[NR] = $9 }
        END {
            line = sprintf("%6s %10s", "ranks", "data")
            for (k = 1; k <= NR; k++)
                line = line sprintf(" %10s %10s", "bands " parts[k],
                                    "stages " parts[k])
            print line
            n = split(ranks, r, " ")
            for (i = 1; i <= n; i++) {
                got[0] = r[i] > clips ? -1 : clips / r[i] * whole + \
                         reduce(w, r[i])
                for (k = 1; k <= NR; k++) {
                    p = parts[k]; groups = r[i] / p; each = clips / groups
                    # what bench_split sends once is sent once a batch
                    once = reduce(w, p)
                    sent = many[k] * us / 1e3 + mb[k] * 8 / gbit - once
                    got[2 * k - 1] = groups > clips ? -1 : each * \
                        (band[k] + sent) + once + reduce(w, groups)
                    got[2 * k] = groups > clips ? -1 : (each + p - 1) * \
                        (share[k] * whole + 2 * wire(sends[k] * 1e6 / 2)) + \
                        reduce(w / p, groups) + reduce(w, p) / 2
                }
                least = 1e30
                for (k = 0; k <= 2 * NR; k++)
                    if (got[k] >= 0 && got[k] < least) least = got[k]
                line = sprintf("%6d", r[i])
                for (k = 0; k <= 2 * NR; k++)
                    line = line sprintf(" %10s", show(got[k]) \
                                        (got[k] == least ? "*" : ""))
                print line
            }
        }' "$work/rows"
done
