#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_arm.sh: the device "cpu" on ARM with 64 bits: its sources compile, and
# the kernels of quantised values give the bits of the plain sums, on processors
# with and without dot products, as qemu's user mode simulates them.
#
# A sample of the cases; CTT_CPU_CASES=all: each one, which takes some minutes.
# CTT_CHECK_OTHER=no: not in a second build, as it uses none.
set -u
cc=aarch64-linux-gnu-gcc run=qemu-aarch64 bin=$PWD
[ "${CTT_CHECK_OTHER:-yes}" = yes ] || { echo 'uses no build'; exit 77; }
for t in $cc $run; do
    type -P $t > /dev/null || { echo "no $t"; exit 77; }
done
cd "${srcdir:-.}" || exit 99
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }

echo 'int main(void) { return 0; }' |
    $cc -static -fopenmp -x c -o "$dir/none" - 2> "$dir/err" ||
    { echo "$cc makes no programs: $(tail -n 1 "$dir/err")"; exit 77; }
$run "$dir/none" || { echo "$run runs no programs"; exit 77; }

# The device but oneDNN, what it needs of net (no files: they need HDF5), the
# tests; of CUnit there is only what they use.
net='base/base base/cache base/limits base/module base/newfile base/oldfile
     base/opt base/opt_needs base/opt_value base/span base/visible base/warn
     net/append net/cell net/graph net/late net/let net/line net/needed net/op
     net/quant net/repeat net/rewrite/aux_head net/seal net/shape
     net/shape_slide net/text net/weight net/winograd'
device=$(ls device/*.c device/cpu/*.c device/cpu/conv/*.c \
            device/cpu/conv/*/*.c | grep -v /onednn)
shared="$(printf '%s.c ' $net) $device tests/lib/bare/cunit.c
        tests/lib/check.c tests/lib/int8.c"
test_int8=tests/device/test_int8.c
test_int8_emulated="tests/device/test_int8_emulated.c
    tests/device/emulated_amx.c tests/device/emulated_avxvnni.c
    tests/device/emulated_depthwise.c tests/device/emulated_vnni.c"
test_wino16="tests/device/test_wino16.c tests/device/wino16_emulated.c
    tests/device/wino16_emulated_vnni.c"

[ "${CTT_CPU_CASES:-some}" = all ] && optimise=-O2 || optimise=-O1
compile() {
    $cc -std=c11 "$optimise" -fopenmp -ffunction-sections $CROSS_CFLAGS -I. \
        -Itests/lib/bare -D_POSIX_C_SOURCE=200809L '-DCTT_PKGLIBDIR=""' \
        -c "$1" -o "$dir/${1//\//_}.o"
}
export CROSS_CFLAGS=${CROSS_CFLAGS--ffp-contract=off} cc dir optimise
export -f compile
printf '%s\n' $shared $test_int8 $test_int8_emulated $test_wino16 |
    xargs -P "$(nproc 2> /dev/null || echo 2)" -I{} bash -c 'compile {}' ||
    { fail 'something does not compile'; exit 1; }

# Sections that nothing needs may call what is not there.
for t in test_int8 test_int8_emulated test_wino16; do
    objects=$(printf "$dir/%s.o " $(echo $shared ${!t} | tr / _))
    $cc -static -fopenmp -Wl,--gc-sections $objects -lm -o "$dir/$t" \
        2> "$dir/err" ||
        { fail "$t: $(grep -v -e warning -e 'in function' "$dir/err" |
                      head -n 3)"; exit 1; }
done
echo "built after $SECONDS s"

every() { [ "${CTT_CPU_CASES:-some}" = all ] && echo 1 || echo "$1"; }

# arm CPU TEST N: a test on that processor, each N-th case; its output in $dir.
arm() {
    CTT_CHECK_EVERY=$(every "$3") timeout 3600 $run -cpu "$1" "$dir/$2" \
        > "$dir/out" 2>&1 < /dev/null ||
        fail "$1: $2: status $?: $(grep -E '^ *[0-9]+[.] |conv|kind' \
                                   "$dir/out" | head -n 3)"
    echo "$1: $2: after $SECONDS s"
}

digest() { grep '^digest' "$dir/out"; }

# What the same cases give here.
if [ -x "$bin/tests/device/test_int8_emulated" ]; then
    CTT_CHECK_EVERY=$(every 9) "$bin/tests/device/test_int8_emulated" \
        > "$dir/out" 2>&1 < /dev/null
    here=$(digest)
fi

# processor CPU KERNELS: those that are there.
processor() {
    local kernels
    arm "$1" test_int8_emulated 9
    kernels=$(sed -n 's/^cpu //p' "$dir/out" | xargs)
    [ "$kernels" = "$2" ] || fail "$1: has the kernels '$kernels', not '$2'"
    [ -z "${here:-}" ] || [ "$here" = "$(digest)" ] ||
        fail "$1: results of plain C differ from those of this processor"
    arm "$1" test_int8 59
    arm "$1" test_wino16 1
}
processor max 'depthwise:neon neondot neon'
processor cortex-a53 'depthwise:neon neon'
[ $failed = 0 ] && echo 'the same bits on each processor'
exit $failed
