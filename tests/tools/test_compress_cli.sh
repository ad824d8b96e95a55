#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_compress_cli.sh: convtt-compress as a person calls it: with and without
# clips, its report, a stop by a signal, and what it says to bad input.
set -u
tools="convtt-data convtt-train convtt-compress convtt-infer"
. "${srcdir:-.}/tests/lib/cli.sh"
compress=$bin/convtt-compress
tells() { says "$1" "$2" "$compress" "${@:3}"; }
size() { wc -c < "$1"; }

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=32 kernel=3 stride=2 pad=1
act f in=e kind=relu
convlstm h in=f hidden=16 kernel=3
pool p in=h kind=avg
conv y in=p out=12
END
make_clips
common='--data clips --batch 8 --threads 1'
"$bin/convtt-train" tiny.net -o m.ctt $common --epochs 1 > out 2>&1 ||
    { cat out; exit 1; }

# 1. Without clips; what is asked is what the file has.
tells 0 'n.ctt written: [0-9.]+ times smaller than m.ctt' m.ctt -o n.ctt \
    --prune 0.9 --prune-least 0 --threads 1
grep -qE '^pruned 2/2 .* 90\.[01] ' out || fail "not 90% pruned: $(cat out)"
[ "$(size n.ctt)" -lt $(($(size m.ctt) / 4)) ] || fail "n.ctt is large"
tells 0 'in\|kh\|kw\|out +4,4,4' m.ctt -o t.ctt --tt-rank 4 --tt-least 0 \
    --tt-except 'e,y' --threads 1
grep -qE '^e .* excepted' out || fail "e is not excepted: $(cat out)"
tells 0 'in\|kh kw\|out' m.ctt -o w.ctt --tt-tol 0.6 --tt-form window \
    --tt-least 0 --threads 1

# 2. Both, with retraining and a report.
tells 0 'c.ctt written' m.ctt -o c.ctt $common --prune 0.8 --tt-rank 4 \
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
ls ./*.tmp 2> /dev/null && fail "files are left"

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
tells 2 'no model given' -o a --prune 0.5
tells 2 'one model expected' m.ctt m.ctt -o a --prune 0.5
tells 2 'out.* must be given' m.ctt --prune 0.5
tells 2 'nothing to do' m.ctt -o a
tells 2 'unknown option .--prone' m.ctt -o a --prone 0.5
tells 2 "prune: bad value '1'" m.ctt -o a --prune 1
tells 2 'tt-rank: bad value' m.ctt -o a --tt-rank -1
tells 2 'prune-scope: no choice' m.ctt -o a --prune-scope all
tells 2 'requires --data' m.ctt -o a --prune 0.5 --retrain-epochs 3
tells 1 'nothere' nothere -o a --prune 0.5
tells 1 'tiny.net' tiny.net -o a --prune 0.5
tells 1 'nothere' m.ctt -o a --prune 0.5 --data nothere
tells 1 "no weight matches 'z" m.ctt -o a --prune 0.5 --prune-except 'z*'
tells 1 '/nowhere/a' m.ctt -o /nowhere/a --prune 0.5
tells 0 '^Usage: ' --help
tells 0 '^convtt [0-9]' --version
[ $failed = 0 ] && echo "the compressor does as it is told"
exit $failed
