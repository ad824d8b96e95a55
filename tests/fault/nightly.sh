#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nightly.sh: tests that take too long for make check (make nightly): each
# without a time limit, a summary at the end, and status 1 if one has failed.
#
# CTT_NIGHTLY="all faults files compose cpus arm sim stream mpich sanitize gpus
# zoo seeds packages fuzz": only these;
# TIME: seconds for each target of fuzz.
set -u
build=$PWD
src=$(cd "${srcdir:-.}" && pwd)
export srcdir=$src
logs=$build/nightly
mkdir -p "$logs"
rows=() failed=0

# part NAME WHAT COMMAND...
part() {
    local name=$1 what=$2 from=$SECONDS rc
    shift 2
    [[ " ${CTT_NIGHTLY:-$name} " = *" $name "* ]] || return 0
    printf '\n==== %s: %s\n' "$name" "$what"
    "$@" 2>&1 | tee "$logs/$name.log"
    rc=${PIPESTATUS[0]}
    case $rc in
    0) rc=passed ;;
    77) rc=skipped ;;
    *) rc=FAILED failed=1 ;;
    esac
    rows+=("$(printf '%-8s %-8s %6d s  %s' "$name" $rc \
              $((SECONDS - from)) "$what")")
}

# here TARGET...: make of this build, which has its own folder of tests.
here() { "${MAKE:-make}" --no-print-directory "$@"; }
# other FOLDER 'OPTION...' TARGET...: make of another build, in nightly/FOLDER.
other() {
    local folder=$logs/$1 options=$2
    shift 2
    mkdir -p "$folder"
    # shellcheck disable=SC2086
    [ -e "$folder/Makefile" ] || (cd "$folder" &&
        "$src/configure" --quiet --disable-static $options) || return 1
    here -C "$folder" "$@"
}
# Whatever .ci/run tests by a sample, and with sanitizers what it tests without.
every() { CTT_CHECK_EVERY=1 here check; }
sanitized() {
    ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 CTT_CHECK_EVERY=9 \
        CTT_CHECK_OTHER=no CTT_FUZZ_SECONDS=4 \
        other asan '--enable-sanitize --enable-werror --with-cuda=no' check
}

part all 'every test with all its cases' every
part sanitize 'all tests with sanitizers' sanitized
if type -P nvcc > /dev/null; then
    part gpus 'the module of CUDA for other GPUs, without a warning' \
        other gpus '--enable-werror --with-cuda-arch=sm_90' convtt-cuda.la
fi
part faults 'every kind of allocation, every write, 1,000 kills' \
    env CTT_FAULT_CASES=all bash "$src/tests/fault/test_faults.sh"
part files 'a model is saved while each allocation fails' \
    env CTT_FAULT_CASES=all "$build/tests/net/file/test_file_memory"
part compose 'each stage of compression with each other, on four nets' \
    env CTT_COMPOSE_NETS=4 "$build/tests/compress/test_compose"
part cpus 'processors without AVX, AVX2, AVX-512' \
    env CTT_CPU_CASES=all bash "$src/tests/fault/old_cpus.sh"
part sim 'the simulated GPU in each order of work' \
    env CTT_SIM_CASES=all bash "$src/tests/device/test_sim_runs.sh"
part arm 'convolutions of quantised values on ARM' \
    env CTT_CPU_CASES=all bash "$src/tests/device/test_arm.sh"
part stream 'a day of frames through convtt-infer --stream' \
    env CTT_STREAM_FRAMES=880000 \
    bash "$src/tests/tools/stream/test_stream_cli.sh"
part zoo 'a training step of each network of models/zoo.sh' \
    env BUILD="$build" PARTS=step \
    bash "$src/bench/records/zoo.sh" "$logs/zoo.made"
part seeds 'each command of doc/seeds.md in a small form' \
    bash "$src/tests/seeds.sh"
part packages 'Debian packages and the container image' \
    bash "$src/tests/packages.sh"
part mpich 'processes that MPICH starts and connects' \
    bash "$src/tests/comm/mpich.sh"
if grep -q '^fuzz:' "$build/Makefile"; then
    part fuzz "each parser for ${TIME:-600} s" \
        "${MAKE:-make}" --no-print-directory fuzz TIME="${TIME:-600}"
fi

printf '\n==== nightly\n'
printf '%s\n' "${rows[@]}"
exit $failed
