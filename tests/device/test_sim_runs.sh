#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sim_runs.sh: the device "cuda" where the simulated libraries (tests/sim)
# are at their worst: work in other orders, engines that are not there, little
# memory, and calls that fail, one after the other.
set -u
tools="convtt-info convtt-train convtt-data"
. "${srcdir:-.}/tests/lib/cli.sh"
case ${srcdir:=$bin} in /*) ;; *) srcdir=$bin/$srcdir ;; esac
export srcdir CTT_MODULES=$bin/tests/sim/.libs CTT_REQUIRE=cuda
[ -e "$CTT_MODULES/convtt-cuda.so" ] || { echo "no simulation"; exit 77; }

# passes WHAT PROGRAM: its quick tests pass with this in the environment.
passes() {
    echo "$@"
    env "$1" "$bin/tests/device/$2" quick > log 2>&1 < /dev/null ||
        fail "$1 $2: $(grep -E '^ *[0-9]+\. |simulated|rror' log | head -5)"
}

# 1. Every order of the streams' work that is allowed gives the same.
for order in early now 1 2 3; do
    for program in test_gpu_memory test_gpu_stream test_gpu_update; do
        passes CTT_SIM_ORDER=$order $program
    done
done
for order in early 4; do
    passes CTT_SIM_ORDER=$order test_gpu_model
done

# 2. What cuDNN does not fuse is done another way.
for what in plain fallback; do
    passes CTT_SIM_DNN=$what test_gpu
done

# 3. Each call fails once: one line that names it, and nothing is left behind.
cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
convlstm l in=e hidden=8
clip
window v in=l steps=2
pool p in=v kind=avg
conv y in=p out=12
END
CTT_SIM_DNN=none says 1 'cuDNN has no engine' \
    "$bin/convtt-info" --plan tiny.net --device cuda

# walk SHARE COMMAND...: the first calls and, later, fewer and fewer of them,
# until there are not so many.  What can be done without may fail in silence.
walk() {
    local k=1 share=$1
    shift
    while :; do
        CTT_SIM_FAIL=$k "$@" > out 2> err < /dev/null
        case $?:$(wc -l < err) in
        71:*) break ;;
        0:0 | 1:1) ;;
        *) fail "call $k of $1: $(head -3 err)"; break ;;
        esac
        k=$((k + k / share + 1))
    done
    echo "$1: fewer than $k calls"
}
walk 12 "$bin/convtt-info" --plan tiny.net --device cuda
make_clips
train() {
    "$bin/convtt-train" tiny.net --data clips -o tiny.ctt --max-steps 3 \
        --batch 8 --device cuda
}
walk 4 train

# 4. Out of memory: one line that says what would fit.
CTT_SIM_MEMORY=600000 says 1 'MB asked' train
exit $failed
