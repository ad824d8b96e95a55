#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lenet.sh MNISTDIR: trains LeNet-300-100 and LeNet-5 from scratch, compresses
# them and prints what was reached beside the bars.  MNISTDIR has the four idx
# files of MNIST.  Settings and epochs were chosen on the 5,000 validation
# pictures; the errors printed are those of the 10,000 test pictures, one of
# which is 0.01%.  Exit status 1: a bar was missed; 2: a wrong use, or a program
# failed.
# BUILD=FOLDER: the build folder (build).  SEEDS="1 2 3": a run for each.
# NETS=REGEX, ROWS=REGEX: only the nets, the rows whose name matches.
# THREADS=2.
# SEARCH="top1=-0.5": after each row --budget searches, with these limits and
# the row's bytes, and its retraining; its row has no bar.
# KEEP=FOLDER: models and logs stay there.
set -u
seeds=${SEEDS:-1 2 3}
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"

# The dense nets: largest error in percent (mean over the seeds), training.
dense_rows="
lenet-300-100 | 1.80 | --epochs 20
lenet-5       | 0.75 | --epochs 10 --lr 2e-3 --weight-decay 0.05
"

# Common options of all compressed nets: no weight is too small to prune, and no
# choice depends on the machine's times.
small="--prune-form any --int8 none --prune-keep 0.001 --prune-least 100 \
    --prune-steps 200 --lr 2e-3 --weight-decay 0.05"

# The compressed nets.  lost: points of error more than the dense net of the
# same seed, mean over the seeds; file and weights: how many times smaller than
# 4 bytes a parameter the largest file, and what it stores for all weights, must
# be; s: longest run; - is no bar.
# net | row | lost | file | weights | s | published | options
rows="
lenet-300-100 | prune 0.92 | 0.1 | - | 12 | 120 | 12x, Han 2015 | $small \
    --prune 0.92 --retrain-epochs 16
lenet-300-100 | 3 bits | 0.1 | - | - | 120 | 8 and 5 bits, Han 2016 | \
    --share 3 --share-epochs 12 --lr 1e-3
lenet-300-100 | smallest 0.1 | 0.1 | 75 | 88 | 120 | weights 40x, Han 2016; \
    64x, Ullrich 2017 | $small --prune 0.95 --retrain-epochs 40 --share 2 \
    --share-epochs 8
lenet-300-100 | smallest 0.35 | 0.35 | 95 | 130 | 120 | weights 124x, Oktay \
    2020 | $small --prune 0.969 --retrain-epochs 40 --share 2 --share-epochs 8
lenet-5 | prune 0.92 | 0.1 | - | 12 | 600 | 12x, Han 2015 | $small \
    --prune 0.92 --retrain-epochs 8
lenet-5 | 3 bits | 0.1 | - | - | 600 | 8 and 5 bits, Han 2016 | \
    --share 3 --share-epochs 4 --lr 1e-3
lenet-5 | SVD responses | 0.5 | - | - | 600 | 4x fewer multiplications, 0.9 \
    points, Zhang 2015 | --svd-macs 0.25 --svd-on responses --int8 none \
    --retrain-epochs 3
lenet-5 | smallest 0.1 | 0.1 | 165 | - | 900 | weights 39x, Han 2016; 162x, \
    Ullrich 2017 | $small --prune 0.985 --retrain-epochs 20 --share 3 \
    --share-epochs 4
lenet-5 | smallest 0.3 | 0.3 | 240 | 390 | 900 | weights 382x, Reagen 2018; \
    606x, Oktay 2020; 555x and 1110x, Havasi 2019 | $small --prune 0.992 \
    --retrain-epochs 16 --share 3 --share-epochs 4
"

trim() { local s=$1; s=${s#"${s%%[! ]*}"}; echo "${s%"${s##*[! ]}"}"; }

# Runs a program; its seconds are in $took.
timed() {
    local log=$1 from
    shift
    from=$(date +%s.%N)
    "$@" > "$log" 2>&1 || die "$1 failed: $(tail -n 1 "$log")"
    took=$(calc "printf \"%.1f\", $(date +%s.%N) - $from")
}

# mean and largest of the numbers in $1.
mean() { echo "$1" | awk '{ for (i = 1; i <= NF; i++) s += $i / NF }
                          END { printf "%.3f", s }'; }
most() { echo "$1" | awk '{ m = $1; for (i = 2; i <= NF; i++)
                            if ($i > m) m = $i } END { print m }'; }

# 1 if A OP B holds or there is no bar.
holds() {
    if [ "$3" = - ]; then echo 1; else calc "print ($1 $2 $3 ? 1 : 0)"; fi
}

form='%-14s %-16s %6s %6s %6s %9s %7s %9s %6s  %s\n'
# shellcheck disable=SC2059
heading() {
    printf "$form" net row dense mean worst 'file B' 'file x' 'weights x' s \
        'bar, published'
}

# The seeds' dense nets; their errors are in dense_errors[NET].
declare -A dense_errors
dense() {
    local net=$1 bar=$2 options=$3 seed errors='' times='' met
    for seed in $seeds; do
        # shellcheck disable=SC2086
        timed "$work/$net-$seed.log" "$build/convtt-train" \
            "$src/models/$net.net" -o "$work/$net-$seed.h5" --data "$data" \
            --seed "$seed" --threads "$threads" --val-ratios 1 $common $options
        errors+="$(error_of "$work/$net-$seed.h5") " || exit 2
        times+="$took "
    done
    dense_errors[$net]=$errors
    met=$(holds "$(mean "$errors")" '<=' "$bar")
    # shellcheck disable=SC2059
    printf "$form" "$net" dense "$(mean "$errors")" - "$(most "$errors")" \
        "$(stat -c %s "$work/$net-${seeds%% *}.h5")" - - "$(most "$times")" \
        "error <= $bar: $(verdict "$met")"
}

verdict() {
    [ "$1" = 1 ] && echo met && return
    echo MISSED
    touch "$work/missed"
}

compress() {
    local net=$1 row=$2 lost=$3 file=$4 weights=$5 longest=$6 published=$7
    local options=$8 seed errors='' times='' sizes='' stored='' out full met
    out=$work/$net-small
    published=$(tr -s ' ' <<< "$published")
    for seed in $seeds; do
        # shellcheck disable=SC2086
        timed "$out-$seed.log" "$build/convtt-compress" "$work/$net-$seed.h5" \
            -o "$out-$seed.h5" --data "$data" --seed "$seed" \
            --threads "$threads" $common $options
        errors+="$(error_of "$out-$seed.h5") " || exit 2
        times+="$took "
        sizes+="$(stat -c %s "$out-$seed.h5") "
        stored+="$("$build/convtt-info" --all "$out-$seed.h5" |
            sed -n 's/^on disk .* bytes, \([0-9]*\) of them.*/\1/p') "
    done
    full=$(full_bytes "$net")
    file_x=$(calc "printf \"%.1f\", $full / $(most "$sizes")")
    weights_x=$(calc "printf \"%.1f\", $full / $(most "$stored")")
    met=$(holds "$(mean "$errors") - $(mean "${dense_errors[$net]}")" '<=' \
        "$lost")
    met=$((met & $(holds "$file_x" '>=' "$file") &
           $(holds "$weights_x" '>=' "$weights") &
           $(holds "$(most "$times")" '<=' "$longest")))
    # shellcheck disable=SC2059
    printf "$form" "$net" "$row" "$(mean "${dense_errors[$net]}")" \
        "$(mean "$errors")" "$(most "$errors")" "$(most "$sizes")" "$file_x" \
        "$weights_x" "$(most "$times")" "lost <= $lost, file >= $file x,\
 weights >= $weights x, $longest s: $(verdict "$met") ($published)"
}

# A row of --budget's result with the bytes of compress().
search() {
    local net=$1 row=$2 options=$3 seed errors='' times='' sizes='' out limits
    out=$work/$net-found
    for seed in $seeds; do
        limits=$SEARCH,bytes=$(stat -c %s "$work/$net-small-$seed.h5")
        rm -f "$out-$seed.jsonl"
        # shellcheck disable=SC2046,SC2086
        timed "$out-$seed.log" "$build/convtt-compress" "$work/$net-$seed.h5" \
            -o "$out-$seed.h5" --data "$data" --seed "$seed" \
            --threads "$threads" $common $(retraining $options) \
            --budget "$limits" --sense-log "$out-$seed.jsonl"
        errors+="$(error_of "$out-$seed.h5") " || exit 2
        times+="$took "
        sizes+="$(stat -c %s "$out-$seed.h5") "
    done
    # shellcheck disable=SC2059
    printf "$form" "$net" found "$(mean "${dense_errors[$net]}")" \
        "$(mean "$errors")" "$(most "$errors")" "$(most "$sizes")" - - \
        "$(most "$times")" "--budget, bytes of '$row'"
}

# Bytes of a net's parameters as floats.
full_bytes() {
    "$build/convtt-info" "$src/models/$1.net" |
        sed -n 's/^parameters.*(\([0-9]*\)).*/\1/p' |
        awk '{ print 4 * $1 }'
}

rm -f "$work/missed"
heading
while IFS='|' read -r net bar options; do
    net=$(trim "$net")
    [[ -n "$net" && "$net" =~ ${NETS:-.} ]] || continue
    dense "$net" "$(trim "$bar")" "$(trim "$options")"
    while IFS='|' read -r of row lost file weights longest published how; do
        of=$(trim "$of")
        row=$(trim "$row")
        [[ "$of" = "$net" && "$row" =~ ${ROWS:-.} ]] || continue
        compress "$net" "$row" "$(trim "$lost")" "$(trim "$file")" \
            "$(trim "$weights")" "$(trim "$longest")" "$(trim "$published")" \
            "$(trim "$how")"
        [ -z "${SEARCH:-}" ] || search "$net" "$row" "$how"
    done <<< "$rows"
done <<< "$dense_rows"
[ ! -e "$work/missed" ]
