#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bands.sh: the size of frames from which several processes that divide a
# model's graph are faster. The computing of each in a step is measured, one
# after the other on one thread; messages are simulated (bench/bench_split.c).
# A line for each model, way to divide it, size of frames and number of
# processes.
# BUILD=FOLDER: the build folder (build).  SIZES="64 256 512 1024".
# PARTS="2 4 8".  HOW="bands filters".  NETS="conv lstm dense".
# RUNS=3.  LATENCY=2: microseconds of a message.
set -u
. "$(dirname "$0")/begin.sh" bench/bench_split
bench=$build/bench/bench_split
[ -e "$build/.libs/convtt-onednn.so" ] && export CTT_MODULES=$build/.libs
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Three models for frames of size $1.  Convs at full size, as in VGG; two
# ConvLSTMs at a quarter of it; dense layers behind a small image.
conv() {
    echo "input x h=$1 w=$1 c=3
conv a in=x out=16 kernel=3 pad=1
act b in=a kind=relu
conv c in=b out=16 kernel=3 pad=1
act d in=c kind=relu
pool e in=d kind=max kernel=2
conv f in=e out=32 kernel=3 pad=1
act g in=f kind=relu
conv h in=g out=32 kernel=3 pad=1
act i in=h kind=relu
pool j in=i kind=max kernel=2
conv k in=j out=64 kernel=3 pad=1
act l in=k kind=relu
pool p in=l kind=avg
conv y in=p out=12"
}
lstm() {
    echo "input x h=$1 w=$1 c=3
conv e in=x out=32 kernel=5 stride=4 pad=2
act f in=e kind=relu
convlstm g in=f hidden=32 kernel=3
convlstm h in=g hidden=32 kernel=3
pool p in=h kind=avg
conv y in=p out=12"
}
dense() {
    echo "input x h=$1 w=$1 c=3
pool a in=x kind=avg kernel=$(($1 / 16))
conv b in=a out=64 kernel=3 pad=1
act c in=b kind=relu
pool d in=c kind=max kernel=2
reshape e in=d d=1 h=1 w=1 c=0
conv f in=e out=1024
act g in=f kind=relu
conv h in=g out=1024
act i in=h kind=relu
conv y in=i out=12"
}
row='%-6s %-8s %5s %5s %8s %8s %7s %8s %8s %16s %16s %10s\n'
# shellcheck disable=SC2059
print() { printf "$row" "$@"; }
print net divided size parts whole,ms part,ms share messages MB \
    100Gbit/s:ms,x 10Gbit/s:ms,x values,MB
for net in ${NETS:-conv lstm dense}; do
    for size in ${SIZES:-64 256 512 1024}; do
        $net "$size" > "$work/$net.net"
        for how in ${HOW:-bands filters}; do
            for parts in ${PARTS:-2 4 8}; do
                got=$("$bench" "$work/$net.net" "$how" "$parts" \
                    --steps "${STEPS:-4}" --runs "${RUNS:-3}" \
                    --latency "${LATENCY:-2}" 2> "$work/err") || {
                    echo "$net $how $size $parts: $(cat "$work/err")"
                    continue
                }
                # shellcheck disable=SC2086
                set -- $got
                print "$net" "$how" "$size" "$parts" "$1" "$2" "$3" "$4" \
                    "$5" "$6 ${7}x" "$8 ${9}x" "${10} ${11}"
            done
        done
    done
done
