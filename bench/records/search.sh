#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# search.sh DIR: what a search of settings finds in the same time by ASHA (Li
# and others 2020) and at random: the best mean top-1 on the validation clips so
# far against seconds.  DIR: clips with a split validation, such as those of
# ./quickstart demo (build/demo/clips).  ASHA runs to its end, then random
# search gets as many seconds.  Exit status 2: a wrong use.
# BUILD=FOLDER: the build folder (build).  SEEDS="1": a pair of searches for
# each.  THREADS=2.  JOBS=1: trials at a time.  KEEP=FOLDER: logs stay there.
# TRIALS=32.  EPOCHS=24: of a whole trial.  FIRST=1.  MODEL=FILE: the model text
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

# Trials read the clips each, so they are packed.
for s in train validation; do
    [ -e "$work/$s.pack" ] ||
        "$build/convtt-data" pack "$dir" -o "$work/$s.pack" --split $s \
            --model "$model" > "$work/pack.log" 2>&1 ||
        die "$(tail -n 1 "$work/pack.log")"
done

search() {      # search METHOD SEED [COMMAND...]: what runs the program
    local method=$1 seed=$2
    "${@:3}" "$build/convtt-train" "$model" --search "$space" \
        --data "$work/train.pack" --val "$work/validation.pack" \
        -o "$work/$method.$seed.h5" --trials "${TRIALS:-32}" \
        --epochs "${EPOCHS:-24}" --search-first "${FIRST:-1}" \
        --jobs "${JOBS:-1}" --threads "$threads" --seed "$seed" \
        --search-method "$method" > "$work/$method.$seed.log" 2>&1
}

# "SECONDS BEST" after each result of a log.
curve() {
    awk -v jobs="${JOBS:-1}" '
        function number(name) {
            if (!match($0, "\"" name "\":[0-9.e+-]+")) return 0
            return substr($0, RSTART + length(name) + 3,
                          RLENGTH - length(name) - 3) + 0
        }
        index($0, "{\"trial\"") == 1 {
            trial = number("trial")
            clock += (number("seconds") - before[trial]) / jobs
            before[trial] = number("seconds")
            if (number("score") > best) best = number("score")
            print clock, best
        }' "$1"
}
at() {          # at SECONDS CURVE: the best by then, in percent
    awk -v t="$1" '$1 <= t { best = $2 }
                   END { printf "%.1f", 100 * best }' "$2"
}

for seed in ${SEEDS:-1}; do
    began=$SECONDS
    search asha "$seed" || die "$(tail -n 1 "$work/asha.$seed.log")"
    took=$((SECONDS - began))
    search random "$seed" timeout --signal=TERM $((took + 1)) ||
        [ -s "$work/random.$seed.h5.search.jsonl" ] ||
        die "$(tail -n 1 "$work/random.$seed.log")"
    for m in asha random; do
        curve "$work/$m.$seed.h5.search.jsonl" > "$work/$m.curve" || exit 1
    done
    printf 'seed %s: %d and %d results in %d s\n' "$seed" \
        "$(wc -l < "$work/asha.curve")" "$(wc -l < "$work/random.curve")" \
        "$took"
    printf '%10s %8s %8s\n' seconds asha random
    for k in 1 2 3 4 5 6 7 8; do
        t=$(calc "printf \"%.1f\", $took * $k / 8")
        printf '%10s %8s %8s\n' "$t" "$(at "$t" "$work/asha.curve")" \
            "$(at "$t" "$work/random.curve")"
    done
done
