#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_ladder.sh: bench_gpu and, if a Python with PyTorch is named,
# peers/ladder.py, by turns on one GPU that does nothing else, and a table of
# both.  From the build folder:
#     run_ladder.sh [PYTHON]
# LIMIT=seconds: about how long it may take (480).  ROWS=NAME,...: only these of
# bench_gpu, and no PyTorch.  OPTIONS: more options for bench_gpu.  ERRORS: a
# file for what PyTorch says besides.
set -u -o pipefail
src=$(cd "$(dirname "$0")/.." && pwd)
ours=${BENCH_GPU:-./bench/bench_gpu}
[ -x "$ours" ] || { echo "no $ours: make bench/bench_gpu"; exit 1; }
python=${1:-}
limit=${LIMIT:-480}
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
failed=0

left() { echo $((limit - SECONDS)); }

# convtt SHARE ROWS: at most this share, in percent, of the time that is left.
convtt() {
    # shellcheck disable=SC2086
    "$ours" --models "$src/models" --limit $(($(left) * $1 / 100)) \
        --rows "$2" ${OPTIONS:-} | tee -a "$lines" || failed=1
}

torch() {
    local share=$1
    shift
    [ -n "$python" ] || return 0
    timeout $(($(left) * share / 100 + 60)) "$python" -u \
        "$src/bench/peers/ladder.py" convttlstm \
        --limit $(($(left) * share / 100)) "$@" 2>> "${ERRORS:-/dev/stderr}" |
        tee -a "$lines" || echo "torch failed $*" | tee -a "$lines"
}

all() {
    convtt 40 ladder-64
    torch 50 --largest \
        --variants fp16+joint,fp16+joint+compile+graph,tf32+joint,fp32+joint
    convtt 60 ladder-128
    torch 60 --size 128 --channels 3 --batch 8 --largest \
        --variants fp16+joint,tf32+joint
    convtt 50 true,streams,whole,early,bf16,O2,fp32,lstm
    torch 80 --variants fp16+joint+graph,bf16+joint+compile,fp16,fp32
    torch 80 --size 128 --channels 3 --batch 8 --variants fp16+joint+compile
}

if [ -n "${ROWS:-}" ]; then
    convtt 100 "$ROWS"
else
    all
fi

echo
awk '
$1 == "convtt" && $2 == "peak" { peak = $0; sub(/^convtt /, "", peak) }
($1 == "convtt" || $1 == "torch") && $2 == "train" {
    for (i = 5; i < NF; i++) {
        if ($(i + 1) == "ms" && $(i - 1) != "floor") ms = $i
        if ($i == "batch") batch = $(i + 1)
        if ($(i + 1) == "clips/s") rate = $i
        if ($(i + 1) == "of") share = $i
    }
}
$1 == "convtt" && $2 == "train" {
    n = $5; order[++rows] = n; size[n] = $4; model[n] = $3
    time[n] = ms; b[n] = batch; r[n] = rate; s[n] = share
    first = n; sub(/-[0-9]-[a-z0-9]*$/, "", first); family[n] = first
    if (!(first in base)) base[first] = rate
}
$1 == "torch" && $2 == "train" {
    key = $3 " " $4
    if (rate > most[key]) { most[key] = rate; how[key] = $5 " x" batch }
    if (rate > best[key, batch]) best[key, batch] = rate
    t[++rest] = sprintf("| %s | %s | %s | %s ms | %s |", $5, $4, batch, ms,
                        rate)
}
END {
    if (peak) print peak "\n"
    print "| row | input | batch | a step | clips/s | of peak | since the " \
          "one before | since the first | PyTorch, same batch | PyTorch, best |"
    print "|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
        n = order[i]; key = model[n] " " size[n]; step = ""; all = ""
        if (n ~ /^ladder/ && family[n] == last)
            step = sprintf("%.2f", r[n] / before)
        if (n ~ /^ladder/) all = sprintf("%.2f", r[n] / base[family[n]])
        last = family[n]; before = r[n]
        same = top = ""
        if ((key, b[n]) in best)
            same = sprintf("%.2f times", r[n] / best[key, b[n]])
        if (key in most)
            top = sprintf("%.2f times (%s)", r[n] / most[key], how[key])
        printf "| %s | %s | %s | %s ms | %s | %s | %s | %s | %s | %s |\n", n,
            size[n], b[n], time[n], r[n], s[n], step, all, same, top
    }
    if (rest) print "\n| PyTorch | input | batch | a step | clips/s |\n" \
                    "|---|---|---|---|---|"
    for (i = 1; i <= rest; i++) print t[i]
}' "$lines"
grep -E '^(convtt|torch) (late|failed)' "$lines"
exit $failed
