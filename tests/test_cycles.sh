#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_cycles.sh: the longest cycle of each folder's link graph, and its limit.
#
# The current directory is the build.  Files are the compiled ones of a folder
# and of the folders in it.  A file leads to another one if it takes a symbol
# from it; files that lead to each other in a circle can only be read, tested
# and linked together.  The size of the largest such set (a strongly connected
# component, Tarjan 1972) is printed for each folder; the exit status is 1 if
# one is above its limit.
#
# The providers of convs (device/cpu/conv) are left out: their tables name all
# of them, and each calls the table's rules.  So are the two ends of a module
# (video/ffmpeg.c in the program, ffmpeg_open.c in the module), which define
# the same names as the files at the other end and are never linked with them.
set -u
NM=${NM:-nm}
most=4

# The object files, one a line; libtool has those of its libraries in .libs.
objects() {
    find base net comm device run video libtrain compress infer exchange \
        tools \
        -path device/cpu/conv -prune -o -name '*.o' ! -name '*ffmpeg.o' \
        ! -name '*ffmpeg_open.o' -print 2> /dev/null |
        while read -r f; do
            case $f in
            */.libs/*) echo "$f" ;;
            *) [ -e "${f%/*}/.libs/${f##*/}" ] || echo "$f" ;;
            esac
        done
}

found=$(objects)
[ -n "$found" ] || { echo 'nothing is built here'; exit 77; }

# "FILE: SYMBOL TYPE ..." to a line for each folder: the size, the files.
# shellcheck disable=SC2086
sets=$($NM -A -P $found 2> /dev/null | sed 's|/\.libs/|/|' | awk '
function visit(f,    k, n, to) {
    low[f] = at[f] = ++visited
    stack[++depth] = f
    n = split(uses[f], to, " ")
    for (k = 1; k <= n; k++) {
        if (!(to[k] in at))
            visit(to[k])
        if (!(to[k] in done) && low[to[k]] < low[f])
            low[f] = low[to[k]]
    }
    if (low[f] == at[f])
        leave(f)
}
function leave(f,    size, names, g, folder) {
    folder = f
    sub("/.*", "", folder)
    do {
        g = stack[depth--]
        done[g] = 1
        names = names " " g
        size++
    } while (g != f)
    if (size > largest[folder]) {
        largest[folder] = size
        files[folder] = names
    }
}
{
    sub(":$", "", $1)
    sub("[A-Za-z0-9_]*_la-", "", $1)
    sub("/convtt_[a-z0-9_]*-", "/", $1)
    sub("\\.o$", "", $1)
    file[$1] = 1
    folder = $1
    sub("/.*", "", folder)
    if ($3 == "U")
        needs[++count] = folder " " $2 " " $1
    else if ($3 ~ /^[A-Zuv]$/)
        owner[folder " " $2] = owner[folder " " $2] " " $1
}
END {
    for (i = 1; i <= count; i++) {
        split(needs[i], need, " ")
        n = split(owner[need[1] " " need[2]], to, " ")
        for (k = 1; k <= n; k++)
            if (to[k] != need[3] && !seen[need[3], to[k]]++)
                uses[need[3]] = uses[need[3]] " " to[k]
    }
    for (f in file)
        if (!(f in at))
            visit(f)
    for (folder in largest)
        print folder, largest[folder], files[folder]
}' | sort)
[ -n "$sets" ] || { echo "$NM found no symbols"; exit 99; }

failed=0
printf '%-10s %5s %5s  %s\n' folder files limit 'longest cycle'
while read -r folder size files; do
    [ "$size" -gt 1 ] || files=-
    printf '%-10s %5d %5d  %s\n' "$folder" "$size" "$most" "$files"
    [ "$size" -le "$most" ] || failed=1
done <<< "$sets"
[ $failed = 0 ] || echo 'a cycle is longer than its limit'
exit $failed
