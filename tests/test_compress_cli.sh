#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compress_cli.sh: convtt-compress as a person calls it: with and without
# clips, its report, a stop by a signal, and what it says to bad input.
set -u
bin=$PWD
for t in convtt-data convtt-train convtt-compress convtt-infer; do
    [ -x "$bin/$t" ] || { echo "no $bin/$t"; exit 99; }
done
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0
fail() { echo "FAILED: $*"; failed=1; }
compress=$bin/convtt-compress

# says STATUS PATTERN ARGUMENT...: that status, a line that matches, and one
# line only if it is an error.
says() {
    local want=$1 pattern=$2
    shift 2
    "$compress" "$@" > out 2> err < /dev/null
    local got=$?
    [ $got = "$want" ] || fail "$*: status $got, not $want: $(head -3 err)"
    grep -qE -- "$pattern" err out ||
        fail "$*: does not say '$pattern': $(cat err)"
    if [ "$want" != 0 ] && [ "$(wc -l < err)" -gt 1 ]; then
        fail "$*: more than one line: $(cat err)"
    fi
}
size() { wc -c < "$1"; }

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=32 kernel=3 stride=2 pad=1
act f in=e kind=relu
convlstm h in=f hidden=16 kernel=3
pool p in=h kind=avg
conv y in=p out=12
END
"$bin/convtt-data" synth clips --clips 60 --size 24 --seed 2 > out 2> err || {
    # An FFmpeg without the encoder cannot make clips.
    grep -q 'no encoder' err && { cat err; exit 77; }
    cat err
    exit 1
}
common='--data clips --batch 8 --threads 1'
"$bin/convtt-train" tiny.net -o m.ctt $common --epochs 1 > out 2>&1 ||
    { cat out; exit 1; }

# 1. Without clips; what is asked is what the file has.
says 0 'n.ctt written: [0-9.]+ times smaller than m.ctt' m.ctt -o n.ctt \
    --prune 0.9 --prune-least 0 --threads 1
grep -qE '^pruned 2/2 .* 90\.[01] ' out || fail "not 90% pruned: $(cat out)"
[ "$(size n.ctt)" -lt $(($(size m.ctt) / 4)) ] || fail "n.ctt is large"
says 0 'in\|kh\|kw\|out +4,4,4' m.ctt -o t.ctt --tt-rank 4 --tt-least 0 \
    --tt-except 'e,y' --threads 1
grep -qE '^e .* excepted' out || fail "e is not excepted: $(cat out)"
says 0 'in\|kh kw\|out' m.ctt -o w.ctt --tt-tol 0.6 --tt-form window \
    --tt-least 0 --threads 1

# 2. Both, with retraining and a report.
says 0 'c.ctt written' m.ctt -o c.ctt $common --prune 0.8 --tt-rank 4 \
    --tt-least 2000 --prune-least 9 --prune-rounds 2 --retrain-epochs 4 \
    --report c.json
for stage in 'as given' 'tensor trains' 'pruned 1/2' 'pruned 2/2' 'rounded'; do
    grep -qE "^$stage  .*[0-9]/[0-9]+\.[0-9]/[0-9]" out ||
        fail "no accuracy of '$stage': $(cat out)"
    grep -q "\"stage\": \"$stage\"" c.json || fail "'$stage' is not in c.json"
done
[ "$(grep -cE ': epoch [0-9]+/' out)" = 4 ] || fail "not 4 epochs: $(cat out)"
grep -q "\"bytes\": $(size c.ctt)," c.json || fail "c.json has other bytes"
"$bin/convtt-infer" c.ctt clips > out 2>&1 || fail "infer: $(cat out)"
ls ./*.part 2> /dev/null && fail "files are left"

# 3. Stopped by a signal: nothing is written.
"$compress" m.ctt -o s.ctt $common --prune 0.8 --retrain-epochs 5000 \
    > out 2> err < /dev/null & pid=$!
for i in $(seq 400); do    # until it retrains
    grep -q ': epoch' out && break
    sleep 0.02
done
kill -TERM $pid
wait $pid && fail "a stopped run says it is done"
grep -q 'stopped; nothing is written' err || fail "stopped: $(cat err)"
ls s.ctt* 2> /dev/null && fail "a stopped run leaves a file"

# 4. Bad input: one line, the right status.
says 2 'no model given' -o a --prune 0.5
says 2 'one model, not' m.ctt m.ctt -o a --prune 0.5
says 2 'out.* must be given' m.ctt --prune 0.5
says 2 'nothing to do' m.ctt -o a
says 2 'unknown option .--prone' m.ctt -o a --prone 0.5
says 2 "prune: bad value '1'" m.ctt -o a --prune 1
says 2 'tt-rank: bad value' m.ctt -o a --tt-rank -1
says 2 'prune-scope: no choice' m.ctt -o a --prune-scope all
says 2 'needs --data' m.ctt -o a --prune 0.5 --retrain-epochs 3
says 1 'nothere' nothere -o a --prune 0.5
says 1 'tiny.net' tiny.net -o a --prune 0.5
says 1 'nothere' m.ctt -o a --prune 0.5 --data nothere
says 1 "no weight matches 'z" m.ctt -o a --prune 0.5 --prune-except 'z*'
says 1 '/nowhere/a' m.ctt -o /nowhere/a --prune 0.5
says 0 '^Usage: ' --help
says 0 '^convtt [0-9]' --version
[ $failed = 0 ] && echo "the compressor does as it is told"
exit $failed
