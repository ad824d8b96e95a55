#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh: builds the fuzz targets with clang's libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer, runs each for some seconds and prints the counts
# of inputs, the failures and the reached lines of the parsers.
#
#     fuzz.sh [--time SECONDS] [--jobs N] [--coverage] FOLDER [TARGET...]
#
# FOLDER is made in the current one.  It keeps a corpus per target, which the
# next run goes on with; inputs that fail are in FOLDER/found, and
# FOLDER/tests/fuzz/fuzz_TARGET FILE tries one again.  --coverage: no new
# inputs, only the table of lines.  Exit status 1: something was found.
set -uo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
seconds=600 jobs=$(nproc 2> /dev/null || echo 2) only_coverage=no
while [ $# -gt 0 ]; do
    case $1 in
    --time) seconds=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --coverage) only_coverage=yes; shift ;;
    -*) echo "fuzz.sh: unknown option $1" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || { echo "fuzz.sh: no folder" >&2; exit 2; }
folder=$1
shift
targets=$*
[ -n "$targets" ] ||
    targets=$(sed -n 's|^\ttests/fuzz/fuzz_\([a-z0-9_]*\)\( .\)*$|\1|p' \
              "$source_dir/tests/fuzz/fuzz.am")

# ---- the build ----

CC=${FUZZ_CC:-clang} CXX=${FUZZ_CXX:-clang++}
for tool in "$CC" llvm-profdata llvm-cov; do
    type -P "$tool" > /dev/null ||
        { echo "fuzz.sh: no $tool (packages clang, llvm)" >&2; exit 77; }
done
mkdir -p "$folder" && cd "$folder" || exit 99
# No GPU and no oneDNN: they read nothing of a stranger's.
[ -e Makefile ] ||
    "$source_dir/configure" --quiet CC="$CC" CXX="$CXX" \
        CFLAGS='-O1 -g' CXXFLAGS='-O1 -g' --disable-shared --enable-sanitize \
        --enable-fuzzer --with-cuda=no --with-onednn=no > configure.log 2>&1 ||
    { cat configure.log; exit 99; }
programs=
for t in $targets; do programs="$programs tests/fuzz/fuzz_$t"; done
make -j"$jobs" --no-print-directory $programs > build.log 2>&1 ||
    { grep -E 'error|\*\*\*' build.log; exit 99; }

# ---- the runs ----

mkdir -p corpus seeds found log
temporary=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)" \
            convtt-fuzz-run-XXXXXX) || exit 99
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT TERM
export OMP_NUM_THREADS=1 LLVM_PROFILE_FILE=/dev/null
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
# See .ci/run.
export ASAN_OPTIONS=$ASAN_OPTIONS:intercept_tls_get_addr=0
export UBSAN_OPTIONS=print_stacktrace=1
limits="-timeout=25 -rss_limit_mb=2048 -max_len=65536"

# The seeds are made anew, so that those of a newer source are tried too.
make_seeds() {
    local t=$1
    rm -rf "seeds/$t"
    mkdir -p "seeds/$t" "corpus/$t" "$temporary/$t"
    TMPDIR=$temporary/$t tests/fuzz/fuzz_$t --seeds "seeds/$t" \
        "seeds/$t.words" > "log/$t.seeds" 2>&1
}
# Runs one target; then the smallest corpus that reaches the same is kept.
run_target() {
    local t=$1
    export TMPDIR=$temporary/$t
    make_seeds "$t" || { cp "log/$t.seeds" "found/$t-seeds"; return; }
    nice -n 19 tests/fuzz/fuzz_$t $limits -max_total_time="$seconds" \
        -dict="seeds/$t.words" -artifact_prefix="found/$t-" \
        -print_final_stats=1 "corpus/$t" "seeds/$t" > "log/$t.log" 2>&1
    grep -q '^stat::' "log/$t.log" || cp "log/$t.log" "found/$t-log"
    rm -rf "corpus/$t.small"
    mkdir "corpus/$t.small"
    nice -n 19 tests/fuzz/fuzz_$t $limits -merge=1 "corpus/$t.small" \
        "corpus/$t" "seeds/$t" > "log/$t.merge" 2>&1 &&
        rm -rf "corpus/$t" && mv "corpus/$t.small" "corpus/$t"
    rm -rf "corpus/$t.small" "$TMPDIR"
}
if [ $only_coverage = no ]; then
    for t in $targets; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        run_target "$t" &
    done
    wait
fi

# ---- the tables ----

stat_of() {     # stat_of TARGET NAME
    sed -n "s/^stat::$2: *//p" "log/$1.log" 2> /dev/null | tail -n 1
}
found=0
if [ $only_coverage = no ]; then
    printf '%-12s %12s %8s %8s %8s\n' target inputs 'a second' corpus found
    for t in $targets; do
        n=$(find found -name "$t-*" | wc -l)
        found=$((found + n))
        printf '%-12s %12s %8s %8d %8d\n' "$t" \
            "$(stat_of "$t" number_of_executed_units)" \
            "$(stat_of "$t" average_exec_per_sec)" \
            "$(find "corpus/$t" -type f 2> /dev/null | wc -l)" "$n"
    done
    echo
fi

# Lines reached by the corpus and the seeds, per file that parses.
parsers='net/(text|line|graph|shape|cell|op|schedule|model|constraint)[.]c
net/file/(decision|index|file_read|h5|h5_attr|h5_set|h5_image)[.]c
base/(opt|opt_main|opt_value)[.]c
net/code/[a-z0-9_]*[.]c
base/json(_out)?[.]c
video/list/(csv|columns|files|fit|list[a-z_]*|names|rows|split|videos)[.]c
video/pack/(pack|pack_journal|pack_maps|packfile)[.]c
video/synth/(idx|digits)[.]c
video/text/text[.]c
video/(disk|decode|demux|demux_cut|demux_join|formats|meter|frame)[.]c
video/(pictures|scaler)[.]c
video/(pick|render|cut)[.]c
video/live/(demux_live|live|live_[a-z]*)[.]c
compress/recipe_state[.]c
exchange/onnx/[a-z_]*[.]c
exchange/weights/(fill|map|own|pickle|pickle_machine|pth|pth_old|pth_zip)[.]c
exchange/weights/(safetensors|tensors|zip)[.]c
exchange/write/own[.]c
device/(tune|tune_file)[.]c
infer/saved[.]c
libtrain/(checkpoint|values|optim|scale|settings)[.]c
libtrain/search/(space|space_line|draw|record)[.]c
tools/info/info_run[.]c'
for t in $targets; do
    [ -d "seeds/$t" ] || make_seeds "$t" || continue
    mkdir -p "corpus/$t"
    TMPDIR=$temporary LLVM_PROFILE_FILE=$PWD/log/$t.profraw \
        nice -n 19 tests/fuzz/fuzz_$t $limits -runs=0 "corpus/$t" \
        "seeds/$t" > "log/$t.replay" 2>&1 ||
        { cp "log/$t.replay" "found/$t-replay"; found=$((found + 1)); }
done
llvm-profdata merge -o log/all.profdata log/*.profraw || exit 99
objects=
for p in $programs; do objects="$objects ${objects:+-object }$p"; done
llvm-cov report -instr-profile log/all.profdata $objects 2> /dev/null |
    awk -v want="$(echo $parsers | tr ' ' '|')" '
        BEGIN { printf "%-24s %6s %8s %6s\n", "file", "lines", "reached", "%" }
        match($1, "(^|/)(" want ")$") {
            name = substr($1, RSTART)
            sub("^/", "", name)
            printf "%-24s %6d %8d %6.1f\n", name, $8, $8 - $9,
                100 * ($8 - $9) / $8 }' |
    tee log/coverage
[ $found = 0 ] || { echo "$found inputs fail: see $folder/found"; exit 1; }
