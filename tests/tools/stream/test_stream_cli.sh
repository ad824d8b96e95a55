#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_stream_cli.sh: convtt-infer --stream: events while a stream runs, how it
# ends, commands, drawing, counts that add up, and memory over a long stream.
# CTT_STREAM_FRAMES: frames of that one, ten a second, in 40,000s.
set -u
tools="convtt-data convtt-infer convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
. "$(cd "$bin" && cd "${srcdir:-.}" && pwd)/tests/lib/lit.sh"
frames=${CTT_STREAM_FRAMES:-40000}

# count NAME FILE: a number of the last line, the total.
count() { tail -1 "$2" | grep -oE "\"$1\":[0-9]+" | cut -d: -f2; }
adds_up() {     # adds_up FILE
    is "$1: frames" "$(count decoded "$1")" \
        $(($(count between "$1") + $(count dropped "$1") + \
           $(count taken "$1")))
    is "$1: steps" "$(count inferred "$1")" "$(count steps "$1")"
}

# Each try to connect again has its line; meanwhile the other tests go on.
$infer lit.h5 --stream tcp://127.0.0.1:1 --reconnects 5 > out_again \
    2> err_again & again=$!

# 1. Events are there while the stream runs, on standard output and in a file.
mkfifo pipe
$infer lit.h5 --stream - $raw --json --events file < pipe > out 2> err & pid=$!
exec 9> pipe
dark 20 >&9
await 'an event of a stream that runs' grep -q '"begin","class":"dark"' out
grep -q '"begin","class":"dark"' file || fail "the file: $(cat file)"
bright 30 >&9
gray 20 >&9
await 'the second event' grep -q '"end","class":"bright' out
exec 9>&-
wait $pid || fail "status $?: $(cat err)"
is events "$(grep -c '^{"event"' out)" 4
grep '^{"event"' out | cmp - file || fail "the file has other events"
is inferred "$(count inferred out)" 70
is decoded "$(count decoded out)" 70
adds_up out
if python3 -c '' 2> /dev/null; then
    python3 - << 'END' || fail "JSON: $(cat out)"
import json
e = [json.loads(line) for line in open("out")]
e = [x for x in e if "event" in x]
b = [x for x in e if x["class"] == 'bright "one" $(touch harm)']
assert [x["event"] for x in b] == ["begin", "end"], b
assert 2 <= b[1]["start"] <= b[1]["peak"] <= b[1]["end"] <= 5.5, b
assert b[0]["start"] == b[1]["start"] and b[1]["confidence"] > 0.9, b
assert not any(x["class"] == "Background" for x in e), e
END
fi
dark 10 | $infer lit.h5 --stream - $raw --events file > out 2> err ||
    fail "$(cat err)"
is 'events appended' "$(wc -l < file)" 6
grep -qE '^begin +0\.00 s to +0\.50 s +[0-9.]+%  dark' out ||
    fail "as text: $(cat out)"
grep -q 'no event' out err && fail "none: $(cat out err)"
some '\101' 10 | $infer lit.h5 --stream - $raw > out 2> err
grep -qE 'no event: the nearest was 4.*% dark at [0-9.]+ s, .* of 60.0%' err ||
    fail "a stream without an event: $(cat out err)"
dark 10 | $infer lit.h5 --stream - $raw --least 9 > out 2> err
grep -qE 'no event: .*, for less than 9 s above the threshold of 60.0%' err ||
    fail "--least: $(cat out err)"
printf '{"event":"torn' > file
dark 10 | $infer lit.h5 --stream - $raw --events file > out 2> err
is 'lines after one that was torn' "$(grep -c '^{"event":".*}$' file)" 2

# 2. A file gives the answers that it gives without --stream.
make_net
make_clips
says 0 'm.h5 written' "$bin/convtt-train" tiny.net --data clips --batch 4 \
    --threads 1 --max-steps 2 -o m.h5
clip=$(ls clips/20bn-*/*.webm | head -1)
answers() {
    grep '"frame":' |
        sed -E 's/"(ms|seconds)":[0-9.]*,?//g; s/"label":"[^"]*",//'
}
for every in 1 4; do
    $infer m.h5 --json --every $every "$clip" 2>&1 | answers > plain
    $infer m.h5 --json --every $every --stream "$clip" --threshold 0.1 \
        > out 2> err || fail "a file: $(cat err)"
    answers < out | cmp - plain || fail "--every $every: $(cat out plain)"
    [ -s plain ] || fail "no answers"
    adds_up out
done
is 'missing of a whole file' "$(count missing out)" 0
{ dark 4; printf half; } | $infer lit.h5 --stream - $raw --json > out 2> err ||
    fail "half a frame at the end: status $?: $(cat err)"
is 'missing of raw frames' "$(count missing out)" 1
is 'whole raw frames' "$(count decoded out)" 4
grep -q '^convtt-infer: standard input: cut short: 1 frame is missing' err ||
    fail "half a frame: $(cat err)"

# 3. Sessions that are reset in turns: the answers are those of a stream that
# began half a period or more ago.
head -c $((16 * 16 * 3 * 60)) "$infer" > noise
tiny="--stream - --raw 16x16xrgb24@6 --json --every 1 --top 12"
seen() { grep '"frame"' | grep -o '"top".*\]'; }
$infer m.h5 $tiny --sliding 5 < noise > out 2> err || fail "$(cat err)"
is slides "$(count slides out)" 3
is answers "$(count answers out)" 60
seen < out > slid
grep -q 'trained on clips' err && fail "a hint beside --sliding: $(cat err)"
seen < <($infer m.h5 $tiny < noise 2> err) > whole
is 'hints of --sliding' "$(grep -cE \
    'trained on clips of about [0-9.]+ s; --sliding [0-9.]+ lets' err)" 1
seen < <(tail -c +$((16 * 16 * 3 * 15 + 1)) noise | $infer m.h5 $tiny) > tail
seen < <(tail -c +$((16 * 16 * 3 * 30 + 1)) noise | $infer m.h5 $tiny) > late
cmp <(head -30 slid) <(head -30 whole) || fail "before the second reset"
cmp <(sed -n 31,45p slid) <(sed -n 16,30p tail) || fail "after it"
cmp <(sed -n 46,60p slid) <(sed -n 16,30p late) || fail "after the third"

# Lines of answers and of --stats are whole, although a reader that is slow
# keeps the program waiting within them.
slowly() { for _ in $(seq 30); do head -c 300000; sleep 0.05; done; cat; }
"$bin/tests/lib/lit" many.h5 0 10 2000 || exit 99
dark 100 | $infer many.h5 --stream - $raw --json --every 1 --top 2003 \
    --stats 0.1 2> err | slowly > out
bad=$(grep -vcE '^\{"(file|event|stats|total)":.*\}$' out)
is 'broken lines of JSON' "$bad" 0
is 'lines with two objects' "$(grep -cE '.\{"(file|stats)"' out)" 0
is 'answers' "$(grep -c '^{"file".*"ms":[0-9.]*}$' out)" 100
[ "$(grep -c '^{"stats"' out)" -gt 5 ] || fail "too few lines of --stats"

# 4. Ctrl-C ends it with the table and what is open; a reader that goes, with
# status 1 and a whole video.
endless() { while dark 50; do sleep 0.05; done 2> /dev/null; }
$infer lit.h5 --stream pipe $raw > out 2> err & pid=$!
endless > pipe & feeder=$!
await 'an event before Ctrl-C' grep -q '^begin' out
kill -INT $pid
wait $pid || fail "Ctrl-C: status $?: $(cat err)"
grep -q '^end ' out || fail "Ctrl-C: no end: $(cat out)"
grep -qE '^inferred +[1-9]' out || fail "Ctrl-C: no table: $(cat out)"
wait $feeder
endless > pipe & feeder=$!
limited $infer lit.h5 --stream pipe $raw --every 1 --draw video.mp4 2> err |
    head -1 > out
is 'a reader that goes' "${PIPESTATUS[0]}" 1
grep -q 'standard output cannot be written' err || fail "$(cat err)"
is 'lines about it' "$(grep -c . err)" 1
wait $feeder
$infer lit.h5 --stream video.mp4 --json > out 2> err || fail "$(cat err)"
[ "$(count decoded out)" -gt 0 ] || fail "no frames in the video"

# Neither a reader that stalls, whose pipe is full, nor commands that hang
# outlast Ctrl-C.
is_dead() {
    ! kill -0 "$1" 2> /dev/null ||
        grep -q '^State:[^A-Z]*Z' "/proc/$1/status" 2> /dev/null
}
ends() {    # ends WHAT: so does the process $pid
    await "$1: the end" is_dead $pid || kill -KILL $pid
    wait $pid
}
catches() {     # catches PID: it does not end at once at SIGINT
    local mask
    mask=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$1/status" 2> /dev/null)
    [ $((0x${mask:-0} & 2)) != 0 ]
}
mkfifo stalled
exec 8<> stalled
head -c 65536 /dev/zero >&8 & filler=$!
for json in '' --json; do
    $infer lit.h5 --stream pipe $raw --every 1 $json > stalled 2> err & pid=$!
    while dark 50 && bright 50; do :; done > pipe 2> /dev/null & feeder=$!
    await 'a stream whose reader stalls' catches $pid
    kill -INT $pid
    ends "a reader that stalls"
    is 'a reader that stalls' $? 1
    grep -q 'standard output cannot be written' err || fail "$(cat err)"
    wait $feeder
done
exec 8>&-
kill $filler 2> /dev/null
$infer lit.h5 --stream pipe $raw --exec-limit 1000 \
    --exec 'echo $$ >> hanging; sleep 1000' > out 2> err & pid=$!
endless > pipe & feeder=$!
await 'a command that hangs' test -s hanging
kill -INT $pid
sleep 0.7    # half a second, and they are one
kill -INT $pid
ends 'Ctrl-C twice'
wait $feeder
for p in $(cat hanging); do
    await "the end of command $p" is_dead "$p"
done

# 5. A video that is killed on its way leaves what was there.
echo '{"event":"' > other
dark 10 | $infer lit.h5 --stream - $raw --draw video.mp4 > out 2> err ||
    fail "--draw: $(cat err)"
cp video.mp4 before
$infer lit.h5 --stream - $raw --draw video.mp4 --events other < pipe > out \
    2> err & pid=$!
exec 9> pipe
dark 200 >&9
grows() { [ -s video.mp4.convtt0.tmp ]; }
await 'the video grows on the disk' grows
kill -KILL $pid
wait $pid 2> /dev/null
exec 9>&-
cmp video.mp4 before || fail "the video changed when the program was killed"
dark 10 | $infer lit.h5 --stream - $raw --draw video.mp4 > out 2> err ||
    fail "--draw: $(cat err)"
ls | grep -q '\.tmp$' && fail "left behind: $(ls)"
$infer lit.h5 --stream video.mp4 --json > out 2> err || fail "$(cat err)"
is 'drawn frames' "$(count decoded out)" 10

# Files that cannot be written end it with a line, and leave what was there.
cp video.mp4 before
(ulimit -f 1; dark 300 | $infer lit.h5 --stream - $raw --draw video.mp4 \
    > /dev/null 2> err)
is 'no room for a video' $? 1
is 'lines about it' "$(grep -c 'video.mp4' err)" 1
grep -q 'video.mp4: cannot write: File too large' err || fail "$(cat err)"
cmp video.mp4 before || fail 'a video without room replaced the old one'
ls | grep -q '\.tmp$' && fail "left behind: $(ls)"
if [ -w /dev/full ]; then
    dark 20 | $infer lit.h5 --stream - $raw --events /dev/full > out 2> err
    is 'no room for events' $? 1
    grep -q '/dev/full: cannot write: No space left' err || fail "$(cat err)"
    # The rest is done all the same: the video, and what was begun ends.
    rm -f video.mp4
    dark 20 | $infer lit.h5 --stream - $raw --events /dev/full --every 1 \
        --json --draw video.mp4 --exec 'echo "$CONVTT_EVENT" >> told' > out \
        2> err
    is 'no room for events beside a video' $? 1
    is 'lines about it' "$(grep -c . err)" 1
    is 'answers given twice' \
        "$(grep -o '"frame":[0-9]*' out | sort | uniq -d | wc -l)" 0
    is 'events of it' "$(grep -o '^{"event":"[a-z]*' out | tr -dc 'a-z\n' |
        tr '\n' ' ')" 'eventbegin eventend '
    is 'commands for them' "$(sort told | tr '\n' ' ')" 'begin end '
    grep -q '^{"total"' out || fail "no total: $(cat out)"
    $infer lit.h5 --stream video.mp4 --json > out 2> err ||
        fail "the video beside events without room: $(cat err)"
    [ "$(count decoded out)" -gt 0 ] || fail "no frames in that video"
fi

# 6. Commands: what they get, what is not run by the shell, and those that hang.
(dark 20; bright 30; gray 20) | $infer lit.h5 --stream - $raw --exec \
    'cat >> in; echo "$CONVTT_EVENT $CONVTT_CLASS $CONVTT_START" >> env
     ls -l /proc/$$/fd >> fds' --events all --draw drawn.mp4 > out 2> err ||
    fail "--exec: $(cat err)"
is 'commands that ran' "$(wc -l < env)" 4
grep -qx 'begin bright "one" $(touch harm) [0-9.]*' env || fail "$(cat env)"
is 'their input' "$(grep -c '^{"event":".*}$' in)" 4
[ -e harm ] && fail 'a class was run as a command'
grep -qE 'lit\.h5|/all|drawn|anon' fds && fail "files: $(cat fds)"
alternating() { for _ in $(seq "$1"); do dark 10; bright 10; done; }
alternating 8 | limited $infer lit.h5 --stream - $raw --least 0 --smooth 0 \
    --merge 0 --exec-limit 1000 --json \
    --exec 'echo $$ >> pids; exec sleep 1000' > out 2> err ||
    fail "commands that hang: status $?: $(cat err)"
is 'events beside them' "$(grep -c '^{"event"' out)" 32
is 'commands not run' "$(count exec_missed out)" 28
is 'commands ended' "$(count exec_failed out)" 4
dark 10 | limited $infer lit.h5 --stream - $raw --exec-limit 1 --json \
    --exec 'echo $$ >> pids; exec sleep 1000' > out 2> err ||
    fail "commands over their limit: status $?: $(cat err)"
is 'commands over their limit' "$(count exec_failed out)" 2
grep -q 'took more than 1 s' err || fail "$(cat err)"
for p in $(cat pids); do
    kill -0 "$p" 2> /dev/null && fail "command $p still runs"
done
if python3 -c '' 2> /dev/null; then
    # A server that gives raw frames to whoever asks; its address has a token.
    (dark 20) > served
    python3 - << 'END' > port & server=$!
import http.server, sys
class One(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = open("served", "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *a):
        pass
s = http.server.HTTPServer(("127.0.0.1", 0), One)
print(s.server_port, flush=True)
s.serve_forever()
END
    await 'a server' test -s port
    rm -f env
    $infer lit.h5 --stream "http://127.0.0.1:$(cat port)/x?token=secret" $raw \
        --json --every 1 --events asked --reconnects 0 \
        --exec 'env | grep ^CONVTT_ >> env; cat >> env' > out 2> err ||
        fail "from a server: $(cat err)"
    kill $server
    wait $server 2> /dev/null
    is 'events of a server' "$(wc -l < asked)" 2
    grep -q "^CONVTT_STREAM=http://127.0.0.1:$(cat port)/x\$" env ||
        fail "the name of a stream: $(grep CONVTT env)"
    grep 'secret' out err asked env && fail 'a token is told'
fi
dark 10 | $infer lit.h5 --stream - $raw --exec 'exit 3' --json > out 2> err ||
    fail "a command that fails: $(cat err)"
is 'commands that failed' "$(count exec_failed out)" 2
grep -q 'exec: a command ended with status 3$' err || fail "$(cat err)"
dark 10 | $infer lit.h5 --stream - $raw --exec ./nowhere > out 2> err ||
    fail "a command that is not there: $(cat err)"
grep -q 'exec: a command ended with status 127: ' err || fail "$(cat err)"

# 7. Options and sources that are wrong.
while IFS='|' read -r pattern options; do
    eval says 2 "'$pattern'" $infer $options
done << 'END'
one source, not 2|lit.h5 --stream a b
model and clips must be given|lit.h5 --stream
a stream needs a source|lit.h5 --stream ''
threshold.*stream|lit.h5 --threshold 0.5 clips
leave=0.7 is above|lit.h5 --stream - --threshold 0.5 --leave 0.7
no class .nobody.|lit.h5 --stream - --background nobody
exec-limit.*exec|lit.h5 --stream - --exec-limit 5
observe.*stream|lit.h5 --stream - --observe 0.5
predict.*stream|lit.h5 --stream - --predict 3
time.*stream|lit.h5 --stream - --time
behind.*sometimes|lit.h5 --stream - --behind sometimes
name ends in|lit.h5 --stream - --draw picture.gif
given for two files|lit.h5 --stream x.mp4 --draw x.mp4
given for two files|lit.h5 --stream x --events y.mp4 --draw y.mp4
no file of events|lit.h5 --stream - --events tiny.net
not WIDTHxHEIGHTxFORMAT@RATE|lit.h5 --stream - --raw 8x8
END
says 1 'nowhere' $infer lit.h5 --stream nowhere
[ -s out ] && fail "tables of nothing: $(cat out)"
$infer lit.h5 --stream tcp://me:secret@127.0.0.1:1 --reconnects 2 --json \
    > out 2> err
is 'reconnects that are spent' $? 1
is 'lines about them' "$(grep -c 'tcp://127.0.0.1:1' err)" 3
is 'tries that are counted' "$(count reconnects out)" 2
grep -q secret out err && fail 'a password is printed'
# Queries are often tokens, and --stream may be forgotten.
address='rtsp://me:secret@127.0.0.1:1/a?token=secret'
for o in "lit.h5 --reconnects 0 --stream" lit.h5 "lit.h5 --strict" \
         "lit.h5 --stream -" --bench "lit.h5 --bench" \
         "--bench lit.h5 --against" ""; do
    $infer $o "$address" $([ "$o" ] || echo clips) > out 2> err &&
        fail "$o: status 0"
    grep -q secret out err && fail "'$o' prints a password: $(cat out err)"
    grep -q 'rtsp://127.0.0.1:1/a' err || fail "'$o': $(cat err)"
done
says 1 'FIFO.*--stream reads it' $infer lit.h5 --strict pipe
says 1 '/dev/null.*--stream reads it' $infer lit.h5 --strict /dev/null
says 1 'rtsp://.*--stream reads it' $infer lit.h5 --strict rtsp://a/b
$infer lit.h5 - < "$clip" > out 2> err
is 'a video as paths' $? 2
grep -q -- '--stream - reads' err || fail "$(cat err)"

wait $again
is 'reconnects, of five' $? 1
is 'a line for each try' "$(grep -c '127.0.0.1:1' err_again)" 6
grep -q 'more like' err_again && fail "only counted: $(cat err_again)"

# 8. A source that is faster than the model: old frames are dropped, the counts
# add up, and what is answered is new.
"$bin/tests/lib/lit" slow.h5 10 || exit 99
gray 2000 | $infer slow.h5 --stream - $raw --behind drop --json > out 2> err ||
    fail "$(cat err)"
adds_up out
is 'frames of a fast source' "$(count decoded out)" 2000
[ "$(count dropped out)" -gt 0 ] || fail "nothing is dropped: $(tail -1 out)"
is 'every frame is a step' \
    $(($(count steps out) + $(count skipped out))) 2000
dark 300 | $infer slow.h5 --stream - $raw --behind wait --json > out 2> err
is 'with --behind wait' "$(count inferred out) $(count dropped out)" '300 0'

# 9. A long stream: all is counted, and memory does not grow.
turns=$((frames / 200))
for _ in $(seq 200); do bright 100; dark 100; done > turn
long() {
    for _ in $(seq $((turns / 200))); do cat turn; done
}
n=$((turns / 200 * 200 * 200))
long | $infer lit.h5 --stream - $raw --json --stats 0.1 --sliding 600 \
    --reset-after 5 --timeout "$patience" > out 2> err || fail "$(cat err)"
is 'frames of a day' "$(count decoded out)" $n
is inferred "$(count inferred out)" $n
adds_up out
is 'events of a day' "$(grep -c '^{"event"' out)" $((n / 50))
is 'resets of a day' "$(count slides out)" $(((n - 1) / 3000))
resident() { sed 's/.*"resident_mb":\([0-9]*\).*/\1/'; }
early=$(grep '^{"stats"' out | awk -F'"inferred":' -v n=$n \
    '{ split($2, a, ","); if (a[1] >= n / 10) { print; exit } }' | resident)
late=$(tail -1 out | resident)
if grep -qs __asan_init "$bin"/.libs/convtt-train "$bin"/convtt-train; then
    echo 'memory is not compared: sanitizers keep what is freed'
elif [ -n "$early" ] && [ "$late" -gt $((early + 3)) ]; then
    fail "memory grew from $early to $late MB"
elif [ -z "$early" ]; then
    echo 'memory is not compared: the stream was too short for a line'
fi
# 10. A part of MJPEG over HTTP that says to have 2 GB: what it takes is limited
# by the size of pictures.
if python3 -c 'import socket' 2> /dev/null; then
    cat > endless.py << 'END'
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(1)
print(s.getsockname()[1], flush=True)
c, _ = s.accept()
c.recv(4096)
c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;"
          b"boundary=x\r\n\r\n--x\r\nContent-Type: image/jpeg\r\n"
          b"Content-Length: 2000000000\r\n\r\n\xff\xd8\xff\xe0")
try:
    for _ in range(600):
        c.sendall(bytes(1 << 20))
except OSError:
    pass
END
    python3 endless.py > port & server=$!
    for _ in $(seq "$ticks"); do [ -s port ] || sleep 0.05; done
    $infer lit.h5 --stream "http://127.0.0.1:$(cat port)/" --reconnects 0 \
        --timeout 3 --frame-pixels 65536 --json > out 2> err
    is 'an endless part: status' $? 1
    kill $server 2> /dev/null
    wait $server 2> /dev/null
    mb=$(tail -1 out | resident)
    if ! grep -qs __asan_init "$bin"/.libs/convtt-train "$bin"/convtt-train
    then
        [ "${mb:-999}" -lt 250 ] || fail "an endless part takes $mb MB"
    fi
fi
exit $failed
