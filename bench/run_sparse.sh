#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_sparse.sh: how many times faster models are than dense in floats, by type,
# form of pruning and share of zeros, as a table, and as a picture if a file is
# named.  From the build folder, on a machine that does nothing else:
#     run_sparse.sh [-o FILE.svg] MODEL.net...
#     run_sparse.sh -t TABLE [-o FILE.svg]     draws a table of before
# Each figure is convtt-infer --bench --against: both in turns in one process.
# THREADS=1, RUNS=60 (frames), SHARES and KINDS (TYPE-FORM) change what is
# measured.
set -u -o pipefail
infer=${INFER:-./convtt-infer}
shares=${SHARES:-0 0.5 0.7 0.8 0.9 0.95 0.98}
kinds=${KINDS:-fp32-any fp32-row int8-any int8-block}
svg= table=
while getopts o:t: opt; do
    case $opt in
    o) svg=$OPTARG ;;
    t) table=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
lines=$(mktemp) || exit 1
trap 'rm -f "$lines"' EXIT

# A figure: the ratio of the medians, of the dense model in floats and this one.
faster() {   # MODEL KIND SHARE
    local zeros=()
    [ "$3" = 0 ] || zeros=(--zeros "$3" --zeros-form "${2#*-}")
    "$infer" --bench "$1" --against "$1" --type "${2%-*}" "${zeros[@]}" \
        --threads "${THREADS:-1}" --runs "${RUNS:-60}" --warm-up 3 --json |
        sed -n 's/.*"against":{[^}]*"ratio":\([0-9.]*\).*/\1/p' |
        awk '{ printf "%.2f", 1 / $1 }'
}

measure() {
    local m k s row
    for m in "$@"; do
        for k in $kinds; do
            row="| $(basename "$m" .net) | ${k%-*} ${k#*-} |"
            for s in $shares; do
                row+=" $(faster "$m" "$k" "$s") |" || return 1
            done
            echo "$row"
        done
    done
}

heads() {
    local s line='| model | type, form |' rule='|---|---|'
    for s in $shares; do
        line+=" $(awk "BEGIN { print 100 * $s }")% |"
        rule+='---|'
    done
    printf '%s\n%s\n' "$line" "$rule"
}

# A panel a model; both axes are logarithms: of the multiplications that are
# left, and of the speed.
draw() {
    awk -F ' *[|] *' '
    function x(k) { return log(100 / (100 - share[k])) / log(50) * 200 }
    function y(v) { return 180 - log(v < 0.5 ? 1 : 2 * v) / log(32) * 180 }
    function text(at, down, how, what) {
        printf "<text x=\"%.0f\" y=\"%.0f\"%s>%s</text>\n", at, down, how, what
    }
    function line(from, up, to, down, how) {
        printf "<path d=\"M%.0f %.1fL%.0f %.1f\" %s/>\n", from, up, to, down,
            how
    }
    function axes(k, v) {
        for (v = 0.5; v <= 16; v *= 2) {
            line(0, y(v), 200, y(v), v == 1 ? "stroke=\"#555\"" : \
                 "stroke=\"#ddd\"")
            text(-4, y(v) + 3, " text-anchor=\"end\"", v)
        }
        for (k = 1; k <= n; k++)
            if (share[k] != 70)
                text(x(k), 194, " text-anchor=\"middle\"", share[k] "%")
        line(0, y(1), log(16) / log(50) * 200, y(16), \
             "stroke=\"#999\" stroke-dasharray=\"3 3\"")
    }
    BEGIN { split("#0072b2 #d55e00 #008a64 #b85c93", colour, " ")
            split("none|7 3|2 3|9 3 2 3", dash, "|") }
    function look(k) {
        return "fill=\"none\" stroke-width=\"2\" stroke=\"" colour[k] \
            "\" stroke-dasharray=\"" dash[k] "\""
    }
    $2 == "model" { for (i = 4; i < NF; i++) share[++n] = $i + 0 }
    $3 !~ /^(fp32|int8) / { next }
    !($2 in seen) { seen[$2] = models++; name[models] = $2 }
    !($3 in kind) { kind[$3] = ++kinds; word[kinds] = $3 }
    {
        d = ""
        for (i = 1; i <= n; i++)
            d = d (i > 1 ? "L" : "M") sprintf("%.0f %.1f", x(i), y($(3 + i)))
        path[$2, kind[$3]] = d
    }
    END {
        high = int((models + 2) / 3) * 240
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 780 " \
            "%d\" font-family=\"sans-serif\" font-size=\"10\">\n" \
            "<rect width=\"780\" height=\"%d\" fill=\"#fff\"/>\n", \
            high + 30, high + 30
        for (k = 1; k <= kinds; k++) {
            line(40 + 110 * (k - 1), 14, 65 + 110 * (k - 1), 14, look(k))
            text(70 + 110 * (k - 1), 18, " font-size=\"12\"", word[k])
        }
        text(480, 18, " fill=\"#555\"", "times faster than dense fp32, by " \
             "share of zeros; gray: 1/(1-share)")
        for (m = 1; m <= models; m++) {
            printf "<g transform=\"translate(%d %d)\">\n", \
                (m - 1) % 3 * 250 + 40, int((m - 1) / 3) * 240 + 50
            text(100, -6, " text-anchor=\"middle\" font-size=\"12\"", name[m])
            axes()
            for (k = 1; k <= kinds; k++)
                printf "<path d=\"%s\" %s/>\n", path[name[m], k], look(k)
            print "</g>"
        }
        print "</svg>"
    }' "$1"
}

if [ -z "$table" ]; then
    [ $# -gt 0 ] || { echo "run_sparse.sh: no models" >&2; exit 2; }
    { heads; measure "$@"; } | tee "$lines" || exit 1
    table=$lines
fi
[ -z "$svg" ] || draw "$table" > "$svg"
