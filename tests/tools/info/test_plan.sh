#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_plan.sh: convtt-info --plan says what computes each conv, and why.
set -u
tools="convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"

cat > convs.net << 'END'
input x h=32 w=32 c=3 fps=6 mean=0.45 std=0.25
conv half in=x out=32 kernel=3 stride=2 pad=1
conv same in=half out=40 kernel=3 pad=1
conv narrow in=x out=1 kernel=3 pad=1
conv layer in=same out=16 kernel=1
deconv up in=layer out=8 kernel=3 stride=2 pad=1
conv tiny in=up out=24 kernel=31
conv last in=tiny out=24 kernel=3 pad=1
pool p in=last kind=avg
conv y in=p out=12
END
plan() { "$bin/convtt-info" --plan convs.net "$@"; }

# 1. The forward pass.  Winograd needs AVX2.
if grep -qw avx2 /proc/cpuinfo 2> /dev/null; then
    forward='conv +free +winograd:avx[0-9]+ .*'
    says 0 "^same +$forward 3x3, stride 1, fewer multiplications\$" plan
    says 0 '^half +conv .* not winograd: the stride is not 1' plan
    says 0 '^layer +conv .* not winograd: the window is neither 3x3 nor' plan
    says 0 '^up +deconv .* not winograd: a deconv' plan
    says 0 '^narrow +conv .* not winograd: transforms cost more than' plan
    says 0 '^last +conv .* not winograd: fewer than 4 tiles' plan
    says 0 '^same +input +winograd:avx[0-9]+ +3x3, stride 1' plan
    says 0 '^same +weights +winograd:avx[0-9]+ +3x3, stride 1' plan
else
    says 0 '^same +conv .* not winograd: this processor has no AVX2' plan
fi

# 2. The gradients: of the weights of each conv, and of inputs but the frames.
for conv in half same narrow layer up tiny last y; do
    says 0 "^$conv +weights +(winograd|onednn|direct)" plan
done
says 0 '^y +input +(onednn|direct)' plan
plan | grep -qE '^half +input ' && fail "the gradient of frames"

# 3. Where there is no choice, nobody is named.
says 0 '^same +conv +free +plain ' plan --device ref
says 0 '^same +weights +plain *$' plan --device ref
exit $failed
