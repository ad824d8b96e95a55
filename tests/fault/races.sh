#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# races.sh: data races, found by ThreadSanitizer in a build of
# configure --enable-sanitize=thread (make check-races).
#
# races.sh TEST...: runs these tests, and a training with threads that load.
#
# Where ThreadSanitizer does not work it is skipped, or fails with
# CTT_REQUIRE_TSAN=1, which .ci/run sets.
#
# libgomp is not compiled for ThreadSanitizer, which would take its barriers for
# races: OpenMP gets one thread.  The threads that are watched are the loader's,
# the one that offloads windows, those of sessions and of their teams, and those
# of programs on the simulated GPU.
set -u
[ $# -gt 0 ] || { echo 'usage: races.sh TEST...' >&2; exit 99; }
bin=$PWD
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
# Tests start in a folder of their own.
srcdir=$(cd "$(dirname "$0")/../.." && pwd) || exit 99
export srcdir OMP_THREAD_LIMIT=1 OMP_WAIT_POLICY=passive
export TSAN_OPTIONS="exitcode=66 halt_on_error=1"
export CTT_MODULES=$bin/tests/sim/.libs:$bin/.libs CTT_REQUIRE=cuda

# 1. ThreadSanitizer works here: it must find this race.
cat > "$dir/race.c" << 'END'
#include <pthread.h>
static int shared;
static void *add(void *arg)
{
    shared++;
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, add, NULL);
    shared++;
    return pthread_join(t, NULL);
}
END
${CC:-gcc} -O1 -fsanitize=thread "$dir/race.c" -o "$dir/race" -lpthread &&
    "$dir/race" > "$dir/log" 2>&1
if ! grep -q 'data race' "$dir/log"; then
    echo 'ThreadSanitizer finds nothing here:'
    head -n 3 "$dir/log"
    if [ "${CTT_REQUIRE_TSAN:-0}" = 1 ]; then
        echo '0 passed, 1 failed, 0 skipped'
        exit 1
    fi
    echo '0 passed, 0 failed, 1 skipped'
    exit 77
fi

# 2. The tests, and the programs, on all processors.
at_once=$(nproc 2> /dev/null || echo 2)
check() {   # check NAME COMMAND...
    local name=$1 log
    log=$(mktemp "$dir/log.XXXXXX")
    shift
    if timeout 300 "$@" > "$log" 2>&1 < /dev/null; then
        echo "PASS: $name"
    else
        echo "FAIL: $name"
        grep -v '^$' "$log" | head -n 60
    fi
}
runs() {    # the same, beside what runs
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do
        wait -n
    done
    (cd "$dir" && check "$@") | tee -a "$dir/results" &
}
for t in "$@"; do
    case $t in
    */test_gpu*) runs "$t" "$bin/$t" quick ;;
    *) runs "$t" "$bin/$t" ;;
    esac
done
cat > "$dir/tiny.net" << 'END'
input x h=8 w=8 c=3 fps=6
conv e in=x out=4 kernel=3 stride=2 pad=1
pool p in=e kind=avg
conv y in=p out=12
END
learn="tiny.net --data clips -b 4 --epochs 2 -j 3 --max-frames 4"
runs 'clips by 3 threads' "$bin/convtt-data" synth clips --clips 36 --size 16 \
    -j 3
wait
runs 'pack' "$bin/convtt-data" pack clips -o a.pack --model tiny.net
runs 'training, 3 threads load' "$bin/convtt-train" $learn -o a.net
runs 'the same on the simulated GPU' "$bin/convtt-train" $learn -o b.net \
    --device cuda
wait
passed=$(grep -c '^PASS' "$dir/results")
failed=$(grep -c '^FAIL' "$dir/results")
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
