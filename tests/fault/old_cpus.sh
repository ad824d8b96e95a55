#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# old_cpus.sh: processors without AVX, without AVX2 and without AVX-512, as
# qemu's user mode simulates them: no missing instruction is used, our kernels
# and oneDNN choose by the available ones, and the answers are equal.
#
# The tests of the kernels try a sample of their cases there; CTT_CPU_CASES=all:
# each one, and those of sessions, which takes much longer.
set -u
tools="convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
case $(uname -m) in x86_64) ;; *) echo 'not for x86-64'; exit 77 ;; esac

# oneDNN's code for older processors runs on this one too.
for isa in SSE41 AVX AVX2; do
    ONEDNN_MAX_CPU_ISA=$isa CTT_CHECK_EVERY=13 "$bin/tests/device/test_ops" \
        > out 2>&1 ||
        fail "oneDNN with $isa: $(grep -E '^ *[0-9]+[.] |expected' out |
                                  head -n 3)"
done
[ $failed = 0 ] || exit 1

type -P qemu-x86_64 > /dev/null || { echo 'no qemu-x86_64'; exit 77; }
if grep -qE '__(asan|tsan)_init' "$bin/convtt-train"; then
    echo 'qemu has no room for the memory of sanitizers'
    exit 77
fi
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive LD_LIBRARY_PATH="$bin/.libs"
real() { [ -x "$bin/.libs/$1" ] && echo "$bin/.libs/$1" || echo "$bin/$1"; }

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 pad=1
act f in=e kind=relu
convlstm h in=f hidden=4 kernel=3
pool p in=h kind=avg
conv y in=p out=2
END
"$bin/convtt-data" synth clips --clips 3 --size 16 --seed 2 > out 2> err ||
    { cat err; grep -q 'no encoder' err && exit 77; exit 1; }
mv clips/20bn-*/*.webm .
printf '1.webm 0\n2.webm 1\n' > t.txt
printf '3.webm 0\n' > v.txt
learn="tiny.net --data t.txt --val v.txt -b 2 -t 1 -j 1 --epochs 1
       --max-frames 4"
"$bin/convtt-train" $learn -o here.net > out 2> err || fail "here: $(cat err)"
"$bin/convtt-infer" here.net v.txt --threads 1 > here.txt 2> err ||
    fail "here: $(cat err)"

# words FILE: it without its numbers.  numbers FILE: these, one a line.
words() { sed -E 's/[0-9]+(\.[0-9]+)?/#/g' "$1"; }
numbers() { grep -oE '[0-9]+(\.[0-9]+)?' "$1"; }

# close_to FILE FILE: the same words; whole numbers are equal, others have as
# many decimals and differ by at most one in the last that is printed.
close_to() {
    [ "$(words "$1")" = "$(words "$2")" ] || return 1
    paste -d ' ' <(numbers "$1") <(numbers "$2") | awk '
        { n = split($1, a, "."); m = split($2, b, ".")
          unit = n > 1 ? 10 ^ -length(a[2]) : 0
          d = $1 > $2 ? $1 - $2 : $2 - $1
          if (n != m || length(a[2]) != length(b[2]) || d > 1.01 * unit)
              exit 1 }'
}

# The comparison finds differences.
differ() { printf '%s\n' "$1" > one; printf '%s\n' "$2" > two; }
differ 'a 7 50.1%' 'a 7 50.2%'; close_to one two || fail 'a last digit'
for other in 'a 8 50.1%' 'a 7 50.3%' 'b 7 50.1%' 'a 7 50%' 'a 7'; do
    differ 'a 7 50.1%' "$other"
    ! close_to one two || fail "not told apart: a 7 50.1%, $other"
done

# kernels NAME EVERY TEST...: tests of the kernels, each EVERY-th case.
kernels() {
    local name=$1 every=$2 t
    shift 2
    for t in "$@"; do
        CTT_CHECK_EVERY=$every timeout 7200 qemu-x86_64 -cpu "$name" \
            "$bin/tests/$t" > out 2>&1 < /dev/null ||
            fail "$name: $t: status $?: $(grep -E '^ *[0-9]+[.] |expected' \
                                          out | head -n 3)"
        echo "$name: $t: $SECONDS s"
    done
}

# cpu NAME YES|NO EVERY: whether --plan says that there is no AVX2; none has
# AVX-512.  EVERY: see kernels, fewer cases where qemu takes longer for one.
cpu() {
    local name=$1 told=no run="timeout 300 qemu-x86_64 -cpu $1"
    $run "$(real convtt-info)" --plan tiny.net -t 1 > plan 2> err < /dev/null ||
        fail "$name: --plan: status $?: $(head -n 3 err)"
    ! grep -q 'this processor has no AVX2' plan || told=yes
    [ $told = "$2" ] || fail "$name: said to have no AVX2: $told: $(cat plan)"
    ! grep avx512 plan || fail "$name: AVX-512 is planned"
    $run "$(real convtt-infer)" here.net v.txt --threads 1 > there.txt 2> err \
        < /dev/null || fail "$name: inference: status $?: $(head -n 3 err)"
    close_to here.txt there.txt ||
        fail "$name: other answers: $(diff here.txt there.txt | head -n 4)"
    $run "$(real convtt-train)" $learn -o there.net > out 2> err < /dev/null ||
        fail "$name: training: status $?: $(head -n 3 err)"
    if [ "${CTT_CPU_CASES:-some}" = all ]; then
        kernels "$name" 1 base/test_half device/test_wino device/test_ops \
            device/test_int8 device/test_widen infer/test_infer \
            infer/test_session
    else
        [ "$name" = SandyBridge ] ||    # our kernels ask for AVX2 or nothing
            { kernels "$name" 1 base/test_half
              kernels "$name" 15 device/test_wino
              kernels "$name" 1501 device/test_widen; }
        kernels "$name" "$3" device/test_ops
    fi
}
cpu Nehalem yes 83
cpu SandyBridge yes 121
cpu Haswell no 181
[ $failed = 0 ] && echo 'the same answers on each processor'
exit $failed
