#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_minimal.sh: of a build with --disable-train: what it has answers, and
# needs HDF5, zlib and (the programs) jansson only.
set -u
tools='convtt-infer convtt-info'
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
models=$root/models
for t in train compress data; do
    [ ! -e "$bin/convtt-$t" ] || fail "convtt-$t is built"
done
says 0 '^early-[a-z]*.net: random weights' sh -c \
    "cd $models && $bin/convtt-infer --bench early-convttlstm.net --runs 3"
grep -qE '^q +pool ' out || fail "$(cat out)"
says 0 'conv' "$bin/convtt-info" --plan "$models/early-convttlstm.net"
so=$bin/.libs/libconvtt-infer.so tool=$bin/.libs/convtt-infer
[ -e "$tool" ] || tool=$bin/convtt-infer
for f in "$tool" "$so"; do
    [ -e "$f" ] || continue
    more=jansson
    [ "$f" = "$tool" ] || more=c
    ${READELF:-readelf} -d "$f" | grep NEEDED | grep -vE \
        '\[(ld-linux[^]]*|lib(hdf5[^.]*|sz|z|gomp|m|c|dl|pthread|gcc_s|'\
"atomic|convtt-infer|asan|ubsan|$more))\\.so" > text &&
        fail "needed: $(cat text)"
done
# A program that links the library, with what it loads.
head -c 4000 /dev/zero > bad.h5
says 1 '^pipe: bad.h5: ' "$bin/examples/pipe" bad.h5
[ $failed = 0 ] && echo 'what only answers needs no more'
exit $failed
