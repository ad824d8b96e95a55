#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sim_runs.sh: the device "cuda" with the simulated libraries (tests/sim)
# in unusual states: other orders of work, missing engines, little memory, and
# each call failing in turn; the tally of a step, and frames that it makes.
# CTT_SIM_CASES=all: in more orders, with all cases of the kernels, and with
# more calls that fail; CTT_CHECK_EVERY of 9 or more: with fewer.
set -u
tools="convtt-info convtt-train convtt-data"
. "${srcdir:-.}/tests/lib/cli.sh"
case ${srcdir:=$bin} in /*) ;; *) srcdir=$bin/$srcdir ;; esac
export srcdir CTT_MODULES=$bin/tests/sim/.libs:$bin/.libs CTT_REQUIRE=cuda
[ -e "${CTT_MODULES%%:*}/convtt-cuda.so" ] ||
    { echo "no simulation"; exit 77; }

# passes VAR=VALUE PROGRAM: its quick tests pass with this in the environment.
passes() {
    echo "$@"
    env "$1" "$bin/tests/device/$2" quick > log 2>&1 < /dev/null ||
        fail "$1 $2: $(grep -E '^ *[0-9]+\. |simulated|rror' log | head -5)"
}

# 1. Every allowed order of the streams' work gives the same results.
[ "${CTT_SIM_CASES:-some}" = all ] && all=1 || all=
[ "${CTT_CHECK_EVERY:-1}" -ge 9 ] && few=1 || few=
[ "$few" ] && orders=1 || orders="early now 1 ${all:+2 3}"
for order in $orders; do
    for program in test_gpu_memory test_gpu_stream test_gpu_update; do
        passes CTT_SIM_ORDER=$order $program
    done
done
for order in 4 ${all:+early}; do
    passes CTT_SIM_ORDER=$order test_gpu_model
done

# Updates of the optimisers beside their formulas.
"$bin/tests/libtrain/test_optimizers" > log 2>&1 ||
    fail "test_optimizers: $(tail -5 log)"

# 2. The results are the same without some engines of cuDNN, and with those
# that clear a sum in place before they read it.
for what in plain fallback hasty; do
    CTT_CHECK_EVERY=${all:-${few:+1}4} passes CTT_SIM_DNN=$what test_gpu
done

# 3. Each call fails once: one line names it, and nothing leaks.
cat > tiny.net << 'END'
input x h=32 w=32 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=4 stride=4
convlstm l in=e hidden=8
clip
window v in=l steps=2
pool p in=v kind=avg
conv y in=p out=12
END
CTT_SIM_DNN=none says 1 'cuDNN has no engine' \
    "$bin/convtt-info" --plan tiny.net --device cuda

# walk SHARE COMMAND...: call k fails, for every k at first and then in steps of
# k / SHARE + 1, until the command makes fewer calls.  Optional calls may fail
# silently.
walk() {
    local k=1 share=$1 rc
    shift
    while :; do
        CTT_SIM_FAIL=$k "$@" > out 2> all < /dev/null
        rc=$?
        # A slow machine tells its progress; a plan that fails, a warning.
        grep -vE -e '^(reading clips: [0-9]+ of|epoch [0-9]+/[0-9]+ [0-9]+/)' \
            -e 'warning: cuDNN cannot compile' all > err
        case $rc:$(wc -l < err) in
        71:*) break ;;
        0:0 | 1:1)    # what is moved where is said too
            grep 'cudaMemcpy' err | grep -qvE 'upload|download|copy of' &&
                fail "call $k of $1 is not named: $(head -3 err)" ;;
        *) fail "call $k of $1: $(head -3 err)"; break ;;
        esac
        k=$((k + k / share + 1))
    done
    echo "$1: fewer than $k calls"
}
calls=${all:+12}
walk "${calls:-$((few ? 3 : 6))}" "$bin/convtt-info" --plan tiny.net \
    --device cuda
make_clips
train() {
    rm -f tiny.ctt.ckpt
    "$bin/convtt-train" tiny.net --data clips -o tiny.ctt --max-steps 3 \
        --batch 8 --device cuda
}
walk $((few ? 2 : 4)) train

# 4. Out of memory: one line.
CTT_SIM_MEMORY=600000 says 1 'MB asked' train

# 5. The tally of a training step: of T frames conv z runs T times in
# either direction; the convs e and zx once forward, zx once back, and three
# times gradients of weights follow.
CTT_SIM_TALLY=ctt_adam CTT_SIM_GUARD=0 train > log 2>&1 < /dev/null ||
    fail "a tally: $(tail -3 log)"
steps=$(awk '/kernel lstm_forward/ { print $1 }' log)
grep -q 'kernel ctt_shots' log || fail "frames are floats: $(tail -3 log)"
grep -q "operations, $((2 * ${steps:-0} + 6)) of them convs" log &&
    [ "${steps:-0}" -gt 1 ] || fail "a tally: $(tail -3 log)"

# 6. Frames that the GPU makes of bytes, in windows that are recomputed and in
# shards, give the losses of a processor.
shards() {
    rm -f tiny.ctt*
    "$bin/convtt-train" tiny.net --data clips -o tiny.ctt --epochs 2 \
        --batch 8 --shards 2 --window 2 --keep 0 "$@" > log 2>&1 < /dev/null
}
for device in cpu cuda; do
    shards --device $device --log-csv $device.csv ||
        fail "shards on $device: $(tail -3 log)"
done
paste -d, cpu.csv cuda.csv | awk -F, '
    NR == 1 { for (i = NF; i; i--) if ($i == "loss") at[++n] = i }
    NR > 1 { a = $at[1]; b = $at[2]; rows += (a - b) ^ 2 <= 1e-8 * a * a }
    END { exit n != 2 || rows != 2 }' ||
    fail "losses: $(cat cpu.csv cuda.csv)"
CTT_SIM_TALLY=ctt_adam CTT_SIM_GUARD=0 shards --device cuda ||
    fail "a tally of shards: $(tail -3 log)"
grep -q 'kernel ctt_shots' log ||
    fail "frames of shards are floats: $(tail -3 log)"

# 7. The node of an infinite gradient is looked for with the frames of its step,
# though the memory of the next step's frames is in use by then.
for device in cpu cuda; do
    rm -f tiny.ctt*
    "$bin/convtt-train" tiny.net --data clips -o tiny.ctt --epochs 9 \
        --batch 4 --amp O1 --loss-scale 2^40 --device $device > log 2>&1 \
        < /dev/null
    got=$?    # a slow machine tells its progress, too
    grep 'gradient of .* is not finite, with a loss scale' log > $device.err &&
        [ $got = 1 ] || fail "infinite on $device: $got: $(tail -3 log)"
done
cmp cpu.err cuda.err || fail "nodes: $(cat cpu.err cuda.err)"
exit $failed
