#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scaling.sh MNISTDIR: how training of the 12-layer network (mnist-convttlstm,
# 2.69 million weights) would scale: measured seconds of a rank's part of a
# step, and the exchange as SimGrid simulates it (SMPI, Degomme and others
# 2017).
# Everything beyond one rank is simulated, and the rows say so.
# BUILD=FOLDER: the build folder (build).  THREADS=2: of a rank.  STEPS=24: that
# are measured.  BATCH=2: sequences of a rank in weak scaling.  STRONG="16 8 4 2
# 1": those of 1, 2, 4, ... ranks in strong scaling.  RANKS="16 64 256": in weak
# scaling; 1,024 take 15 minutes for each rate.  RATES="12.5 1.25": GB/s of a
# machine's link, 100 and 10 Gbit/s.  LATENCY=1us of each link.  WIRE=0.92: the
# share of a link's rate that data gets.  SQUEEZE="none": how gradients travel,
# none or bf16; what sparse ones compute is not simulated.
# "Alike": all ranks are as fast.  Else they wait for the slowest: its step is
# the mean largest one of R draws from a lognormal distribution with the mean
# and deviation of the logarithms measured.
# All-to-all and all-gather are rings of R - 1 messages.  A rank's row of
# losses, 1 KB a shard, is left out.
set -u
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/comm/smpi.sh
. "$src/tests/comm/smpi.sh"
type -P smpicc > /dev/null || die 'scaling.sh: no smpicc (SimGrid)'
net=$src/models/mnist-convttlstm.net
strong=${STRONG:-16 8 4 2 1}
(cd "$src" && smpi_build bench/bench_comm.c libtrain/ranks/gather.c \
    libtrain/ranks/squeeze.c libtrain/ranks/sparse_code.c -o "$work/bench") ||
    die 'bench_comm does not compile'

# steps BATCH: the seconds of each step of one rank, one a line.
steps() {
    local log=$work/steps.$1
    [ -s "$log" ] || "$build/convtt-train" "$net" --task predict \
        --data "mnist:$dir" -o "$work/m.h5" --batch "$1" --sequences "$1" \
        --val-sequences 2 --val-every 100000 --epochs "${STEPS:-24}" \
        --threads "$threads" --log-csv "$log" > "$work/log" 2>&1 ||
        die "$(tail -n 1 "$work/log")"
    awk -F, -v batch="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "clips_a_second") k = i }
        NR > 1 { now = (NR - 1) * batch / $k
                 if (NR > 3) print now - before    # the first two warm up
                 before = now }' "$log"
}

# slowest R: of lines of seconds, the mean, and the mean largest of R draws.
slowest() {
    awk -v r="$1" '
        { n++; x = log($1); sum += x; square += x * x; all += $1 }
        END { srand(1); pi = atan2(0, -1)
              mean = sum / n; dev = square / n - mean * mean
              dev = dev > 0 ? sqrt(dev) : 0
              for (t = 0; t < 2000; t++) {
                  most = -1e9
                  for (k = 0; k < r; k++) {
                      z = sqrt(-2 * log(1 - rand())) * cos(2 * pi * rand())
                      if (z > most) most = z
                  }
                  total += exp(mean + dev * most)
              }
              printf "%.6g %.6g %.3g\n", all / n, total / 2000, dev }'
}

# exchange RANKS RATE HOW: simulated milliseconds.
exchange() {
    [ "$1" -gt 1 ] || { echo 0; return; }
    smpi_cluster "$1" "$2GBps" "${LATENCY:-1us}" "$work/p.xml"
    smpi_run "$1" "$work/p.xml" --cfg=smpi/shared-malloc:global \
        --cfg=smpi/auto-shared-malloc-thresh:100000 \
        --cfg=smpi/shared-malloc-blocksize:16777216 \
        --cfg=smpi/lat-factor:0:1 --cfg=smpi/bw-factor:0:"${WIRE:-0.92}" \
        --cfg=smpi/alltoall:ring --cfg=smpi/allgather:ring \
        "$work/bench" --runs 1 --squeeze "$3" 2687281 2> "$work/smpi.log" |
        awk -F'|' '$2 + 0 { split($4, ms, ","); print ms[1] + 0 }'
}

row() {     # RANKS BATCH RATE HOW FULL: FULL is the time of one rank's batch
    local ms own most dev
    read -r own most dev < <(steps "$2" | slowest "$1")
    ms=$(exchange "$1" "$3" "$4")
    [ -n "$ms" ] || die "$(tail -n 1 "$work/smpi.log")"
    awk -v r="$1" -v b="$2" -v g="$3" -v how="$4" -v own="$own" \
        -v most="$most" -v ms="$ms" -v dev="$dev" -v full="$5" 'BEGIN {
        all = most + ms / 1e3
        printf "| %d | %d | %g | %s | %.3f | %.3f | %.2f |", r, b, 8 * g, how,
            own, most, ms
        printf " %.1f%% | %.1f%% |%s\n", 100 * full / (own + ms / 1e3),
            100 * full / all, (r > 1 ? " simulated" : "") }'
}

case " ${SQUEEZE:-} " in
*[=]*) die 'scaling.sh: SQUEEZE is none or bf16' ;;
esac
head='| ranks | batch of one | Gbit/s | squeeze | s a step | slowest |'
head="$head exchange ms | of linear, if alike | of linear |"
line='|---|---|---|---|---|---|---|---|---|'
for b in ${BATCH:-2} $strong; do
    steps "$b" > /dev/null || exit 2
done
read -r full _ < <(steps "${BATCH:-2}" | slowest 1)
echo "weak scaling: as many sequences for each rank"
printf '%s\n%s\n' "$head" "$line"
row 1 "${BATCH:-2}" 12.5 none "$full"
for how in ${SQUEEZE:-none}; do
    for rate in ${RATES:-12.5 1.25}; do
        for r in ${RANKS:-16 64 256}; do
            row "$r" "${BATCH:-2}" "$rate" "$how" "$full"
        done
    done
done
echo "strong scaling: as many sequences for all"
printf '%s\n%s\n' "$head" "$line"
read -r full _ < <(steps "${strong%% *}" | slowest 1)
for how in ${SQUEEZE:-none}; do
    for rate in ${RATES:-12.5 1.25}; do
        r=1
        for b in $strong; do
            row $r "$b" "$rate" "$how" \
                "$(awk "BEGIN { print $full / $r }")"
            r=$((r * 2))
        done
    done
done
