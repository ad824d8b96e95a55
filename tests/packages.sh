#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh: the Debian packages of the tarball: built, without an error of
# lintian, and complete in a folder; and the container image, if podman or
# docker runs here.  A part of make nightly, which has made the build folder.
set -u
root=$(cd "${srcdir:-.}" && pwd)
build=$PWD at=$PWD/nightly/packages
failed=0
fail() { echo "FAILED: $*"; failed=1; }
rm -rf "$at"
mkdir -p "$at/all" || exit 99
"${MAKE:-make}" --no-print-directory dist > "$at/dist.log" 2>&1 ||
    { tail -n 5 "$at/dist.log"; exit 1; }
tar xzf "$(ls -t "$build"/convtt-*.tar.gz | head -n 1)" -C "$at" || exit 1
cd "$at"/convtt-*/ || exit 99

# 1. The image, with its own dependencies.
image() {
    local tool
    for tool in podman docker; do
        $tool info > "$at/info.log" 2>&1 || continue
        $tool build -q -t convtt-test -f Containerfile . &&
            $tool run --rm convtt-test --version
        return
    done
    echo 'not tested: the container image (no podman or docker that runs)'
}
image || fail 'Containerfile'

# 2. The packages; parallel=1 in DEB_BUILD_OPTIONS is one compiler at a time.
if ! dpkg-checkbuilddeps 2> "$at/needs.log"; then
    echo "not tested: Debian packages ($(cat "$at/needs.log"))"
    [ $failed = 0 ] && exit 77
    exit 1
fi
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS:-parallel=$(nproc)} \
    dpkg-buildpackage -b -us -uc > "$at/build.log" 2>&1 ||
    { tail -n 20 "$at/build.log"; exit 1; }
if type lintian > "$at/needs.log" 2>&1; then
    lintian --fail-on error --profile debian "$at"/*.changes ||
        fail 'lintian has errors'
else
    echo 'not tested: what lintian says (not installed)'
fi
for p in convtt convtt-modules-ffmpeg convtt-modules-mpi libconvtt-infer0 \
    libconvtt-infer-dev python3-convtt; do
    dpkg -x "$at/$p"_*.deb "$at/all" || fail "no $p"
done
dpkg -x "$at"/convtt-modules-onednn_*.deb "$at/all" 2> "$at/needs.log" ||
    echo 'no convtt-modules-onednn'

# 3. What they hold works from a folder, too.
usr=$at/all/usr
lib=$(dirname "$usr"/lib/*/libconvtt-infer.so.0)
export LD_LIBRARY_PATH=$lib CTT_MODULES=$lib/convtt PATH=$usr/bin:$PATH
cd "$at" || exit 99
for t in compress data infer info train; do
    convtt-$t --version > log 2>&1
    grep -qx 'convtt [0-9.]*' log || fail "convtt-$t: $(cat log)"
    [ -e "$usr/share/man/man1/convtt-$t.1.gz" ] || fail "convtt-$t.1"
done
convtt-data synth clips --clips 60 --size 24 --seed 2 > log 2>&1 &&
    convtt-train "$usr/share/convtt/models/early-lstm.net" --data clips \
        --max-steps 2 --threads 1 -o m.h5 > log 2>&1 ||
    fail "a training: $(tail -n 3 log)"
${CC:-cc} -I "$usr/include" "$root/examples/pipe.c" -o pipe -L "$lib" \
    -lconvtt-infer > log 2>&1 || fail "a program: $(cat log)"
head -c 1000000 /dev/urandom > raw
./pipe m.h5 < raw > want || fail 'pipe'
PYTHONPATH=$usr/lib/python3/dist-packages /usr/bin/python3 - << 'EOF' > given
import numpy
import convtt
assert convtt.library().path.startswith("/"), convtt.library()
with convtt.Model("m.h5", threads=1) as m, m.session() as s:
    h, w, c = m.input.shape
    raw = numpy.fromfile("raw", numpy.uint8)
    for f in raw[:raw.size // (h * w * c) * h * w * c].reshape(-1, h, w, c):
        s.push(f)
        name, p = s.top(1)[0]
        print(f"{s.frames}\t{name}\t{p:.3f}")
EOF
[ -s want ] && cmp want given || fail "Python: $(head -n 3 given)"
[ $failed = 0 ] && echo 'the packages are built and work'
exit $failed
