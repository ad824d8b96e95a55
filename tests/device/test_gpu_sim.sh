#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_gpu_sim.sh: the tests of the GPU, its benchmark and run-gpu.sh, which
# packs and runs them, with simulated CUDA libraries (tests/sim).
set -u
build=$PWD
run=$(cd "${srcdir:-.}" && pwd)/tests/run-gpu.sh
export CTT_MODULES=$build/tests/sim/.libs
[ -e "$CTT_MODULES/convtt-cuda.so" ] || { echo "no simulation"; exit 77; }
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# 1. What a GPU machine would get; a program that is sanitized is too large.
"$run" --pack "$build" "$dir/there" > "$dir/said" 2>&1 ||
    grep -q 'more than 60 MB' "$dir/said" || fail "--pack: $(cat "$dir/said")"
[ -z "$(find "$dir/there" -name 'libav*' -o -name 'libsw*')" ] ||
    fail "FFmpeg is in it"

# 2. What cannot be run is one line.
mkdir "$dir/empty"
for what in "$dir/empty" "--only nothing $dir/there" "--bad" ""; do
    # shellcheck disable=SC2086
    env -u CTT_MODULES "$run" $what > "$dir/said" 2>&1
    [ $? = 2 ] && [ "$(wc -l < "$dir/said")" = 1 ] ||
        fail "run-gpu.sh $what: $(cat "$dir/said")"
done

# 3. All of it.
CTT_REQUIRE=cuda "$run" --quick --only tests,bench --python false \
    --limit 1500 --out "$dir/out" "$dir/there" || fail "run-gpu.sh: $?"
cat "$dir/out/log.txt"
for p in test_gpu test_gpu_memory test_gpu_model test_gpu_stream \
    test_gpu_train test_gpu_update; do
    grep -q "{\"name\": \"$p\", \"status\": \"passed\"" \
        "$dir/out/results.json" || fail "$p is not in results.json"
done
for row in ladder-64-1-fp32 ladder-64-4-graph; do
    grep -q "\"row\": \"$row\", \"ms\": [0-9.]*[1-9]" \
        "$dir/out/results.json" || fail "$row is not in results.json"
    grep -q "^| $row " "$dir/out/results.txt" || fail "$row: not in the table"
done
exit $failed
