#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_bench_cli.sh: convtt-infer --bench: what it prints, of which models, and
# what it refuses.  No speed is asserted: only that the numbers fit together.
set -u
tools='convtt-data convtt-infer convtt-train'
root=$(cd "${srcdir:-.}" && pwd)
models=$root/models
. "$root/tests/lib/cli.sh"
export TMPDIR=$dir
few='--runs 6 --warm-up 1 --threads 2'
# shellcheck disable=SC2086
bench() { "$bin/convtt-infer" --bench $few "$@"; }

# field NAME: sets value to the number after it in the JSON object, of the first
# such name.
field() {
    local text
    read -r text < out
    [[ $text =~ \"$1\":(-?[0-9.e+-]+) ]] && value=${BASH_REMATCH[1]} ||
        value=none
}
# holds CONDITION: of numbers and fields, written as {NAME}; several conditions,
# one a line, are looked at at once.
holds() {
    local all=$1 line program='BEGIN {' name
    while [[ $all =~ \{([a-z0-9_]+)\} ]]; do
        name=${BASH_REMATCH[1]}
        field "$name"
        all=${all//"{$name}"/($value)}
    done
    while read -r line; do
        program+="if (!($line)) { print \"not $line\"; bad = 1 } "
    done <<< "$all"
    awk "$program exit bad }" > text 2>&1 || fail "$what: $(cat text)"
}
has() {     # has TEXT...: the output has each of them
    local text
    text=$(< out)
    for f in "$@"; do
        [[ $text == *"$f"* ]] || fail "$what: no $f in $text"
    done
}

# json MODEL UNIT NODE OPTION...: one object with all fields, whose numbers fit
# together: one stream with one and two threads, then two streams; the shares of
# the nodes are those of a whole, but for their digits.
json() {
    what=$1
    says 0 '^\{.*\}$' bench "$1" --json "${@:4}"
    cat out >> objects
    has '"threads":2' '"threads_used":' '"streams":1' '"runs":6' \
        '"warm_up":1' '"device":"cpu"' \
        '"type":"fp32"' "\"unit\":\"$2\"" \
        "{\"name\":\"$3\",\"word\":\"conv\"," '"kernel":"' \
        '"scaling":[{"streams":1,"threads":1,"median_ms":' \
        ',{"streams":1,"threads":2,"median_ms":' \
        ',{"streams":2,"threads":1,"median_ms":' '"batch":false}' \
        ',{"streams":2,"threads":2,"median_ms":' '"batch":true}]'
    holds "0 < {median_ms} && 0 < {cpu_ms} && {cpu_ms} < {mean_ms} + 0.1
        {median_ms} <= {p90_ms}
        {p90_ms} <= {p99_ms}
        {p99_ms} <= {max_ms}
        0 < {mean_ms} && {mean_ms} <= {max_ms}
        {frames_per_s} * {mean_ms} > 990 && {frames_per_s} * {mean_ms} < 1010
        0 < {rss_mb} && {rss_mb} <= {peak_mb} + 1
        0 < {open_ms} && 0 < {first_ms} && 0 < {file_bytes}"
    awk -F '"share":' '{ for (i = 2; i <= NF; i++) sum += $i + 0 }
        END { exit !(NR == 1 && sum > 0.98 && sum < 1.02) }' out ||
        fail "$what: the shares of $(cat out)"
}

# 1. A model that answers after each frame, one of a single picture, one that
# computes its answer when it is asked, and one that predicts.
json "$models/early-convlstm.net" frame y
json "$models/lenet-300-100.net" frame h1
json "$models/early-cnn3d.net" answer c1
has '"name":"c1","word":"conv","when":"clip"'
json "$models/mnist-small.net" prediction e
has '"weights":"random","zeros":0.0000'
[ -z "$(find . -name '*convtt*')" ] || fail "left behind: $(ls)"

# 2. Pruned weights: the file becomes smaller, the share is as asked.
json "$models/lenet-5.net" frame c1
field file_bytes
full=$value
json "$models/lenet-5.net" frame c1 --zeros 0.9
holds "{zeros} > 0.89 && {zeros} < 0.91 && {file_bytes} < $full / 2"
for form in block row; do
    json "$models/lenet-5.net" frame c1 --zeros 0.9 --zeros-form "$form"
    holds '{zeros} > 0.85 && {zeros} < 0.95'
done
json "$models/lenet-5.net" frame c1 --zeros 1
holds '{zeros} == 1'
says 0 'random weights, 90\.[0-9]% of them pruned' bench \
    "$models/lenet-300-100.net" --zeros 0.9

# 3. The text has the same parts.
says 0 'device cpu, fp32, 2 threads; timed: a frame and its answer$' \
    bench "$models/lenet-300-100.net" --sessions 3
for line in '^ms +count +mean +p50 +p90 +p99 +max$' '^open +1 ' '^first +1 ' \
    '^frame +6 ' '; [0-9.]+ KB of values a session$' \
    '^memory: [0-9.]+ MB resident, [0-9.]+ MB at its peak; ' \
    '^streams +threads +p50 ms +frames/s +as *$' '^3 +1 each .* sessions' \
    '^3 +2 .* batch *$' \
    '^node +word +when +kernel +% of time$' '^h1 +conv +free +[a-z]'; do
    grep -qE "$line" out || fail "no '$line' in $(cat out)"
done
[ "$(grep -cE '^[123] +[12] ' out)" = 4 ] || fail "rows: $(cat out)"
says 0 'a frame and its answer, computed only when asked$' bench \
    "$models/early-cnn3d.net"
says 0 'a step of the stream: a frame predicts the next$' bench \
    "$models/mnist-small.net"
says 0 'device ref, fp32, 1 thread;' bench "$models/lenet-300-100.net" \
    --device ref --threads 1
[ "$(grep -cE '^1 +1 ' out)" = 1 ] || fail "rows: $(cat out)"

# With products of 16 bits, by the kernels for them where the processor has
# those; the other model of --against stays in floats.
says 0 'device cpu, bf16, 2 threads; timed: a frame and its answer$' \
    bench "$models/early-convlstm.net" --type bf16 \
    --against "$models/early-convlstm.net"
if grep -qw avx512_bf16 /proc/cpuinfo; then
    grep -qE '^c2 +conv +free +bf16:(amx|avx512)' out ||
        fail "no bf16: $(cat out)"
    grep -q 'multiply floats' err && fail "a warning: $(cat err)"
fi
says 0 'warning: .* no kernels for bf16 .* so convs multiply floats' bench \
    "$models/lenet-300-100.net" --type bf16 --device ref
[ "$(grep -c 'multiply floats' err)" = 1 ] || fail "told twice: $(cat err)"
says 0 '"type":"bf16"' bench "$models/lenet-300-100.net" --type bf16 --json
says 0 'device cpu, fp16, 1 thread; timed' bench \
    "$models/early-convlstm.net" --type fp16 --threads 1
if grep -qw avx512_fp16 /proc/cpuinfo; then
    grep -qE '^c2 +conv +free +fp16:avx512' out || fail "no fp16: $(cat out)"
else
    grep -q '(AVX512-FP16), so convs multiply floats' err || fail "$(cat err)"
fi
says 2 "no choice 'bf17'" bench "$models/lenet-300-100.net" --type bf17

# 4. A model against itself, about the same whatever the machine does; and two
# of which one has ten thousand times the work.  One thread does not wait for
# another one.
against() {     # against MODEL OTHER
    what="$1 against $2"
    says 0 '"against":\{"model":"' bench "$1" --against "$2" --threads 1 \
        --runs 31 --json
    cat out >> objects
    holds '0 < {ratio_q1} && {ratio_q1} <= {ratio}
        {ratio} <= {ratio_q3} && {pairs} == 31'
    has '"steady":'
}
cat > least.net << 'END'
input x h=2 w=2 c=1 colour=gray
conv y in=x out=2 kernel=2
END
against "$models/early-convlstm.net" "$models/early-convlstm.net"
holds '0.05 < {ratio} && {ratio} < 20'
against "$models/mnist-small.net" least.net
holds '{ratio} > 1'
against least.net "$models/mnist-small.net"
holds '{ratio} < 1'
# A busy machine has a sentence in the place of the ratio.
says 0 '^against least.net, in turns: ([0-9.]+ times|no ratio) .* of 6 pairs' \
    bench least.net --against least.net

# Streams in real time: how many depends on the machine, maybe none.
says 0 '^as +streams +a core$' bench "$models/lenet-5.net" --fit 1000 --runs 2
for line in '^streams of 1000 frames per second that fit on 2 cores:$' \
    '^batch +[0-9]+ +[0-9.]+$' '^sessions +[0-9]+ +' '^processes +[0-9]+ +'; do
    grep -qE "$line" out || fail "no '$line' in $(cat out)"
done
# A terminal shows how far it is.
cat > terminal.py << 'END'
import os, pty, subprocess, sys
ours, its = pty.openpty()
p = subprocess.Popen(sys.argv[1:], stderr=its, stdout=subprocess.DEVNULL)
os.close(its)
try:
    while got := os.read(ours, 4096):
        sys.stdout.buffer.write(got)
except OSError:
    pass
sys.exit(p.wait())
END
if python3 -c 'import pty; (x := 1)' 2> /dev/null; then
    python3 terminal.py "$bin/convtt-infer" --bench "$models/lenet-5.net" \
        --runs 2 --warm-up 1 --threads 1 --fit 1000 > out 2> err ||
        fail "$(cat out err)"
    grep -qE -- '--fit: (batch|sessions|processes): [0-9]+ streams, [0-9]+%' \
        out || fail "no progress of --fit: $(cat out)"
fi
json "$models/mnist-small.net" prediction e --fit 60
has '"fit":{"frames_per_s":60,"cores":2,"batch":'
holds '{batch} >= 0 && {sessions} >= 0 && {processes} >= 0
    {session_bytes} > 64 * 64 * 4'

# 5. What does not belong together, in one line.
infer="$bin/convtt-infer"
for o in '--runs 5' '--warm-up 5' '--sessions 2' '--fit 5' '--zeros 0.5' \
    '--against least.net'; do
    # shellcheck disable=SC2086
    says 2 "^convtt-infer: ${o% *} requires --bench$" "$infer" least.net a $o
done
for o in '--observe 0.5' '--every 2' '--top 2' '--predict 2' '--split a' \
    '--classes a' --strict --time; do
    # shellcheck disable=SC2086
    says 2 "^convtt-infer: ${o% *} excludes --bench$" bench least.net $o
done
says 2 '--zeros-form requires --zeros' bench least.net --zeros-form row
says 2 '--fit requires --device=cpu' bench least.net --fit 5 --device ref
says 2 "fit.*-1" bench least.net --fit -1
says 2 '--strip requires --predict' bench least.net --strip a.png
says 2 'measures one model .*not clips: b.net' bench least.net b.net
says 2 'no model given' bench
says 2 'a model and clips must be given' "$infer" least.net
says 2 '--zeros prunes random weights, but a.h5 is no model text' bench a.h5 \
    --zeros 0.5
says 2 "zeros.*1.5" bench least.net --zeros 1.5
says 2 "device.*gpu" bench least.net --device gpu

# 6. What is no model.
head -c 3000 /dev/zero > damaged.h5
echo 'conv y in=x out=2' > damaged.net
printf 'input x h=4 w=4 c=1\ninput z h=4 w=4 c=1\nadd s in=x,z\n' > two.net
says 1 '^convtt-infer: nothere.h5: ' bench nothere.h5
says 1 '^convtt-infer: nothere.net: ' bench nothere.net
says 1 '^convtt-infer: damaged.h5: ' bench damaged.h5
says 1 '^convtt-infer: damaged.net: ' bench damaged.net
says 1 '^convtt-infer: two.net: has 2 inputs' bench two.net
says 1 '^convtt-infer: damaged.h5: ' bench least.net --against damaged.h5
{ echo 'input x h=4 w=4 c=1 mean=0 std=1e-06'
  for to in b,a c,b d,c e,d; do
      echo "mul ${to%,*} in=${to#*,},${to#*,}"
  done | sed 's/a,a/x,x/'
  printf 'pool p in=e kind=avg\nconv y in=p out=2\n'
} > huge.net
says 1 '^convtt-infer: huge.net: .* not finite' bench huge.net
says 1 '^convtt-infer: huge.net: .* not finite' bench least.net \
    --against huge.net
says 1 '^convtt-infer: .*/no/folder/convtt-bench.*: ' \
    env TMPDIR="$dir/no/folder" "$infer" --bench least.net
[ -z "$(find . -name '*convtt*')" ] || fail "left behind: $(ls)"

[ $failed = 0 ] || exit 1

# 7. A model file; a damaged one.
make_net
make_clips
"$bin/convtt-train" tiny.net -o m.h5 --data clips --batch 4 --threads 1 \
    --max-steps 1 > out 2>&1 || { cat out; exit 1; }
json m.h5 frame e
holds "{file_bytes} == $(wc -c < m.h5)"
has '"weights":"file","file_bytes":'
against m.h5 tiny.net
says 0 '^m.h5: a model file; [0-9]+ bytes$' bench m.h5
says 2 '--zeros prunes random weights, but m.h5' bench m.h5 --zeros 0.5
says 2 'excludes --bench' "$infer" m.h5 clips --bench --time
head -c 2000 m.h5 > half.h5
says 1 '^convtt-infer: half.h5: ' bench half.h5
if type python3 > text 2>&1; then
    python3 -c 'import json, sys; [json.loads(s) for s in sys.stdin]' \
        < objects > text 2>&1 || fail "no JSON: $(tail -1 text)"
else
    echo 'not looked at: the form of JSON (no python3)'
fi

[ $failed = 0 ] && echo "what is measured fits together"
exit $failed
