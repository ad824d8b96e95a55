#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tree.sh: the rules of doc/design.md that no compiler sees: who includes
# whom, what is exported, how long things are, what lies in the tree.
#
# srcdir names the sources, the current directory is the build.  Each breach is
# one line "file:line: rule"; the exit status is 1 if there is any.
set -u
build=$PWD
if grep -qs __asan_init .libs/convtt-train convtt-train; then
    echo 'not in a build with sanitizers: it looks at nothing that they change'
    exit 77
fi
cd "${srcdir:-.}" || exit 99
top=$PWD
CC=${CC:-cc} CXX=${CXX:-c++} NM=${NM:-nm}
breaches=$(mktemp) || exit 99
names=$(mktemp) || exit 99
trap 'rm -f "$breaches" "$names"' EXIT
shared_most=2.5    # per cent, see section 4

# Reads breaches, one a line, and says which rule they break.
refuse() { sed "s|\$|: $1|" | tee -a "$breaches"; }
note() { echo "not looked at: $1"; }

libs='base net comm device run video libtrain compress infer exchange'
folders="$libs tools tests bench"
if [ -e .git ] && git ls-files > /dev/null 2>&1; then
    list() { git ls-files -co --exclude-standard -- "$@"; }
    in_git=yes
else
    list() { find "$@" -type f 2> /dev/null | sed 's|^\./||'; }
    in_git=no
fi
files() {   # files REGEX FOLDER...: what is there of a kind
    local kind=$1
    shift
    list "$@" | grep -E "$kind" | while read -r f; do
        [ -e "$f" ] && echo "$f"
    done
}
c_files=$(files '\.(c|h|def|cc|cu|cuh)$' $folders)
headers=$(files '\.h$' $folders)
scripts=$(files '(\.(sh|am|ac|m4)|(^|/)(quickstart|run))$' \
          $folders m4 build-aux .ci quickstart autogen.sh configure.ac \
          Makefile.am | grep -v -E '^(m4/(lib|lt)|build-aux/ltmain)')
[ -n "$c_files" ] || { echo "no sources in $top"; exit 99; }

# 1. Who may include whom.
may_include() {
    local net='base/|net/'
    case $1 in
    base)       echo 'base/' ;;
    net)        echo "$net" ;;
    comm)       echo "base/|comm/" ;;
    device)     echo "$net|device/[a-z_]*\.h" ;;
    device/cpu) echo "$net|device/[a-z_]*\.h|device/cpu/" ;;
    device/cuda) echo "$net|device/[a-z_]*\.h|device/cuda/" ;;
    run)        echo "$net|device/(device|memory)\.h|run/[a-z_]*\.h" ;;
    run/back)   echo "$net|device/(device|memory)\.h|run/" ;;
    video)      echo "$net|video/" ;;
    libtrain)   echo "$net|comm/comm\.h|\
device/(device|ewise|gpus|memory|peers|render)\.h|run/|video/|libtrain/" ;;
    infer)      echo "$net|device/(device|memory)\.h|infer/|\
run/(run|sample)\.h" ;;
    exchange)   echo "$net|exchange/" ;;
    compress)   echo "$net|compress/|infer/infer\.h" ;;
    tools)      echo "$net|device/device\.h|run/run\.h|tools/|\
video/(video|source|live/live|quality|baseline|save|text/text)\.h|\
libtrain/(train|before|recognise/(baseline|head)|search/search)\.h|\
libtrain/doctor/amp_measure\.h|\
comm/comm\.h|compress/(compress|search/search)\.h|\
exchange/(board|exchange|import|npz|ort)\.h|\
infer/(infer|inside|calibrate|decide|head)\.h" ;;
    *)          echo '' ;;
    esac
}
# The folder of the table that a file belongs to: the longest that fits.
room_of() {
    local room=${1%/*}
    while [ -z "$(may_include "$room")" ]; do room=${room%/*}; done
    echo "$room"
}
for d in $(echo "$c_files" | grep -E "^(${libs// /|}|tools)/" |
        sed 's|/[^/]*$||' | sort -u); do
    room=$(room_of "$d/.")
    grep -nE '^ *# *include *"' $(echo "$c_files" | grep -E "^$d/[^/]*\$") \
            /dev/null |
        grep -vE "include *\"($(may_include "$room"))" |
        refuse "$room must not include this"
done
grep -noE '^ *# *include *"[^"]*"' $c_files | while IFS=: read -r f n text; do
    header=${text#*\"}
    [ -e "${header%\"}" ] || echo "$f:$n: ${header%\"}"
done | refuse "no such file below the top of the tree"

# 2. One or two files know an external library.
while read -r name pattern; do
    who=$(grep -lE "^ *# *include *<$pattern>" $c_files |
          grep -vE '^(tests|bench)/')
    [ "$(echo "$who" | grep -c .)" -le 2 ] ||
        echo "$who" | refuse "$name is included by more than two files"
done << 'END'
HDF5     hdf5[^>]*
zlib     zlib\.h
jansson  jansson\.h
oneDNN   (oneapi/dnnl/)?dnnl[^>]*
BLAS     cblas[^>]*
LAPACKE  lapack[^>]*
FFmpeg   libavformat/[^>]*
scaling  libswscale/[^>]*
CUnit    CUnit/[^>]*
CUDA     cuda_runtime[^>]*
MPI      mpi\.h
cuDNN    cudnn[^>]*
cuBLAS   cublas[^>]*
NCCL     nccl[^>]*
END

# 3. What a library must not do, and what nobody may.
word='(^|[^a-z_])'
lib_c=$(echo "$c_files" | grep -E "^(${libs// /|})/")
ban() {     # ban REGEX RULE FILE...
    local pattern=$1 rule=$2
    shift 2
    grep -nE "$pattern" "$@" | grep -vE '^[^:]*:[0-9]+:( \*|/\*)' |
        cut -d: -f1,2 | refuse "$rule"
}
ban "$word(malloc|calloc|realloc|strdup|aligned_alloc) *\\(" \
    'memory comes from base/base.c' $(echo "$lib_c" | grep -v '^base/base\.c$')
# These print --help, for the programs.
ban "$word((printf|puts|putchar|perror) *\\(|(stdout|stderr)([^a-z_]|\$))" \
    'a library never prints' \
    $(echo "$lib_c" | grep -vE '^base/opt_(complete|help|man)\.c$')
ban "$word(exit|_exit|abort) *\\(" 'a library never exits' $lib_c
ban "$word(strcat|sprintf|vsprintf|gets|strtok) *\\(" \
    'has no bound or a hidden state' $(echo "$c_files" | grep -v '^tests/')
ban '^typedef[[:space:]]+(struct|union|enum)[^(]*[{;]' \
    'hides a structure behind a typedef' $c_files
grep -nwE 'TO''DO|FIX''ME|X''XX' $c_files $scripts | cut -d: -f1,2 |
    refuse 'a promise instead of code'
grep -n $'\t' $(echo "$c_files" | grep -v '\.def$') | cut -d: -f1,2 |
    refuse 'a tab'

# 4. How it looks: length, width, licence and the sentence at the top.
wc -l $c_files | awk '$2 != "total" && $1 > 800 { print $2 ":" $1 }' |
    refuse "more than 800 lines"
grep -nE '^.{81}' $c_files $(echo "$scripts" | grep -v '\.m4$') |
    cut -d: -f1,2 | refuse "more than 80 columns"
awk 'FNR <= 2 && /SPDX-License-Identifier: Apache-2.0/ { has[FILENAME] = 1 }
     END { for (i = 1; i < ARGC; i++) if (!has[ARGV[i]]) print ARGV[i] ":1" }' \
    $c_files $scripts | refuse "no SPDX line"
for script in $scripts $(files '\.py$' $folders examples); do
    [ -x "$script" ] || ! head -n 1 "$script" | grep -q '^#!' ||
        echo "$script:1"
done | refuse "begins with #! and cannot be run"
awk 'FNR <= 3 { n = split(FILENAME, part, "/")
                if (index($0, " * " part[n] ": ")) has[FILENAME] = 1 }
     END { for (i = 1; i < ARGC; i++) if (!has[ARGV[i]]) print ARGV[i] ":2" }' \
    $c_files | refuse "does not say at its top what it is"
grep -nE '^ *(/\*|\* [a-z_0-9]+\.[a-z]+:) ([Ww]hat|[Tt]hose|[Ii]t) ' \
    $(echo "$c_files" | grep -vE '^tests/') | cut -d: -f1,2 |
    refuse "a comment begins with what, those or it, not with a noun"
if ctags --version 2> /dev/null | grep -q Universal; then
    ctags -x --c-kinds=f --fields=+ne --languages=C --langmap=C:.c.h.cc.cu.cuh \
        --_xformat='%{line} %{end} %{name} %{input}' $c_files |
        awk '$2 - $1 >= 100 {print $4 ":" $1 ": " $3}' |
        refuse "a function of more than 100 lines"
    # Names such as run() in many files say nothing: their share may only fall.
    # Static functions by name and file, one line each; tests are not counted.
    ctags -x --c-kinds=f --languages=C --langmap=C:.c.h.cc.cu.cuh \
        --_xformat='%{name} %{input} %{compact}' \
        $(echo "$c_files" | grep -vE '^(tests|bench)/') |
        awk '$3 == "static" && !/^__/ {print $1, $2}' | sort > "$names"
    share=$(awk 'FNR == NR {n[$1]++; next} {all++; if (n[$1] >= 4) s++}
                 END {printf "%.1f", 100 * s / all}' \
            <(sort -u "$names") "$names")
    echo "static names shared by 4 files or more: $share%"
    awk "BEGIN {exit !($share > $shared_most)}" &&
        echo "tests/test_tree.sh:1" |
        refuse "static names shared by 4 files or more: over $shared_most%"
else
    note "length and names of functions (needs universal-ctags)"
fi

# 5. Every header compiles alone, as C11, and those of a folder as C++17.
alone() {   # alone COMPILER...: each header that is read
    xargs -r -n 30 -P "$(nproc 2> /dev/null || echo 2)" "$@" -I. \
        -fsyntax-only -Wall -Wno-unused-function -fopenmp -fmax-errors=1 \
        $HEADER_CFLAGS 2>&1 | grep -E '(error|warning):' |
        refuse "does not compile alone: $*"
}
together() {    # together COMPILER...: all headers that are read
    sed 's/.*/#include "&"/' | "$@" -I. -fsyntax-only -Wall \
        -Wno-unused-function -fopenmp $HEADER_CFLAGS - 2>&1 |
        grep -E '(error|warning):' | refuse "does not compile: $*"
}
HEADER_CFLAGS=${HEADER_CFLAGS--D_POSIX_C_SOURCE=200809L \
                              $(pkg-config --cflags hdf5 cunit)}
have_cxx=yes
echo 'int main() {}' | $CXX -std=c++17 -x c++ -fsyntax-only - 2> /dev/null ||
    { have_cxx=no; note "headers as C++17 ($CXX does not compile)"; }
have_cunit=yes
echo '#include <CUnit/Basic.h>' |
    $CC $HEADER_CFLAGS -x c -fsyntax-only - 2> /dev/null || have_cunit=no
have_cuda=yes
echo '#include <cudnn.h>' |
    $CC $HEADER_CFLAGS -x c -fsyntax-only - 2> /dev/null ||
    { have_cuda=no; note "headers of device/cuda (no CUDA)"; }
# A header that includes a .c is the body of the files that include it; what
# includes a *_tmpl.h defines its words.
whole=$(grep -LE '^ *# *include *".*\.c"' $headers | grep -v '_tmpl\.h$')
[ $have_cuda = yes ] || whole=$(echo "$whole" | grep -v '^device/cuda/')
[ $have_cunit = yes ] || whole=$(echo "$whole" | grep -v '^tests/')
# The build shows it of a header that a source file begins with.
begun=$(awk 'FNR == 1 { open = 1 }
             open && /^ *# *[a-z]/ { open = 0
                 if (split($0, part, "\"") == 3 && $0 ~ /include/)
                     print part[2] }' $(echo "$c_files" | grep '\.c$'))
echo "$whole" | grep -vxF "$begun" | alone $CC -std=c11 -x c
if [ $have_cxx = yes ]; then
    whole=$(echo "$whole" | grep -v '^tests/')    # read by C alone
    # Names are those of a library; programs have some of the same.
    for d in $libs $(echo "$whole" | grep -vE "^(${libs// /|})/" |
            sed 's|/[^/]*$||' | sort -u); do
        echo "$whole" | grep -E "^$d/" | together $CXX -std=c++17 -x c++
    done
fi

# 6. Every source is built and goes into the tarball.
# (A program of one file is listed without its .c.)
words=$(cat Makefile.am $(files '\.am$' $folders) | tr -s ' \t' '\n\n' |
        sort -u)
printf '%s\n' $c_files $(files '\.net$' models) $(files '\.sh$' tests) |
    awk -v words="$words" '
        BEGIN { n = split(words, w, "\n")
                for (i = 1; i <= n; i++) is[w[i]] = 1 }
        { short = $0; sub(/\.c$/, "", short) }
        !is[$0] && !is[short] { print $0 ":1" }' |
    refuse "is in none of the lists of Makefile.am, tests, bench"

# 7. Nothing binary in git, but small pictures of the documentation, and the
# model that is shipped.
picture() {
    case $1 in
    ./doc/*.png | doc/*.png) [ "$(wc -c < "$1")" -le 65536 ] ;;
    ./models/early-demo.h5 | models/early-demo.h5)
        [ "$(wc -c < "$1")" -le 16384 ] ;;
    *) false ;;
    esac
}
if [ $in_git = yes ]; then
    list . | xargs -d '\n' grep -sLI . | while read -r f; do
        [ ! -s "$f" ] || picture "$f" || echo "$f:1"
    done | refuse "is binary"
else
    note "binary files (this is no git checkout)"
fi

# 8. What the built libraries export and what the programs contain.
cd "$build" || exit 99
defined() {
    $NM -g --defined-only "$@" 2> /dev/null | awk 'NF == 3 {print $3}'
}
# What starts with __odr_asan or _sub_ is the sanitizer's, with DW.ref the C++
# compiler's.
ours='^(ctt_|CONVTT_INFER_|__odr_asan|_sub_[ID]_|DW\.ref\.|$)'
for a in .libs/libctt*.a; do
    case $a in */libcttcheck.a | */libcttsim.a) continue ;; esac
    [ -e "$a" ] || { note "exported names (nothing is built here)"; break; }
    defined "$a" | grep -vE "$ours" | sort -u | sed "s|^|$a: |" |
        refuse "is exported without ctt_"
done
so=.libs/libconvtt-infer.so
if [ -e $so ]; then
    defined -D $so | grep -vE "$ours" | sed "s|^|$so: |" |
        refuse "is exported without ctt_"
    # Debian's list of them, which its tools hold against a program's needs.
    listed=debian/libconvtt-infer0.symbols
    [ ! -e "$top/$listed" ] ||
        comm -3 <(defined -D $so | sed -n 's/^\(ctt_[^@]*\).*/\1/p' | sort -u) \
            <(sed -n 's/^ \(ctt_[^@]*\)@.*/\1/p' "$top/$listed" | sort -u) |
            tr -d '\t' | sed "s|^|$listed: |" |
            refuse "is not both listed and exported"
else
    note "names in libconvtt-infer (no shared library)"
fi
tool=convtt-infer
[ ! -e .libs/$tool ] || tool=.libs/$tool
if [ -e $tool ]; then
    trainer=$(defined .libs/libctttrain.a .libs/libcttcompress.a \
        .libs/libcttback.a | sort -u)
    [ -n "$trainer" ] || { echo "no names in libctttrain.a"; exit 99; }
    # With modules serving links HDF5 (which may be static), zlib, OpenMP and
    # the system; the program reads lists, so it links jansson, too.
    [ ! -e .libs/convtt-ffmpeg.so ] ||
        for f in $tool $([ ! -e $so ] || echo $so); do
            more=jansson
            [ "$f" = $tool ] || more=c
            ${READELF:-readelf} -d "$f" | grep NEEDED |
                grep -vE '\[(ld-linux[^]]*|lib(hdf5[^.]*|sz|z|gomp|m|c|dl|'\
"pthread|gcc_s|atomic|$more))\\.so" | sed "s|^|$f: |"
        done | refuse "serving needs no such library"
    for f in $tool $([ ! -e $so ] || echo $so); do
        comm -12 <(echo "$trainer") <(defined $f | sort -u) |
            grep -vE '^__odr_asan' | sed "s|^|$f: |" |
            refuse "serving contains a piece of the trainer"
    done
fi

[ ! -s "$breaches" ] || { echo "$(wc -l < "$breaches") breaches"; exit 1; }
echo "the tree keeps its rules"
