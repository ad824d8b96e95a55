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
    { sanitized && grep -q 'more than 60 MB' "$dir/said"; } ||
    fail "--pack: $(cat "$dir/said")"
[ -z "$(find "$dir/there" -name 'libav*' -o -name 'libsw*')" ] ||
    fail "FFmpeg is in it"

# 2. Wrong arguments and folders give one line.
mkdir "$dir/empty"
for what in "$dir/empty" "--only nothing $dir/there" "--bad" ""; do
    # shellcheck disable=SC2086
    env -u CTT_MODULES "$run" $what > "$dir/said" 2>&1
    [ $? = 2 ] && [ "$(wc -l < "$dir/said")" = 1 ] ||
        fail "run-gpu.sh $what: $(cat "$dir/said")"
done

# 3. All tests and the benchmark.
CTT_REQUIRE=cuda "$run" --quick --only tests,bench --python false \
    --limit 1500 --out "$dir/out" "$dir/there" || fail "run-gpu.sh: $?"
cat "$dir/out/log.txt"
for p in test_gpu test_gpu_memory test_gpu_model test_gpu_stream \
    test_gpu_peers test_gpu_train test_gpu_update; do
    grep -q "{\"name\": \"$p\", \"status\": \"passed\"" \
        "$dir/out/results.json" || fail "$p is not in results.json"
done
for row in ladder-64-1-fp32 ladder-64-4-graph; do
    grep -q "\"row\": \"$row\", \"ms\": [0-9.]*[1-9]" \
        "$dir/out/results.json" || fail "$row is not in results.json"
    grep -q "^| $row " "$dir/out/results.txt" || fail "$row: not in the table"
done

# 4. Streams of a batch.
if [ -x tests/infer/test_batch ]; then
    CTT_REQUIRE=cuda tests/infer/test_batch || fail "test_batch: $?"
fi
exit $failed
