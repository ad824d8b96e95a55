#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_streams_cli.sh: convtt-infer --streams: many sources answer as each by
# itself does, those that fail leave the others alone, counts add up, and lists
# that are wrong are refused.
set -u
tools="convtt-data convtt-infer convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
. "$(cd "$bin" && cd "${srcdir:-.}" && pwd)/tests/lib/lit.sh"
# Of the lines of JSON in a file: those of a stream, without what depends on
# the moment; a number of its total, or with "" of that of all.
lines() {
    grep -F -e "{\"file\":\"$2\"," -e "\"stream\":\"$2\",\"utc\"" "$1" |
        sed -E 's/"(ms|utc|file|stream)":("[^"]*"|[0-9.]*)//g'
}
total() {
    grep '^{"total"' "$1" | grep -F -e "\"stream\":\"$2\",\"state\"" \
        -e "\"seconds\":${2:+none}" | tail -1
}
count() { total "$2" "$3" | grep -oE "\"$1\":[0-9]+" | cut -d: -f2; }
adds_up() {     # adds_up FILE NAME...: of each, and all together
    local file=$1 k n sum
    shift
    for k in "$@" ""; do
        is "$file, '$k': frames" "$(count decoded "$file" "$k")" \
            $(($(count between "$file" "$k") + $(count dropped "$file" "$k") + \
               $(count taken "$file" "$k")))
        is "$file, '$k': steps" "$(count inferred "$file" "$k")" \
            "$(count steps "$file" "$k")"
    done
    for n in decoded between dropped taken late steps answers events; do
        sum=0
        for k in "$@"; do sum=$((sum + $(count $n "$file" "$k"))); done
        is "$file: $n of all" "$(count $n "$file" "")" $sum
    done
}
# near A B: the same lines but for 1e-5 in their numbers.
near() {
    paste -d '\n' "$1" "$2" | tr -c '0-9.\n' ' ' | awk '
        NR % 2 { n = split($0, a, " "); next }
        { if (split($0, b, " ") != n) exit bad = 1
          for (i = 1; i <= n; i++) {
              d = a[i] - b[i]; if (d > 1.1e-5 || d < -1.1e-5) exit bad = 1 } }
        END { exit bad }' &&
        cmp -s <(tr -d '0-9' < "$1") <(tr -d '0-9' < "$2")
}

# 1. Each of many answers as it does alone: on "ref" to the last digit.
make_net
make_clips
says 0 'm.h5 written' "$bin/convtt-train" tiny.net --data clips --batch 4 \
    --threads 1 --max-steps 2 -o m.h5
mkdir -p lists/in
i=0
for clip in $(ls clips/20bn-*/*.webm | head -3); do
    i=$((i + 1))
    cp "$clip" lists/in/$i.webm
    echo "in/$i.webm"
done > lists/all.txt
(printf '# comment\n\n\ta name \t=  in/1.webm \r\n   # more\n'
 sed 1d lists/all.txt) > lists/list.txt
set -- 'a name' lists/in/2.webm lists/in/3.webm
o="--json --every 1 --threshold 0.1 --least 0 --top 12"
alone() {       # alone FILE OPTION...: as --streams would number it
    local file=$1
    shift
    "$infer" m.h5 "$@" --stream lists/in/$file.webm > alone.$file 2> err ||
        fail "one file: $(cat err)"
}
for more in "" "--device ref --every 2 --sliding 0.5"; do
    # shellcheck disable=SC2086
    $infer m.h5 $o $more --streams lists/list.txt --events file > out 2> err ||
        fail "$more: status $?: $(cat err)"
    adds_up out "$@"
    for i in 1 2 3; do
        alone $i $o $more
        lines out "${!i}" > got
        lines alone.$i lists/in/$i.webm > want
        [ -s want ] || fail "no answers of $i"
        near got want || fail "$more: stream $i: $(diff got want | head -4)"
        [ ! "$more" ] || cmp got want ||
            fail "ref: stream $i: $(diff got want | head -4)"
        is "$more: slides of $i" "$(count slides out "${!i}")" \
            "$(count slides alone.$i "")"
        is "$more: frames of $i" "$(count decoded out "${!i}")" \
            "$(count decoded alone.$i "")"
        is "$more: its state" \
            "$(total out "${!i}" | grep -c '"state":"ended"')" 1
    done
    is "$more: events in the file" "$(sort file | cksum)" \
        "$(grep '^{"event"' out | sort | cksum)"
    [ -s file ] || fail "$more: no events"
    rm file
done
[ "$(count slides out "")" -gt 0 ] || fail "no session slides"

# 2. A source that is missing, damaged or ends early has its line; the others
# are as before.
head -c 20000 "$infer" > lists/in/noise.webm
head -c 64 lists/in/2.webm > lists/in/cut.webm
(cat lists/all.txt; printf 'in/nowhere\nx = in/noise.webm\nin/cut.webm\n') \
    > lists/bad.txt
$infer m.h5 $o --streams lists/all.txt > good 2> err || fail "$(cat err)"
$infer m.h5 $o --streams lists/bad.txt > out 2> err
is 'sources that fail: status' $? 1
for i in 1 2 3; do
    f=lists/in/$i.webm
    lines out $f > got
    lines good $f > want
    [ -s want ] || fail "no answers of $f"
    near got want || fail "beside bad ones: $f: $(diff got want | head -4)"
    total out $f | grep -q '"state":"ended"' || fail "$f: $(total out $f)"
done
is 'lines about them' "$(grep -vc ': no event:' err)" 4
for line in 'lists/in/nowhere: No such file' 'x: lists/in/noise.webm: ' \
    'lists/in/cut.webm: ' 'lists/bad.txt: 3 of 6 streams failed'; do
    grep -q "^convtt-infer: $line" err || fail "not '$line': $(cat err)"
done
for k in lists/in/nowhere x lists/in/cut.webm; do
    total out $k | grep -q '"state":"failed"' || fail "$k: $(total out $k)"
done
adds_up out lists/in/{1,2,3}.webm lists/in/{nowhere,cut.webm} x
$infer m.h5 --streams lists/bad.txt --threshold 0.1 --least 0 > out 2> err
grep -qE '^lists/in/1.webm +begin ' out || fail "events as text: $(cat out)"
grep -qE '^x +failed +0 ' out || fail "a row of x: $(cat out)"
grep -qE '^all  +[1-9][0-9]* ' out || fail "a row of all: $(cat out)"
grep -qE '^memory of a stream: [0-9.]*[1-9]' out || fail "$(tail -1 out)"
printf 'rtsp://me:secret@127.0.0.1:1/a?token=secret\n' > lists/address.txt
$infer lit.h5 --streams lists/address.txt --reconnects 0 --json > out 2> err
is 'an address: status' $? 1
grep secret out err && fail 'a password is printed'
is 'its name' "$(total out rtsp://127.0.0.1:1/a | grep -c failed)" 1

# 3. Beside a stream without a finite answer the others go on.
"$bin/tests/lib/lit" huge.h5 0 10 0 1 || exit 99
dark 30 > dark.raw
(dark 5; bright 30) > bright.raw
printf 'd = dark.raw\nb = bright.raw\n' > pair.txt
$infer huge.h5 $raw --streams pair.txt --json --every 1 > out 2> err
is 'not finite: status' $? 1
is 'answers of the other' "$(lines out d | grep -c '"frame"')" 30
is 'answers before that' "$(lines out b | grep -c '"frame"')" 5
is 'lines about it' "$(grep -c '^convtt-infer: b: .*not finite' err)" 1
is 'lines in all' "$(grep -vc ': no event:' err)" 2
grep -q 'stream [0-9]' err && fail "a number, not a name: $(cat err)"
is 'events that end' "$(lines out b | grep -c '"event":"end"')" \
    "$(lines out b | grep -c '"event":"begin"')"
adds_up out d b

# 4. A pipe that stalls fails alone; Ctrl-C ends all with the tables.
mkfifo pipe quiet
printf 'd = dark.raw\nq = quiet\n- = -\n' > pipes.txt
$infer lit.h5 $raw --streams pipes.txt --json --timeout 0.4 --stats 0.1 \
    --exec 'echo "$CONVTT_STREAM" >> told' < <(dark 20) > out 2> err & pid=$!
exec 8> quiet
dark 10 >&8
wait $pid
is 'a stream that stalls: status' $? 1
exec 8>&-
is 'lines about it' "$(grep -c '^convtt-infer: q: quiet: ' err)" 1
grep -q '^{"stats":{"stream":"q","state":"runs"' out || fail "no lines of q"
is 'what came' "$(count decoded out q)" 10
is 'of others' "$(count decoded out d) $(count decoded out -)" '30 20'
is 'commands for streams' "$(sort -u told | tr '\n' ' ')" '- d q '
adds_up out d q -
printf 'p = pipe\n' > pipes.txt
$infer lit.h5 $raw --streams pipes.txt < /dev/null > out 2> err & pid=$!
exec 9> pipe
dark 20 >&9
await 'an event before Ctrl-C' grep -q 'begin' out
kill -INT $pid
wait $pid || fail "Ctrl-C: status $?: $(cat err)"
exec 9>&-
grep -qE '^p +stopped +[1-9]' out || fail "Ctrl-C: no table: $(cat out)"
grep -qE '^p +end ' out || fail "Ctrl-C: no end: $(cat out)"

# 5. In real time what is too much is dropped, and every frame is counted.
"$bin/tests/lib/lit" slow.h5 60 0 || exit 99
dark 200 > long.raw
for i in 1 2 3 4; do echo "s$i = long.raw"; done > four.txt
$infer slow.h5 --raw 8x8xgray@1000 --realtime --streams four.txt --json > out \
    2> err || fail "real time: $(cat err)"
adds_up out s1 s2 s3 s4
is 'frames decoded' "$(count decoded out "")" 800
[ "$(count dropped out "")" -gt 0 ] || fail "nothing dropped: $(tail -1 out)"

# 6. More streams than a kind of batch has.
for i in $(seq 65); do echo "s$i = dark.raw"; done > many.txt
$infer lit.h5 $raw --streams many.txt --json > out 2> err ||
    fail "65 streams: $(cat err)"
is 'frames of 65' "$(count decoded out "") $(count answers out "")" '1950 1950'
is 'events of 65' "$(grep -c '^{"event"' out)" 130
is 'streams with two' \
    "$(grep -oE '"stream":"s[0-9]+","utc"' out | sort | uniq -c |
        grep -c '^ *2 ')" 65

# 7. Rows of long names have all their numbers.
long=$(printf '%01023d' 0)
printf '%s = dark.raw\nshort = dark.raw\n' "$long" > names.txt
$infer lit.h5 $raw --streams names.txt > out 2> err || fail "$(cat err)"
row() {
    grep -E "^$1 +ended " out | tail -1 | sed -E 's/^[^ ]+ +//' |
        awk '{ print $1, $2, $3, $4, $5, $6, $7, $8, NF }'
}
is 'a row of a long name' "$(row "$long")" "$(row short)"
is 'its numbers' "$(row short | cut -d' ' -f2,9)" '30 10'

# 8. A source that gets no thread fails alone; of commands that the system does
# not run ten have a line.
cat > thread.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *),
                   void *arg)
{
    static atomic_int n;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return ++n == atoi(getenv("FAIL_THREAD")) ? EAGAIN : real(t, a, f, arg);
}
int posix_spawn(pid_t *id, const char *path,
                const posix_spawn_file_actions_t *f, const posix_spawnattr_t *a,
                char *const argv[], char *const envp[])
{
    (void)id, (void)path, (void)f, (void)a, (void)argv, (void)envp;
    return E2BIG;
}
END
printf 'd = dark.raw\nb = dark.raw\nc = dark.raw\n' > three.txt
if grep -qs -e __asan_init -e __tsan_init "$bin/.libs/convtt-infer" "$infer" ||
    ! ${CC:-cc} -shared -fPIC -o thread.so thread.c -ldl 2> /dev/null; then
    echo 'not tested: threads that cannot be made'
else
    alone=0
    for k in 1 2 3 4 5 6; do
        LD_PRELOAD=$PWD/thread.so FAIL_THREAD=$k $infer lit.h5 $raw --json \
            --threads 1 --streams three.txt > out 2> err
        status=$?
        grep -q ': no thread to read it: ' err || continue
        alone=$((alone + 1))
        is "without thread $k: status" $status 1
        is 'lines about it' "$(grep -c . err)" 2
        is 'answers of the others' "$(count answers out "")" 60
        is 'streams that failed' \
            "$(grep '^{"total"' out | grep -c '"state":"failed"')" 1
    done
    is 'sources that get no thread' $alone 3
    for _ in $(seq 16); do dark 1; bright 1; done |
        LD_PRELOAD=$PWD/thread.so FAIL_THREAD=0 $infer lit.h5 $raw --json \
            --stream - --smooth 0 --least 0 --merge 0 --exec true > out \
            2> err || fail "commands that do not run: $(cat err)"
    n=$(grep -c '^{"event"' out)
    [ "$n" -gt 20 ] || fail "$n events: too few for the test"
    is 'lines about commands' \
        "$(grep -c 'exec: cannot run it: Argument list too long' err)" 11
    grep -q "warning: $((n - 10)) more like: " err || fail "$(cat err)"
    is 'commands missed' "$(count exec_missed out "")" "$n"
fi

# 9. Lists and options that are wrong; nothing of them is opened.
mkfifo never
(for i in $(seq 200); do echo "n$i = never"; done; echo ftp://a/b) > later.txt
(echo > never; touch opened) 2> /dev/null & writer=$!
says 2 'later.txt:201: ftp://a/b: not an address' \
    $infer lit.h5 --streams later.txt
[ ! -e opened ] || fail "a source is opened before the list is checked"
timeout 9 cat never > /dev/null
wait $writer
: > empty.txt
printf '# only\n\n' > comment.txt
printf -- '-\nx = -\n' > twice.txt
printf 'dark.raw\n./dark.raw\ndark.raw\n' > same.txt
printf 'x = dark.raw\nx = bright.raw\n' > names.txt
printf 'dark.raw\n = bright.raw\n' > noname.txt
printf 'dark.raw\nx =\n' > nosource.txt
printf 'dark.raw\nftp://a/b\n' > scheme.txt
printf 'dark.raw\n\0\n' > zero.txt
printf 'dark.raw\ndoor=rtsp://me:secret@127.0.0.1/1\n' > close.txt
printf '%01024d = dark.raw\n' 0 > long.txt
seq 4097 > toomany.txt
while IFS='|' read -r pattern options; do
    # shellcheck disable=SC2086
    says 2 "$pattern" $infer $options
done << 'END'
empty.txt: a list without a stream|lit.h5 --streams empty.txt
comment.txt: a list without a stream|lit.h5 --streams comment.txt
twice.txt:2: standard input is given twice, line 1|lit.h5 --streams twice.txt
same.txt:3: 'dark.raw' is the name of line 1|lit.h5 --streams same.txt
names.txt:2: 'x' is the name of line 1|lit.h5 --streams names.txt
noname.txt:2: NAME = SOURCE without a name|lit.h5 --streams noname.txt
nosource.txt:2: NAME = SOURCE without a source|lit.h5 --streams nosource.txt
scheme.txt:2: ftp://a/b: not an address|lit.h5 --streams scheme.txt
zero.txt|lit.h5 --streams zero.txt
close.txt:2: an address begins with its scheme|lit.h5 --streams close.txt
long.txt:1: a name of over 1023 bytes|lit.h5 --streams long.txt
toomany.txt:4097: a list has at most 4096 streams|lit.h5 --streams toomany.txt
missing.txt: No such file|lit.h5 --streams missing.txt
--streams takes a model.*: dark.raw|lit.h5 --streams many.txt dark.raw
streams excludes --stream|lit.h5 --streams many.txt --stream dark.raw
draw requires --stream|lit.h5 --streams many.txt --draw x.mp4
observe excludes --streams|lit.h5 --streams many.txt --observe 0.5
time excludes --streams|lit.h5 --streams many.txt --time
streams excludes --bench|lit.h5 --streams many.txt --bench
many.txt: given for two files|lit.h5 --streams many.txt --events many.txt
given for two files|lit.h5 --streams many.txt --events dark.raw
--events is a file|lit.h5 --streams many.txt --events -
END
grep -q secret out err && fail "a password: $(cat out err)"
echo - | "$infer" lit.h5 --streams - > out 2> err
is 'standard input as list and source: status' $? 2
grep -q 'standard input is the list$' err || fail "$(cat err)"
[ $failed = 0 ] && echo "many streams are as each by itself"
exit $failed
