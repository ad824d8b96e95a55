#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# search.sh DIR: a search of settings by ASHA (Li and others 2020) and at
# random: the best mean top-1 on the validation clips so far, against seconds
# and against the epochs trained, which do not depend on other work of the
# machine.  DIR: clips with a split validation, such as those of ./quickstart
# demo (build/demo/clips).  ASHA runs to its end, then random search gets as
# many seconds.  At the end: what ASHA had after a third of what random search
# took, beside the best of random search and its 95% interval (Wilson 1927), and
# when ASHA was as good.  Exit status 2: a wrong use. BUILD=FOLDER: the build
# folder (build).  SEEDS="1": a pair of searches for each.  THREADS=2.  JOBS=1:
# trials at a time.  KEEP=FOLDER: logs stay there; those that have ended are not
# made again but printed.  TRIALS=32.  EPOCHS=24: of a whole trial.  FIRST=auto:
# --search-first of ASHA.  MODEL=FILE: the model text
# (models/early-convttlstm.net).  SPACE=FILE: the space.
set -u
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
model=${MODEL:-$src/models/early-convttlstm.net}
space=${SPACE:-$work/space.txt}
[ -n "${SPACE:-}" ] || cat > "$space" << 'END'
lr            log    1e-4 3e-2
batch         choice 8 16 24 48
weight-decay  log    1e-5 0.1
warmup        range  0 4
label-smooth  range  0 0.2
clip-norm     log    0.1 10
brightness    range  0 0.8
contrast      range  0 0.4
END

log_of() { echo "$work/$1.$2.h5.search.jsonl"; }    # log_of METHOD SEED

# Trials read the clips each, so they are packed.
pack() {
    for s in train validation; do
        [ -e "$work/$s.pack" ] ||
            "$build/convtt-data" pack "$dir" -o "$work/$s.pack" --split $s \
                --model "$model" > "$work/pack.log" 2>&1 ||
            die "$(tail -n 1 "$work/pack.log")"
    done
}

search() {      # search METHOD SEED [COMMAND...]: what runs the program
    local method=$1 seed=$2 first=()
    [ "$method" = random ] || first=(--search-first "${FIRST:-auto}")
    pack
    "${@:3}" "$build/convtt-train" "$model" --search "$space" \
        --data "$work/train.pack" --val "$work/validation.pack" \
        -o "$work/$method.$seed.h5" --trials "${TRIALS:-32}" \
        --epochs "${EPOCHS:-24}" --repeats 1 "${first[@]}" \
        --jobs "${JOBS:-1}" --threads "$threads" --seed "$seed" \
        --search-method "$method" > "$work/$method.$seed.log" 2>&1
}

# Whether a search has ended, or been stopped when its time was over.
has_ended() {   # has_ended METHOD SEED
    grep -qs '^{"won":' "$(log_of "$1" "$2")" ||
        { [ "$1" = random ] && grep -qs '^{"trial"' "$(log_of "$1" "$2")" &&
            [ -e "$work/$1.$2.timed" ]; }
}

# "SECONDS EPOCHS BEST" after each result of a log.
curve() {
    awk -v jobs="${JOBS:-1}" '
        function number(name) {
            if (!match($0, "\"" name "\":[0-9.e+-]+")) return 0
            return substr($0, RSTART + length(name) + 3,
                          RLENGTH - length(name) - 3) + 0
        }
        index($0, "{\"trial\"") == 1 {
            trial = number("trial")
            sub(/"settings":[{][^}]*[}]/, "")    # which has no result
            clock += (number("seconds") - before[trial]) / jobs
            epochs += number("epochs") - was[trial]
            before[trial] = number("seconds")
            was[trial] = number("epochs")
            if (number("score") > best) best = number("score")
            printf "%.3f %d %.9g\n", clock, epochs, best
        }' "$1"
}
last() { tail -n 1 "$2" | cut -d' ' -f"$1"; }    # last COLUMN CURVE
at() {          # at COLUMN VALUE CURVE: the best by then, in percent
    awk -v c="$1" -v t="$2" '$c <= t { best = $3 }
                             END { printf "%.1f", 100 * best }' "$3"
}
when() {        # when COLUMN SCORE CURVE: what that took, or "never"
    awk -v c="$1" -v s="$2" '$3 >= s { print $c; there = 1; exit }
                             END { if (!there) print "never" }' "$3"
}

# The 95% interval of a share of N clips.
interval() {    # interval SHARE N
    calc "z = 1.959964; p = $1; n = $2; d = 1 + z * z / n
        m = (p + z * z / (2 * n)) / d
        h = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
        printf \"%.1f %.1f\", 100 * (m - h), 100 * (m + h)"
}

# Both against one measure, in eighths of what random search took.
table() {       # table COLUMN NAME ASHA RANDOM
    local all t
    all=$(last "$1" "$4")
    printf '%10s %8s %8s\n' "$2" asha random
    for k in 1 2 3 4 5 6 7 8; do
        t=$(calc "printf \"%.1f\", $all * $k / 8")
        printf '%10s %8s %8s\n' "$t" "$(at "$1" "$t" "$3")" \
            "$(at "$1" "$t" "$4")"
    done
}

verdict() {     # verdict COLUMN NAME ASHA RANDOM CLIPS
    local all third best low high found equal word
    all=$(last "$1" "$4")
    third=$(calc "printf \"%.1f\", $all / 3")
    best=$(last 3 "$4")
    read -r low high < <(interval "$best" "$5"; echo)
    found=$(at "$1" "$third" "$3")
    equal=$(when "$1" "$best" "$3")
    word=$(calc "print ($found >= $low ? \"reached\" : \"missed\")")
    printf '%s: asha has %s%% after %s, a third; random %.1f%% (%s to %s) ' \
        "$2" "$found" "$third" "$(calc "print 100 * $best")" "$low" "$high"
    printf 'after %s: %s within noise; ' "$all" "$word"
    [ "$equal" = never ] && echo 'asha never was as good' ||
        echo "asha was as good after $equal," \
            "$(calc "printf \"%.0f\", 100 * $equal / $all")%"
}

for seed in ${SEEDS:-1}; do
    has_ended asha "$seed" || search asha "$seed" ||
        die "$(tail -n 1 "$work/asha.$seed.log")"
    curve "$(log_of asha "$seed")" > "$work/asha.curve" || exit 2
    took=$(calc "printf \"%.0f\", $(last 1 "$work/asha.curve") + 1")
    has_ended random "$seed" ||
        search random "$seed" timeout --signal=TERM "$took" ||
        { [ $? = 124 ] && touch "$work/random.$seed.timed" &&
            grep -qs '^{"trial"' "$(log_of random "$seed")"; } ||
        die "$(tail -n 1 "$work/random.$seed.log")"
    curve "$(log_of random "$seed")" > "$work/random.curve" || exit 2
    clips=$(sed -n 's/^validation: \([0-9]*\) .*/\1/p' "$work/asha.$seed.log" |
        head -n 1)
    [ -n "$clips" ] || die "$work/asha.$seed.log: names no validation clips"
    printf 'seed %s, %s validation clips: asha %d results, %s epochs, %s s; ' \
        "$seed" "$clips" "$(wc -l < "$work/asha.curve")" \
        "$(last 2 "$work/asha.curve")" "$(last 1 "$work/asha.curve")"
    printf 'random %d, %s, %s\n' "$(wc -l < "$work/random.curve")" \
        "$(last 2 "$work/random.curve")" "$(last 1 "$work/random.curve")"
    for measure in '1 seconds' '2 epochs'; do
        # shellcheck disable=SC2086
        table $measure "$work/asha.curve" "$work/random.curve"
    done
    for measure in '1 seconds' '2 epochs'; do
        # shellcheck disable=SC2086
        verdict $measure "$work/asha.curve" "$work/random.curve" "$clips"
    done
done
