#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_library.sh: libconvtt-infer as other programs use it: its names, the
# examples, C++, CMake, pkg-config, and Python.
set -u
tools='convtt-data convtt-infer convtt-train'
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
so=$bin/.libs/libconvtt-infer.so
[ -e "$so" ] || { echo 'no shared library is built'; exit 77; }
make_net
make_clips
"$bin/convtt-train" tiny.net -o m.h5 --data clips --batch 4 --threads 1 \
    --max-steps 1 > out 2>&1 || { cat out; exit 1; }

# 1. It exports the functions of infer.h, and nothing else.
sed 's|/\*.*\*/||; /\/\*/,/\*\//d' "$root/infer/infer.h" |
    grep -oE '\bctt_[a-z_]+\(' | tr -d '(' | sort -u > wanted
[ "$(wc -l < wanted)" -gt 35 ] || fail "names: $(cat wanted)"
${NM:-nm} -D --defined-only "$so" | awk '$2 == "T" { print $3 }' |
    sed 's/@.*//' | grep -v -E '^(__odr_asan|_sub_[ID]_|_init|_fini)' |
    sort -u > given
diff wanted given > text || fail "exported: $(cat text)"
${READELF:-readelf} -d "$so" | grep -q 'SONAME.*libconvtt-infer\.so\.0\]' ||
    fail 'the name of the shared library'
# A static HDF5 is in it (m4/ctt_hdf5.m4), and not seen from outside.
if grep -q '^HDF5_LIBRARY_LDFLAGS = .*wrap' "$bin/Makefile"; then
    ${READELF:-readelf} -d "$so" | grep -E 'NEEDED.*hdf5|TEXTREL' &&
        fail 'HDF5 is needed, or text is relocated'
    [ "$(${NM:-nm} "$so" | grep -cE ' [bd] __wrap_std(out|err)$')" = 2 ] ||
        fail 'the streams of HDF5'
fi
# Only the linker's map makes versions.
[ -z "$(${NM:-nm} -D "$so" | grep '@@')" ] ||
    ${NM:-nm} -D "$so" | grep -q ' ctt_batch_push@@CONVTT_INFER_0$' ||
    fail 'versions of symbols'

# So does its manual page name and describe them.
page=$bin/convtt-infer.3
while read -r name; do
    [ "$(grep -c "$name" "$page")" -ge 2 ] || fail "$page: no $name"
done < wanted
if type mandoc > text 2>&1; then
    mandoc -T lint -W warning "$page" > text || fail "$page: $(head -3 text)"
else
    echo 'not looked at: convtt-infer.3 by mandoc (not installed)'
fi

# 2. The examples: each answer of the pipe, and the last ones of the batch, are
# those of the program.
set -- $("$bin/examples/pipe" m.h5 size)
[ "$#" = 2 ] || fail "size: $*"
bytes=$(($1 * $2 * 3)) frames=7
for i in 1 2 3; do
    head -c $((bytes * (frames + i))) /dev/urandom > "$i.raw"
    "$bin/examples/pipe" m.h5 < "$i.raw" > "$i.out" || fail "pipe $i"
    [ "$(wc -l < "$i.out")" = $((frames + i)) ] || fail "pipe: $(cat $i.out)"
    tail -n 1 "$i.out" | sed "s|^|$i.raw	|"
done > wanted
"$bin/examples/several" m.h5 1.raw 2.raw 3.raw > given || fail 'several'
cut -f 1-3 wanted > a
cut -f 1-3 given > b
cmp -s a b || fail "several: $(cat given), not $(cat wanted)"
paste wanted given | awk -F '\t' '($4 - $8) ^ 2 > 1e-5 { exit 1 }' ||
    fail "several: $(cat given), not $(cat wanted)"
for e in pipe several; do
    says 1 "^$e: nothere.h5: " "$bin/examples/$e" nothere.h5 1.raw
    says 2 "^usage: $e MODEL" "$bin/examples/$e"
done
[ ! -e "$bin/examples/camera" ] ||
    says 1 '^camera: /nowhere: ' "$bin/examples/camera" m.h5 /nowhere

# 3. As it lies when installed.
at=$dir/usr
mkdir -p "$at/include/convtt" "$at/lib/cmake/convtt-infer" p
cp "$root/infer/infer.h" "$at/include/convtt"
cp -P "$bin"/.libs/libconvtt-infer.so* "$at/lib"
cp "$bin"/convtt-infer-config*.cmake "$at/lib/cmake/convtt-infer"
asan=$(ldd "$so" | awk '/lib(asan|tsan)\.so/ { print $3; exit }')
if [ -n "$asan" ]; then
    echo 'not tested: other programs (the library has a sanitizer)'
    exit $failed
fi
cat > p/app.cc << 'END'
#include <convtt/infer.h>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <vector>

static void hear(void *arg, const char *) { ++*static_cast<int *>(arg); }

int main(int, char **argv)
{
    ctt_infer_options o = {};
    ctt_infer *m = nullptr;
    ctt_session *s = nullptr;
    int warnings = 0;

    std::setlocale(LC_ALL, "");
    o.size = sizeof(o);
    o.device = "ref";
    o.threads = 1;
    ctt_infer_log(hear, &warnings);
    if (ctt_infer_open_with(argv[1], &o, &m) < 0 ||
        ctt_session_open(m, &s) < 0)
        return std::puts(ctt_infer_error()), 1;
    const ctt_infer_input *in = ctt_infer_wants(m);
    std::vector<uint8_t> frame(size_t(in->h) * in->w * in->c);
    std::vector<float> p(ctt_infer_classes(m));
    if (ctt_session_push(s, frame.data(), 1) < 0 ||
        ctt_session_read(s, p.data()) < 0)
        return std::puts(ctt_infer_error()), 1;
    if (ctt_session_save(s, "app.stream") < 0 ||
        ctt_session_restore(s, "app.stream") < 0)
        return std::puts(ctt_infer_error()), 1;
    std::printf("%s %d %.1f %.9g\n", ctt_infer_version(), int(p.size()), 0.5,
                double(p[0]));
    ctt_session_close(&s);
    ctt_infer_close(&m);
    return std::strcmp(ctt_infer_version(), CTT_INFER_VERSION);
}
END
cat > p/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.13)
project(app CXX)
find_package(convtt-infer 0.2 REQUIRED)
add_executable(app app.cc)
target_link_libraries(app PRIVATE convtt::infer)
END
export LD_LIBRARY_PATH=$at/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
app() {     # app PROGRAM
    says 0 '^0\.2\.[0-9]+ [0-9]+ 0\.5 ' "$@" m.h5
}
# A program whose numbers have a comma reads the same numbers.
german() {
    mkdir -p locales
    localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 > text 2>&1 ||
        { echo "not tested: de_DE ($(tail -n 1 text))"; return; }
    "$@" m.h5 > plain
    says 0 ' 0,5 ' env LOCPATH="$PWD/locales" LC_ALL=de_DE.UTF-8 "$@" m.h5
    [ "$(tr , . < out)" = "$(cat plain)" ] ||
        fail "in de_DE: $(cat out), not $(cat plain)"
}
if ${CXX:-c++} -std=c++17 -Wall -Wextra -Werror -I "$at/include" p/app.cc \
    -o app -L "$at/lib" -lconvtt-infer > text 2>&1; then
    app ./app
    german ./app
elif type "${CXX:-c++}" > out 2>&1; then
    fail "C++: $(cat text)"
else
    echo 'not tested: C++ (no compiler)'
fi
if type cmake > text 2>&1; then
    cmake -S p -B built -DCMAKE_PREFIX_PATH="$at" > text 2>&1 &&
        cmake --build built > text 2>&1 || fail "CMake: $(tail -5 text)"
    app built/app
    sed -i 's/infer 0.2/infer 0.9/' p/CMakeLists.txt
    cmake -S p -B again -DCMAKE_PREFIX_PATH="$at" > text 2>&1 &&
        fail 'CMake: version 0.9 is found'
else
    echo 'not tested: CMake (not installed)'
fi
if ${PKG_CONFIG:-pkg-config} --version > text 2>&1; then
    # A .pc file that knows its place gives that of a moved installation.
    here=$at/lib/pkgconfig
    ! grep -q '^prefix=${pcfiledir}/../../..$' "$bin/convtt-infer.pc" ||
        here=$at/lib/arch/pkgconfig
    mkdir -p "$here"
    cp "$bin/convtt-infer.pc" "$here"
    flags=$(PKG_CONFIG_PATH=$here ${PKG_CONFIG:-pkg-config} --cflags --libs \
            convtt-infer) && [[ $flags == *-lconvtt-infer* ]] ||
        fail "pkg-config: $flags"
    ! grep -q '^prefix=${pcfiledir}' "$bin/convtt-infer.pc" ||
        [[ $flags == *-I$here/../../*include* ]] ||
        fail "pkg-config of a moved installation: $flags"
fi

# 4. Python, from the same frames.
python=python3
$python -c 'import numpy' > text 2>&1 || python=/usr/bin/python3
if $python -c 'import numpy' > text 2>&1; then
    CONVTT_LIBRARY=$so $python "$root/examples/stream.py" m.h5 < 1.raw \
        > out 2> text || fail "Python: $(cat text)"
    cmp -s out 1.out || fail "Python: $(cat out), not $(cat 1.out)"
    CONVTT_LIBRARY=$so says 1 '^stream.py: nothere.h5: ' \
        $python "$root/examples/stream.py" nothere.h5
else
    echo 'not tested: Python (no numpy)'
fi
[ $failed = 0 ] && echo 'others can use the library'
exit $failed
