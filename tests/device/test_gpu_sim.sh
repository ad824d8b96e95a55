#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_gpu_sim.sh: run-gpu.sh packs and runs the tests and the benchmark of the
# GPU, with the simulated CUDA libraries (tests/sim).
set -u
build=$PWD
run=$(cd "${srcdir:-.}" && pwd)/tests/run-gpu.sh
export CTT_MODULES=$build/tests/sim/.libs
[ -e "$CTT_MODULES/convtt-cuda.so" ] || { echo "no simulation"; exit 77; }
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# 1. The folder for a GPU machine; sanitized programs are too large for it.
sanitized() {
    grep -qs __asan_init "$build/tests/device/test_gpu_memory" \
        "$build/tests/device/.libs/test_gpu_memory"
}
"$run" --pack "$build" "$dir/there" > "$dir/said" 2>&1 ||
    { sanitized && grep -q 'more than 20 MB' "$dir/said"; } ||
    fail "--pack: $(cat "$dir/said")"
[ -z "$(find "$dir/there" -name 'libav*' -o -name 'libsw*')" ] ||
    fail "FFmpeg is in it"
tar -tJf "$dir/there.tar.xz" > "$dir/said"
for f in bin/convtt-train bin/convtt-infer bench/gpu_tables.py \
    bench/peers/ladder.py models/mnist-convttlstm.net; do
    grep -qx "there/$f" "$dir/said" || fail "there.tar.xz lacks $f"
done

# 2. Wrong arguments and folders give one line.
mkdir "$dir/empty"
for what in "$dir/empty" "--only nothing $dir/there" "--bad" ""; do
    # shellcheck disable=SC2086
    env -u CTT_MODULES "$run" $what > "$dir/said" 2>&1
    [ $? = 2 ] && [ "$(wc -l < "$dir/said")" = 1 ] ||
        fail "run-gpu.sh $what: $(cat "$dir/said")"
done

# 3. The parts take ten minutes at most; those that compile fused plans, two
# seconds for each of the most that the simulated GPU allows.
fused=60 models=254
"$run" --parts > "$dir/parts"
[ "$(awk '{ s += $2 } END { print s }' "$dir/parts")" -le 570 ] ||
    fail "the parts: $(cat "$dir/parts")"
for p in "kernels $fused" "train $fused" "model $models"; do
    [ "$(awk -v p="${p% *}" '$1 == p && NF == 2 { print $2 }' "$run")" -ge \
        $((2 * ${p#* })) ] || fail "${p% *}: ${p#* } plans do not fit"
done

# 4. All of them.
part() {
    CTT_REQUIRE=cuda "$run" --quick --only "$1" --python "$2" --times 20 \
        --out "$dir/out-$1" "$dir/there" > "$dir/said" 2>&1 ||
        fail "$1: $(tail -5 "$dir/said")"
    for p in ${3:-}; do
        grep -q "{\"name\": \"$p\", \"status\": \"passed\"" \
            "$dir/out-$1/results.json" || fail "$p is not in results.json"
    done
}
CTT_SIM_FUSED=$fused part first,kernels,updates,train false \
    'test_gpu_memory test_gpu_stream test_gpu test_gpu_update test_gpu_peers
    test_gpu_train train-words'
CTT_SIM_FUSED=$models CTT_SIM_JITTER=10000000 part model false test_gpu_model
CTT_SIM_FUSED=0 "$run" --quick --only first --python false --times 20 \
    --out "$dir/out-none" "$dir/there" > "$dir/said" 2>&1 &&
    fail "compiled plans are not counted"
part infer false 'infer-fp32 infer-tf32 infer-fp16 infer-int8'
part versions,bench,peers python3
out=$dir/out-versions,bench,peers
for row in ladder-64-4-graph whole-64; do
    grep -q "\"row\": \"$row\", \"ms\": [0-9.]*[1-9]" "$out/results.json" ||
        fail "$row is not in results.json"
    grep -q "\"row\": \"$row\", \"pass\": \"forward\", \"by\": \"cudnn:eng" \
        "$out/results.json" || fail "$row: no engine is named"
done
if command -v python3 > /dev/null; then
    grep -q '^| convtt | ladder-64-4-graph |' "$out/results.md" ||
        fail "the tables: $(cat "$out/results.md" "$out/log.txt")"
fi

# 5. Streams of a batch.
if [ -x tests/infer/test_batch ]; then
    CTT_REQUIRE=cuda tests/infer/test_batch || fail "test_batch: $?"
fi
exit $failed
