#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_module.sh: the modules, of the device "cuda", oneDNN and FFmpeg: programs
# start without them and without a GPU, name what is missing in one line, and
# load none of their libraries before they are needed.
set -u
tools="convtt-data convtt-info convtt-infer convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
unset CTT_MODULES
export CUDA_VISIBLE_DEVICES=    # hides the GPU of a machine that has one

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
conv g in=e out=8 kernel=3 pad=1 groups=4
pool p in=g kind=avg
conv y in=p out=12
END
plan() { "$bin/convtt-info" --plan tiny.net --device "$@"; }

# 1. A missing or broken module.
CTT_MODULES=/nonexistent says 1 \
    '^convtt-info: device cuda: no convtt-cuda\.so in /nonexistent; configure' \
    plan cuda
mkdir empty broken
CTT_MODULES=$PWD/empty says 1 "no convtt-cuda\.so in $PWD/empty; configure " \
    plan cuda
echo 'no library' > broken/convtt-cuda.so
CTT_MODULES=$PWD/broken says 1 'broken/convtt-cuda\.so: ' plan cuda
says 2 "no choice 'gpu'" plan gpu
CTT_MODULES=$PWD/broken says 0 '^e ' plan cpu

# 2. oneDNN and FFmpeg.
bench() { "$bin/convtt-infer" --bench --runs 3 --warm-up 1 "$@"; }
dnn=$bin/.libs/convtt-onednn.so ffmpeg=$bin/.libs/convtt-ffmpeg.so
loads() {    # loads PATTERN COMMAND...: 0 if it loads such a library
    local pattern=$1
    shift
    LD_DEBUG=libs "$@" > out 2>&1 || fail "$*: $(tail -1 out)"
    grep -q libz out || fail "LD_DEBUG shows no library"
    grep -qE "init: .*($pattern)" out
}
large='libdnnl|libOpenCL|libav|libsw|libstdc'
# A shared HDF5 may load these by itself.
grep -q libhdf5 <(ldd "$bin/convtt-infer" 2> /dev/null) ||
    large="$large|libcurl|libcrypto"
# Those of sanitizers load this one.
grep -qE 'lib(a|ub)san' <(ldd "$bin/convtt-infer" 2> /dev/null) &&
    large=${large/|libstdc/}
sed -e '/^conv g/d' -e s/in=g/in=e/ tiny.net > plain.net
if [ -e "$dnn" ]; then
    CTT_MODULES=/nonexistent says 0 \
        '^e +weights .*not onednn: no convtt-onednn\.so in /nonexistent' \
        plan cpu
    CTT_MODULES=/nonexistent says 0 '^g +conv .*direct' plan cpu
    CTT_MODULES=/nonexistent says 0 'direct' bench tiny.net
    says 0 '^g +conv .*onednn' plan cpu
    echo 'no library' > broken/convtt-onednn.so
    CTT_MODULES=$PWD/broken says 0 'not onednn: .*broken/convtt-onednn' plan cpu
    mkdir foreign
    # A library of another kind: one that leaks nothing when it is closed.
    cp "$(ldd "$bin/convtt-infer" | awk '/libz\.so/ { print $3; exit }')" \
        foreign/convtt-onednn.so
    CTT_MODULES=$PWD/foreign says 0 'not onednn: .*ctt_module_onednn' plan cpu
    loads 'convtt-onednn' bench tiny.net || fail "oneDNN is not loaded"
    loads "$large" bench plain.net && fail "loaded: $(grep init: out)"
fi
# Beside a program that is not in its build folder nothing counts: an archive
# may have brought it.
if [ -e "$dnn" ]; then
    mkdir -p home/bin home/.libs
    program=$bin/.libs/convtt-info
    [ -e "$program" ] || program=$bin/convtt-info
    cp "$program" home/bin/
    for f in home/.libs home/bin home; do
        cp "$dnn" $f/
    done
    moved() { LD_LIBRARY_PATH=$bin/.libs home/bin/convtt-info --plan tiny.net; }
    none='not onednn: no convtt-onednn\.so in '
    says 0 "$none" moved
    echo /elsewhere > home/.libs/convtt-build
    says 0 "$none" moved
    (cd home && pwd -P) > home/.libs/convtt-build
    says 0 '^g +conv .*onednn' moved
    chmod o+w home/.libs/convtt-build
    says 0 "$none" moved
    # That of a moved installation.
    mkdir -p home/lib/convtt
    cp "$dnn" home/lib/convtt/
    says 0 '^g +conv .*onednn' moved
fi
if [ -e "$ffmpeg" ]; then
    loads "$large" "$bin/convtt-infer" --version && fail "--version: $(cat out)"
    make_clips
    clip=$(find clips -name '*.webm' | head -n 1)
    CTT_MODULES=/nonexistent says 1 \
        "$clip: no convtt-ffmpeg\.so in /nonexistent" \
        "$bin/convtt-data" check "$clip"
fi
for name in onednn ffmpeg; do
    so=$bin/.libs/convtt-$name.so
    [ -e "$so" ] || { echo "not tested: $name (no module is built)"; continue; }
    shown=$(${NM:-nm} -D --defined-only "$so" | awk '{print $3}' |
            grep -vE '^(__odr_asan|_sub_[ID]_|DW\.ref)')
    [ "$shown" = ctt_module_$name ] || fail "$so shows: $shown"
done

# 3. Programs do not link CUDA, and do not load it for --device cpu.
cuda='libcudart|libcudnn|libcublas'
for f in "$bin"/convtt-{compress,data,infer,info,train} \
    "$bin"/.libs/convtt-{compress,data,infer,info,train} \
    "$bin"/.libs/libconvtt-infer.so; do
    [ -e "$f" ] || continue
    ${READELF:-readelf} -d "$f" 2> /dev/null | grep NEEDED | grep -E "$cuda" &&
        fail "$f needs it"
done
loads_none() {
    LD_DEBUG=libs "$@" --device cpu > out 2>&1 || fail "$*: $(tail -1 out)"
    grep -q libz out || fail "LD_DEBUG shows no library"
    grep -E "$cuda" out && fail "$*: loads it for cpu"
}
loads_none "$bin/convtt-info" --plan tiny.net

# 4. The module of CUDA itself.
so=$bin/.libs/convtt-cuda.so
if [ ! -e "$so" ]; then
    says 1 'device cuda: no convtt-cuda\.so in ' plan cuda
    echo "not tested: the module (it is not built)"
    exit $failed
fi
shown=$(${NM:-nm} -D --defined-only "$so" | awk '{print $3}' |
        grep -vE '^(__odr_asan|_sub_[ID]_)')
[ "$shown" = ctt_module_cuda ] || fail "the module shows: $shown"
none='^convtt-[a-z]*: device cuda: no GPU: [^:]*$'
says 1 "$none" plan cuda
mkdir there
cp "$so" there/
CTT_MODULES=$PWD/there says 1 "$none" plan cuda
make_clips
train() {
    "$bin/convtt-train" tiny.net --data clips -o tiny.ctt --epochs 1 \
        --batch 4 --device "$@"
}
says 1 "$none" train cuda
train cpu > log 2>&1 || fail "training: $(tail -1 log)"
clip=$(find clips -name '*.webm' | head -n 1)
loads_none "$bin/convtt-infer" tiny.ctt "$clip"
exit $failed
