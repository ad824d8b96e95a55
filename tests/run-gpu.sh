#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run-gpu.sh: runs the benchmarks and tests of the device "cuda" from one
# folder, on a machine that has a GPU and little else, in ten minutes.
set -u -o pipefail

usage() {
    cat << 'END'
usage: run-gpu.sh [options] DIR            runs the benchmarks and tests in DIR
       run-gpu.sh --pack BUILD DIR         copies what a run needs into DIR and
                                           packs that as DIR.tar.xz
       run-gpu.sh --parts                  lists the parts and their seconds

DIR is a build folder or made by --pack: programs, the module convtt-cuda.so,
models, and libraries except those of CUDA and the system; packed at most 20 MB.
oneDNN is left out for its size: own kernels compute on the processor.
Also required: the driver, and CUDA's libraries with cuDNN and NVRTC; they are
searched for in the system's folders, /usr/local/cuda, and the packages of
PYTHON.  So is NCCL; without it test_gpu_peers is skipped.

  --out OUT         folder for results.json, results.txt, log.txt (DIR/out)
  --only PART,...   these parts (those that fit into 570 s)
  --quick           small frames in the benchmark: for slow machines
  --python PYTHON   also measures PyTorch (python3, if it has PyTorch)
  --times N         each part may take N times as long: for slow machines (1)
  --cuda DIR:...    folders of CUDA's libraries

What cuDNN's plans were chosen and how long each took is kept in OUT/caches.
Exit status: 0: all passed; 1: something failed; 77: there is no GPU.
END
}

die() { echo "run-gpu.sh: $*" >&2; exit 2; }

programs='test_gpu_memory test_gpu_update test_gpu_stream test_gpu
    test_gpu_model test_gpu_train test_gpu_peers'
others='convtt-train convtt-infer bench/bench_gpu'
top=$(cd "$(dirname "$0")/.." && pwd)    # of the sources

# Name and seconds of each part, in the order in which they run; those after the
# line are run if they are named.
parts='versions 10
first 20
bench 110
peers 120
kernels 120
updates 20
infer 40
train 130
--
model 520
rows 400
sanitizer 300'

seconds_of() { awk -v p="$1" '$1 == p { print $2 }' <<< "$parts"; }

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
    for f in $(printf 'tests/device/%s ' $programs) $others; do
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
    cp "$top/bench/run_ladder.sh" "$top/bench/gpu_tables.py" "$dir/bench/"
    cp "$top"/bench/peers/*.py "$dir/bench/peers/"
    cp "$top/tests/run-gpu.sh" "$dir/"
    # The programs hold the same libraries: one dictionary for all.
    dir=$(cd "$dir" && pwd)
    tar -C "$(dirname "$dir")" -c "$(basename "$dir")" |
        xz --lzma2=preset=3,dict=96MiB > "$dir.tar.xz" || exit 1
    kb=$(du -sk --apparent-size "$dir.tar.xz" | cut -f1)
    echo "$dir: $(du -sm "$dir" | cut -f1) MB, $dir.tar.xz: $((kb / 1024)) MB"
    [ "$kb" -le 20480 ] || die "more than 20 MB packed"
}

# ---- find programs and libraries ----

find_program() {
    local f
    for f in "$dir/bin/$1" "$dir/tests/device/$1" "$dir/bench/$1" "$dir/$1"; do
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

# The folders of CUDA's libraries.  All of them: cuDNN and cuBLAS load others
# when they are first needed, and NCCL is loaded by the module.
cuda_libraries() {
    local d path=$cuda
    while read -r d; do
        [ -n "$d" ] && [ -d "$d" ] && path=$path:$d
    done < <(ls -d /usr/local/cuda*/lib64 2> /dev/null; python_libraries; echo)
    echo "$path"
}

# start NAME [PROGRAM]: makes a command NAME that runs its arguments, or PROGRAM
# with them, with these library folders.
start() {
    cat > "$work/$1" << END && chmod +x "$work/$1"
#!/bin/sh
LD_LIBRARY_PATH='$dir/lib:$found:${LD_LIBRARY_PATH:-}'
CTT_MODULES='$modules:$dir/lib/convtt:$dir/.libs' srcdir='$sources'
XDG_CACHE_HOME='$out/caches'
export LD_LIBRARY_PATH CTT_MODULES srcdir XDG_CACHE_HOME
exec ${2:+'$2'} "\$@"
END
}

# ---- parts ----

# Seconds until the end of the part.
left() { echo $((end - SECONDS)); }

# measure NAME COMMAND...: runs it and writes its line of the table.
measure() {
    local name=$1 from=$SECONDS status
    shift
    if [ "$(left)" -lt 1 ]; then
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
    for p; do
        measure "$p" "$work/ours" "$(find_program "$p")" quick
    done
}

# Does the compiler of fused kernels load, and which libraries are there?
run_versions() {
    local f
    {
        nvidia-smi 2> /dev/null
        for f in libcudnn libnvrtc libcublasLt libnccl; do
            find ${found//:/ } -maxdepth 1 -name "$f.so.*" 2> /dev/null |
                head -n 1
            ldconfig -p 2> /dev/null | grep "$f.so" | head -n 1
        done
        "$python" -c 'import torch; print("torch", torch.__version__)'
    } >> "$out/log.txt" 2>&1
}

run_first() { run_tests test_gpu_memory test_gpu_stream; }
run_kernels() { run_tests test_gpu; }
run_updates() { run_tests test_gpu_update test_gpu_peers; }

# First a training of a text, which needs no decoder of clips and whose layers
# are matrix products, with nothing to compile; the test has the time that is
# left.
run_train() {
    local program words=$work/words.txt
    program=$(find_program convtt-train) || exit 2
    seq -f 'line %g of the text is as long as the others' 64 > "$words"
    measure train-words "$work/ours" "$program" \
        "$sources/models/words-lstm8.net" --task next --data "words:$words" \
        --val none --batch 16 --max-steps 4 --device cuda --amp O1 \
        -o "$work/words.h5"
    run_tests test_gpu_train
}

# A session in each type of numbers; the log has the times.
run_infer() {
    local type program runs=200
    [ -z "$quick" ] || runs=5
    program=$(find_program convtt-infer) || exit 2
    for type in fp32 tf32 fp16 int8; do
        measure infer-$type "$work/ours" "$program" --bench --device cuda \
            --type $type --runs $runs --sessions 1 \
            "$sources/models/early-convttlstm.net"
    done
}

# One case in 72: the fused convs of all models would take minutes to compile.
run_model() { CTT_CHECK_EVERY=${CTT_CHECK_EVERY:-72} run_tests test_gpu_model; }

# CUDA's checkers for bad memory accesses and data races, of our own kernels.
run_sanitizer() {
    local tool
    [ -n "$(command -v compute-sanitizer)" ] || {
        echo "no compute-sanitizer on the PATH"
        echo "test sanitizer skipped 0" >> "$lines"
        return
    }
    for tool in memcheck racecheck; do
        measure $tool "$work/ours" compute-sanitizer --tool $tool \
            --error-exitcode 9 "$(find_program test_gpu_update)" quick
    done
}

has_torch() {
    "$python" -c 'import torch; assert torch.cuda.is_available()' \
        2>> "$out/log.txt"
}

# take COMMAND...: its lines of results.
take() {
    "$@" 2>> "$out/log.txt" | tee -a "$out/log.txt" |
        grep -E '^(convtt|torch) ' | tee -a "$work/bench" >> "$lines"
}

# The steps of most interest at full size, with the engines of their convs.
run_bench() {
    local options= status
    [ -z "$quick" ] || options='--size 2 --batch 1 --seconds 0 --input 2
        --future 2'
    # shellcheck disable=SC2086
    take timeout "$(left)" "$work/bench_gpu" --models "$sources/models" \
        --limit "$(($(left) - 40))" --rows ladder-64-4,whole-64 $options
    status=$?
    case $status in
    0)   ;;
    124) echo "test bench late 0" >> "$lines" ;;
    *)   echo "test bench failed 0" >> "$lines" ;;
    esac
}

# The strongest PyTorch has.
run_peers() {
    has_torch || { echo "torch missing" >> "$lines"; return; }
    take timeout "$(left)" "$python" -u "$peers/ladder.py" convttlstm \
        --limit "$(($(left) - 40))" --variants \
        fp16+joint+compile+graph,fp16+joint+graph,tf32+joint ||
        echo "torch failed or late" >> "$lines"
}

# Every row beside PyTorch.
run_rows() {
    has_torch || python=
    BENCH_GPU=$work/bench_gpu LIMIT=$(($(left) - 5)) \
        take bash "$ladder" $python || echo "test rows failed 0" >> "$lines"
}

# ---- results ----

# One line for each result, and what was measured where: bench/gpu_tables.py
# makes the tables of it.
json() {
    awk -v gpu="$gpu" -v limits="$(tr '\n' ' ' <<< "$parts")" '
    function text(s) { gsub(/["\\]/, " ", s); return "\"" s "\"" }
    function list(name, of, n,    i) {
        printf " \"%s\": [\n", name
        for (i = 1; i <= n; i++) print "  " of[i] (i < n ? "," : "")
        printf " ]"
    }
    $1 == "test" { test[++tests] = "{\"name\": " text($2) ", \"status\": " \
        text($3) ", \"seconds\": " $4 "}"; next }
    $1 == "part" { part[++count] = "{\"name\": " text($2) ", \"seconds\": " $3 \
        ", \"limit\": " $4 "}"; next }
    $2 == "peak" { peak = ", \"peak_fp32_gflops\": " $4 \
        ", \"peak_fp16_gflops\": " $7; next }
    $2 == "engine" {
        by = $6
        for (i = 7; i <= NF; i++) by = by " " $i
        engine[++engines] = "{\"row\": " text($3) ", \"pass\": " text($4) \
            ", \"by\": " text(by) ", \"convs\": " $5 "}"; next }
    $2 == "choice" { sub(/^convtt choice /, ""); choice[++choices] = text($0)
        next }
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
        list("parts", part, count); print ","
        list("tests", test, tests); print ","
        list("rows", row, rows); print ","
        list("engines", engine, engines); print ","
        list("choices", choice, choices); print ","
        list("notes", note, notes); print "}"
    }' "$lines"
}

# The second line of each kept plan has the plans that were timed.
choices() {
    local f
    for f in "$out"/caches/convtt/kept/*.kept; do
        [ -e "$f" ] || continue
        head -n 2 "$f" | tr '\n' ' ' | sed -E \
            's/^.* [0-9]+[.][0-9]: (.*) [0-9a-f]{99,} /convtt choice \1: /'
        echo
    done
}

# For whom there is no Python.
table() {
    echo "GPU: $gpu"
    grep -E '^(test|convtt|torch) ' "$lines"
}

# ---- the program ----

only=$(sed '/^--/,$d; s/ .*//' <<< "$parts" | paste -sd,)
quick='' python=python3 times=1 cuda='' out=''
while [ $# -gt 0 ]; do
    case $1 in
    --help)   usage; exit 0 ;;
    --parts)  sed '/^--/,$d' <<< "$parts"; exit 0 ;;
    --pack)   [ $# = 3 ] || die "--pack BUILD DIR"
              pack "$2" "$3"; exit ;;
    --quick)  quick=quick; shift ;;
    --out | --only | --python | --times | --cuda)
              [ $# -ge 2 ] || die "$1: no value (--help)"
              declare "${1#--}=$2"; shift 2 ;;
    -*)       die "unknown option '$1' (--help)" ;;
    *)        break ;;
    esac
done
[ $# = 1 ] && [ -d "$1" ] || die "one folder must be named (--help)"
for part in ${only//,/ }; do
    [ -n "$(seconds_of "$part")" ] || die "--only: no part '$part' (--help)"
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
ladder=$sources/bench/run_ladder.sh peers=$sources/bench/peers
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
    limit=$(($(seconds_of "$part") * times))
    from=$SECONDS end=$((SECONDS + limit))
    run_"$part"
    echo "part $part $((SECONDS - from)) $limit" >> "$lines"
done
choices >> "$lines"
json > "$out/results.json"
table > "$out/results.txt"
tables=$sources/bench/gpu_tables.py
"$python" "$tables" "$out/results.json" > "$out/results.md" \
    2>> "$out/log.txt" || rm -f "$out/results.md"
echo
cat "$out/results.txt"
! grep -qE '^test .* (failed|timeout|late) |^convtt failed' "$lines"
