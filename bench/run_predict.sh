#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_predict.sh: bench_predict and, if a Python with PyTorch is named,
# peers/predict.py, by turns in one run, and a table of both.  From the build
# folder, on a machine that does nothing else:
#     run_predict.sh [PYTHON]
# About 11 minutes with PyTorch, 4 without.  QUICK=1: small frames, to see that
# it works.
set -u -o pipefail
src=$(cd "$(dirname "$0")/.." && pwd)
ours=${BENCH_PREDICT:-./bench/bench_predict}
[ -x "$ours" ] || { echo "no $ours: make bench/bench_predict"; exit 1; }
python=${1:-}
[ -z "$python" ] || "$python" -c 'import torch' ||
    { echo "$python: no PyTorch"; exit 1; }
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT
failed=0 missing=()

convtt() {
    "$ours" --models "$src/models" --rows "$@" | tee -a "$lines" || failed=1
}

# torch MODEL "VARIANT..." OPTION...: one a process, so its memory is its own.
# Compiled models need some training steps before recompilation ends.
torch() {
    local model=$1 variants=$2 v repeat before
    shift 2
    for v in $variants; do
        [ -n "$python" ] || continue
        case $v in compile*) repeat=3 ;; *) repeat=1 ;; esac
        before=$(grep -c '^torch ' "$lines")
        "$python" "$src/bench/peers/predict.py" "$model" --threads 2 \
            --variants "$v" --repeat $repeat --seconds 2 "$@" |
            tee -a "$lines"
        [ "$(grep -c '^torch ' "$lines")" -gt "$before" ] ||
            missing+=("$model $v $*")
    done
}

small= large='--size 128 --channels 3' few=
[ -z "${QUICK:-}" ] || {
    small='--size 16' large="--size 16 --channels 3"
    few='--input 2 --future 2 --batch 1'
}
# shellcheck disable=SC2086
{
    convtt infer $small
    torch convttlstm "plain+last trace+last plain+joint+last trace+joint+last
        compile+joint+last" $small
    torch convttlstm "trace+joint+last compile+joint+last" $large
    torch convlstm "plain+last trace+last compile+last" $small
    convtt infer,see,gain-infer $small
    convtt train $small $few
    torch convttlstm "plain+last plain+joint+last compile+joint+last" --train \
        $small $few
    torch convlstm "plain+last compile+last" --train $small $few
    convtt gain-train --repeat 1 $small $few
}

echo
awk '
$1 == "torch" {
    key = $2 " " $3 " " $4
    if (!(key in torch) || $6 < torch[key]) {
        torch[key] = $6; how[key] = $5; memory[key] = $8
    }
}
$1 == "convtt" {
    name = $5
    if (!(name in best)) order[++rows] = name
    if (!(name in best) || $6 < best[name]) {
        best[name] = $6; mb[name] = $8; share[name] = $12
        kind = $2    # "see" has no peer, which sees a frame at a time
        sub(/-fed$/, "", kind)
        peer[name] = kind " " $3 " " $4; size[name] = $4
    }
}
END {
    print "| row | input | PyTorch, best | | convtt | | of sgemm | times |"
    print "|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
        n = order[i]; p = peer[n]
        there = p in torch && n !~ /^gain/
        printf "| %s | %s | %s | %s | %s ms | %s MB | %s | %s |\n", n, size[n],
            there ? torch[p] " ms (" how[p] ")" : "",
            there ? memory[p] " MB" : "", best[n], mb[n], share[n],
            there ? sprintf("%.2f", torch[p] / best[n]) : ""
    }
}' "$lines"
for v in ${missing[@]+"${missing[@]}"}; do
    echo "no result of PyTorch: $v"
done
[ $failed = 0 ] || echo "bench_predict failed: rows are missing"
exit $failed
