#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run-gpu.sh: runs all tests and benchmarks of the device "cuda" from one
# folder, on a machine that has a GPU and little else.
set -u -o pipefail

usage() {
    cat << 'END'
usage: run-gpu.sh [options] DIR            runs the tests and benchmarks in DIR
       run-gpu.sh --pack BUILD DIR         copies what a run needs into DIR

DIR is a build folder or made by --pack: programs, the module convtt-cuda.so,
models, and libraries except those of CUDA and the system; at most 60 MB.
oneDNN is left out for its size: own kernels compute on the processor.
Also required: the driver, and CUDA's libraries with cuDNN; they are searched
for in the system's folders, /usr/local/cuda, and the packages of PYTHON.  So is
NCCL; without it test_gpu_peers is skipped.

  --out OUT         folder for results.json, results.txt, log.txt (DIR/out)
  --only PART,...   parts to run: tests, bench, sanitizer (all)
  --quick           few cases, small models: for slow machines
  --python PYTHON   also measures PyTorch (python3, if it has PyTorch)
  --limit SECONDS   about how long all may take; later parts are skipped (570)
  --cuda DIR:...    folders of CUDA's libraries

Exit status: 0: all passed; 1: something failed; 77: there is no GPU.
END
}

die() { echo "run-gpu.sh: $*" >&2; exit 2; }

programs='test_gpu_memory test_gpu_update test_gpu_stream test_gpu
    test_gpu_model test_gpu_train test_gpu_peers'
top=$(cd "$(dirname "$0")/.." && pwd)    # of the sources

# ---- pack ----

# Libraries that are part of the system, the driver or CUDA.
base='ld-linux|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+'
base="$base|libcuda|libcudart|libcudnn.*|libcublas.*|libnv.*"

# pack BUILD DIR
pack() {
    local build=$1 dir=$2 module kb f
    module=${CTT_MODULES:-$build/.libs}/convtt-cuda.so
    [ -e "$module" ] || die "no $module"
    mkdir -p "$dir"/{bin,lib/convtt,bench/peers,models} || exit 1
    for f in $(printf 'tests/device/%s ' $programs) bench/bench_gpu; do
        [ -x "$build/$f" ] || die "no $build/$f: make gpu-folder makes it"
        program=$build/$(dirname $f)/.libs/$(basename $f)
        [ -e "$program" ] || program=$build/$f
        cp "$program" "$dir/bin/" && strip -S "$dir/bin/$(basename $f)" ||
            exit 1
    done
    cp "$module" "$dir/lib/convtt/" &&
        strip -S "$dir/lib/convtt/"*.so || exit 1
    ldd "$dir"/bin/* "$dir"/lib/convtt/*.so | awk '$2 == "=>" {print $1, $3}' |
        sort -u | grep -vE "^($base)\.so" | while read -r name file; do
        [ -e "$file" ] || die "$name is not found"
        cp -L "$file" "$dir/lib/$name" || exit 1
    done || exit 1
    [ -z "$(find "$dir/lib" -name 'libav*')" ] || die "FFmpeg is in it"
    cp "$top"/models/*.net "$dir/models/"
    cp "$top/bench/run_ladder.sh" "$dir/bench/"
    cp "$top"/bench/peers/*.py "$dir/bench/peers/"
    cp "$top/tests/run-gpu.sh" "$dir/"
    kb=$(du -sk "$dir" | cut -f1)
    echo "$dir: $((kb / 1024)) MB"
    [ "$kb" -le 61440 ] || die "more than 60 MB"
}

# ---- find programs and libraries ----

find_program() {
    local f
    for f in "$dir/bin/$1" "$dir/tests/device/$1" "$dir/bench/$1"; do
        [ -x "$f" ] && { echo "$f"; return; }
    done
    die "no $1 in $dir"
}

find_module() {
    local f
    for f in ${CTT_MODULES:+"$CTT_MODULES"} "$dir/lib/convtt" "$dir/.libs"; do
        [ -e "$f/convtt-cuda.so" ] && { echo "$f"; return; }
    done
    die "no convtt-cuda.so in $dir"
}

python_libraries() {
    "$python" -c 'import glob, sys
print("\n".join(d for p in sys.path for d in glob.glob(p + "/nvidia/*/lib")))
' 2> /dev/null
}

# The folder of NCCL, which the module loads itself, if the module's folder or
# the system's do not have it.
nccl_library() {
    local d
    ! ldconfig -p 2> /dev/null | grep -q libnccl.so.2 || return
    while read -r d; do
        [ ! -e "$d/libnccl.so.2" ] || { echo ":$d"; return; }
    done < <(ls -d /usr/local/cuda*/lib64 2> /dev/null; python_libraries)
}

# The folders of the module's libraries, as far as the system does not find
# them itself.
cuda_libraries() {
    local d path=$cuda
    while read -r d; do
        LD_LIBRARY_PATH=$path:${LD_LIBRARY_PATH:-} ldd "$module" 2> /dev/null |
            grep -q 'not found' || break
        [ -n "$d" ] && [ -d "$d" ] && path=$path:$d
    done < <(ls -d /usr/local/cuda*/lib64 2> /dev/null; python_libraries; echo)
    echo "$path$(nccl_library)"
}

# start NAME [PROGRAM]: makes a command NAME that runs its arguments, or PROGRAM
# with them, with these library folders.
start() {
    cat > "$work/$1" << END && chmod +x "$work/$1"
#!/bin/sh
LD_LIBRARY_PATH='$dir/lib:$found:${LD_LIBRARY_PATH:-}'
CTT_MODULES='$modules:$dir/lib/convtt:$dir/.libs' srcdir='$sources'
export LD_LIBRARY_PATH CTT_MODULES srcdir
exec ${2:+'$2'} "\$@"
END
}

# ---- parts ----

left() { echo $((limit - SECONDS)); }
late() { [ "$(left)" -lt 15 ]; }

# measure NAME COMMAND...: runs it and writes its line of the table.
measure() {
    local name=$1 from=$SECONDS status
    shift
    if late; then
        echo "test $name late 0" >> "$lines"
        return 0
    fi
    { echo "==== $name"; timeout "$(left)" "$@"; } >> "$out/log.txt" 2>&1
    status=$?
    case $status in
    0)   word=passed ;;
    77)  word=skipped ;;
    124) word=timeout ;;
    *)   word=failed ;;
    esac
    printf '%-28s %-8s %4d s\n' "$name" $word $((SECONDS - from))
    echo "test $name $word $((SECONDS - from))" >> "$lines"
    return $status
}

run_tests() {
    local p
    for p in $programs; do
        measure $p "$work/ours" "$(find_program $p)" $quick
    done
}

# CUDA's checkers for bad memory accesses and data races.
run_sanitizer() {
    local tool p=test_gpu
    [ -n "$(command -v compute-sanitizer)" ] || {
        echo "no compute-sanitizer on the PATH"
        echo "test sanitizer skipped 0" >> "$lines"
        return
    }
    for tool in memcheck racecheck; do
        measure $tool "$work/ours" compute-sanitizer --tool $tool \
            --error-exitcode 9 "$(find_program $p)" quick
    done
}

run_bench() {
    local ladder=$top/bench/run_ladder.sh options= rows= peer=
    [ -e "$dir/bench/run_ladder.sh" ] && ladder=$dir/bench/run_ladder.sh
    [ -z "$quick" ] || options='--size 2 --batch 1 --seconds 0 --input 2
        --future 2' rows=ladder-64-1,ladder-64-4
    "$python" -c 'import torch; assert torch.cuda.is_available()' \
        2> /dev/null && peer=$python
    late && { echo "test bench late 0" >> "$lines"; return; }
    # shellcheck disable=SC2086
    BENCH_GPU=$work/bench_gpu LIMIT=$(($(left) - 5)) OPTIONS=$options \
        ROWS=$rows bash "$ladder" $peer | tee "$work/bench" ||
        echo "test bench failed 0" >> "$lines"
    grep -E '^(convtt|torch) ' "$work/bench" >> "$lines"
    awk '/^\|/ || /^peak/' "$work/bench" > "$work/table"
}

# ---- results ----

json() {
    awk -v gpu="$gpu" '
    function text(s) { gsub(/["\\]/, " ", s); return "\"" s "\"" }
    $1 == "test" { test[++tests] = "{\"name\": " text($2) ", \"status\": " \
        text($3) ", \"seconds\": " $4 "}"; next }
    $2 == "peak" { peak = ", \"peak_fp32_gflops\": " $4 \
        ", \"peak_fp16_gflops\": " $7; next }
    $2 == "train" {
        s = "{\"by\": " text($1) ", \"model\": " text($3) ", \"input\": " \
            text($4) ", \"row\": " text($5) ", \"ms\": " $6 ", \"mb\": " $8
        for (i = 9; i < NF; i++) {
            if ($i == "batch") s = s ", \"batch\": " $(i + 1)
            if ($(i + 1) == "clips/s") s = s ", \"clips_per_s\": " $i
            if ($(i + 1) == "GFLOP/s") s = s ", \"gflops\": " $i
            if ($i == "floor") s = s ", \"floor_ms\": " $(i + 1)
        }
        row[++rows] = s "}"; next
    }
    { note[++notes] = text($0) }
    END {
        print "{\"gpu\": " text(gpu) peak ","
        print " \"tests\": ["
        for (i = 1; i <= tests; i++) print "  " test[i] (i < tests ? "," : "")
        print " ],\n \"rows\": ["
        for (i = 1; i <= rows; i++) print "  " row[i] (i < rows ? "," : "")
        print " ],\n \"notes\": ["
        for (i = 1; i <= notes; i++) print "  " note[i] (i < notes ? "," : "")
        print " ]}"
    }' "$lines"
}

table() {
    echo "GPU: $gpu"
    echo
    echo '| test | result | seconds |'
    echo '|---|---|---|'
    awk '$1 == "test" { printf "| %s | %s | %s |\n", $2, $3, $4 }' "$lines"
    if [ -e "$work/table" ]; then
        echo
        cat "$work/table"
    fi
}

# ---- the program ----

only=tests,bench,sanitizer quick='' python=python3 limit=570 cuda='' out=''
while [ $# -gt 0 ]; do
    case $1 in
    --help)   usage; exit 0 ;;
    --pack)   [ $# = 3 ] || die "--pack BUILD DIR"
              pack "$2" "$3"; exit ;;
    --quick)  quick=quick; shift ;;
    --out | --only | --python | --limit | --cuda)
              [ $# -ge 2 ] || die "$1: no value (--help)"
              declare "${1#--}=$2"; shift 2 ;;
    -*)       die "unknown option '$1' (--help)" ;;
    *)        break ;;
    esac
done
[ $# = 1 ] && [ -d "$1" ] || die "one folder must be named (--help)"
for part in ${only//,/ }; do
    case $part in
    tests | bench | sanitizer) ;;
    *) die "--only: no part '$part' (--help)" ;;
    esac
done
dir=$(cd "$1" && pwd)
out=${out:-$dir/out}
mkdir -p "$out" && : > "$out/log.txt" || exit 1
out=$(cd "$out" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
lines=$work/lines
: > "$lines"
modules=$(find_module) || exit 2
module=$modules/convtt-cuda.so
sources=$top
[ -e "$dir/models" ] && sources=$dir
found=$(cuda_libraries)
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader \
      2> /dev/null | head -n 1)

program=$(find_program bench_gpu) || exit 2
start ours && start bench_gpu "$program" || exit 1

# Without a GPU there is nothing to do.  If the driver shows one, a device that
# cannot be opened is a failure.
[ -z "$gpu" ] || export CTT_REQUIRE=cuda
if [ "${CTT_REQUIRE:-}" != cuda ]; then
    program=$(find_program test_gpu_memory) || exit 2
    "$work/ours" "$program" quick > "$work/probe" 2>&1
    if [ $? = 77 ]; then
        grep skipped "$work/probe"
        exit 77
    fi
    export CTT_REQUIRE=cuda
fi
for part in ${only//,/ }; do
    run_$part
done
json > "$out/results.json"
table > "$out/results.txt"
echo
cat "$out/results.txt"
! grep -qE '^test .* (failed|timeout) |^convtt failed' "$lines"
