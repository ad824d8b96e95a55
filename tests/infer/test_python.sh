#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_python.sh: the Python package convtt with the built library, its types,
# and its installation by pip.
set -u
tools='convtt-data convtt-infer convtt-train'
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
so=$bin/.libs/libconvtt-infer.so
[ -e "$so" ] || { echo 'no shared library is built'; exit 77; }
asan=$(ldd "$so" | awk '/lib(asan|tsan)\.so/ { print $3; exit }')
[ -z "$asan" ] || { echo 'Python has no sanitizer'; exit 77; }
python=python3
$python -c 'import numpy' > text 2>&1 || python=/usr/bin/python3
$python -c 'import numpy' > text 2>&1 || { echo 'no numpy'; exit 77; }

# 1. Models that recognise, decide and predict, and what the programs answer.
make_net
make_clips
says 0 'm.h5 written' "$bin/convtt-train" tiny.net -o m.h5 --data clips \
    --batch 8 --threads 1 --max-steps 40
cp m.h5 d.h5
says 0 'guarantee' "$bin/convtt-infer" --calibrate d.h5 clips --split test \
    --max-gap 0.5 --threads 1
cat > next.net << 'END_NET'
input x h=16 w=16 c=1 colour=gray
convlstm h in=x hidden=4 kernel=3
conv y in=h out=1
END_NET
says 0 'next.h5 written' "$bin/convtt-train" next.net -o next.h5 --data clips \
    --task predict --batch 4 --threads 1 --max-steps 3 --input-frames 3 \
    --future-frames 2
head -c $((10 * 16 * 16 * 3)) /dev/urandom > raw
"$bin/examples/pipe" m.h5 < raw > pipe.out || fail 'pipe'
"$bin/convtt-infer" m.h5 --stream - --raw=16x16xrgb24@6 --every 1 --json \
    --threads 1 < raw > infer.json 2> text || fail "convtt-infer: $(cat text)"

# 2. The package, as it lies in the tree.
cp -r "$root/python" source
chmod -R u+w source
export PYTHONPATH=$dir/source CONVTT_LIBRARY=$so CTT_MODULES=$bin/.libs
limited $python -W error "$root/tests/infer/test_python.py" 2> text ||
    fail "the package: $(cat text)"
grep -q '^Ran [1-9][0-9] tests' text || fail "few tests: $(cat text)"
if $python -m mypy --version > text 2>&1; then
    (cd source && $python -m mypy --strict convtt) > text 2>&1 ||
        fail "types: $(cat text)"
else
    echo 'not tested: types (no mypy)'
fi

# 3. Installed: the library is that of the system, or beside the package.
unset PYTHONPATH CONVTT_LIBRARY
lib() { (cd / && PYTHONPATH=$dir/at $python -c \
    'import convtt; print(convtt.library().path)'); }
if $python -c 'import setuptools, wheel, pip' > text 2>&1; then
    $python -m pip install --quiet --no-build-isolation --no-deps --no-index \
        --target at ./source > text 2>&1 || fail "pip: $(cat text)"
    [ -e at/convtt/py.typed ] || fail "installed without py.typed"
    found=$(LD_LIBRARY_PATH=$bin/.libs lib) &&
        [[ $found -ef $so ]] ||
        fail "the system's library: $found"
    cp "$so" at/convtt/libconvtt-infer.so.0
    [ "$(lib)" = "$dir/at/convtt/libconvtt-infer.so.0" ] ||
        fail "the library beside the package: $(lib)"
else
    echo 'not tested: installation (no pip, setuptools or wheel)'
fi
[ $failed = 0 ] && echo 'Python can use the library'
exit $failed
