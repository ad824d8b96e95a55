#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stages.sh DATA: gain of --stages.  The model is trained for STEPS steps by one
# process and by STAGES processes, whose files must be equal; what each section
# has measured of a shard and window, in seconds of its thread, then gives the
# time of a batch on as many machines that do nothing else: simulated, with all
# forward before all back, and messages over a network of GBIT/s with DELAY
# microseconds each.  Prints the sections, and for each number of shards and
# length of windows how many times as fast a batch is as that of one process
# with the same options, and as that of one process with the first of BUCKETS.
# DATA: clips, such as those of ./quickstart demo (build/demo/clips).
# BUILD=FOLDER: the build folder (build).  STAGES=4.  BATCH=16.  STEPS=8.
# SHARDS="2 4 8 16".  WINDOWS="0 8": steps; 0: the clip.  BUCKETS="1 4": of
# clips alike in length.  GBIT=100.  DELAY=5.  LAYERS=8, CHANNELS=32: of the
# model, a stack of ConvLSTMs at 16x16, as deep as that of Lin and Wu.
# MODEL=FILE: the model text, in place of it.  TEXT=FILE: of words in place of
# the clips (--task next).  KEEP=FOLDER: logs stay there.
set -u
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
type -P mpirun > /dev/null || die 'no mpirun'
stages=${STAGES:-4} batch=${BATCH:-16} steps=${STEPS:-8}
[ -e "$build/.libs/convtt-mpi.so" ] && export CTT_MODULES=$build/.libs
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

stack() {       # the text of the model
    local i in=f n=${CHANNELS:-32}
    echo 'input x h=64 w=64 c=3 fps=12 mean=0.45 std=0.25'
    echo "conv e in=x out=$n kernel=5 stride=4 pad=2"
    echo 'act f in=e kind=relu'
    for i in $(seq "${LAYERS:-8}"); do
        echo "convlstm h$i in=$in hidden=$n kernel=3"
        in=h$i
    done
    echo "pool p in=$in kind=avg"
    echo 'conv y in=p out=12'
}
model=${MODEL:-$work/stack.net}
[ -n "${MODEL:-}" ] || stack > "$model"

what=(--data "$dir" --augment off)
[ -z "${TEXT:-}" ] || what=(--task next --data "words:$TEXT" --val none)

learn() {       # NAME PROCESSES OPTION...
    local name=$1 n=$2 launch=()
    shift 2
    [ "$n" = 1 ] || launch=(mpirun -np "$n" --bind-to none)
    ${launch[@]+"${launch[@]}"} "$build/convtt-train" "$model" "${what[@]}" \
        --batch "$batch" --threads 1 --affinity none \
        --max-steps "$steps" -o "$work/$name.h5" "$@" \
        > "$work/$name.log" 2>&1 < /dev/null ||
        die "$name: $(tail -n 1 "$work/$name.log")"
}

# The time of a batch by the sections' lines of a log, beside that of one; and
# that of one process, in ms.
simulate() {    # LOG
    awk -v gbit="${GBIT:-100}" -v delay="${DELAY:-5}" '
        BEGIN { n = 0 }
        /^section [0-9]+, / {
            for (i = 1; i <= NF; i++) {
                if ($i == "forward") f[n] = $(i - 2)
                if ($i == "back") b[n] = $(i - 2)
                if ($i == "MB") send[n] = $(i - 1)
            }
            all += f[n] + b[n]; n++
        }
        /^--stages: / { units = $2 + 0 }
        END {
            u = int(units + 0.5)
            for (s = 0; s < n; s++)
                for (k = 0; k < u; k++) {
                    from = s ? there[s - 1, k] + pass(s - 1) : 0
                    if (k && there[s, k - 1] > from) from = there[s, k - 1]
                    there[s, k] = from + f[s]
                }
            for (s = n - 1; s >= 0; s--)
                for (k = 0; k < u; k++) {
                    from = there[n - 1, u - 1]
                    if (s < n - 1 && back[s + 1, k] + pass(s) > from)
                        from = back[s + 1, k] + pass(s)
                    if (k && back[s, k - 1] > from) from = back[s, k - 1]
                    back[s, k] = from + b[s]
                    if (back[s, k] > end) end = back[s, k]
                }
            printf "%d %.2f %.2f %.1f", u, u * all / end,
                   u / (u + n - 1) * n, u * all
        }
        function pass(s) { return delay / 1e3 + send[s] * 8 / gbit }' "$1"
}

row='%-8s %7s %7s %7s %9s %14s %12s %17s\n'
# shellcheck disable=SC2059
print() { printf "$row" "$@"; }
print shards windows buckets units simulated 'if all alike' 'one: ms' \
    'beside the first'
declare -A first    # shards and window: ms of one process
for buckets in ${BUCKETS:-1 4}; do
    for window in ${WINDOWS:-0 8}; do
        for shards in ${SHARDS:-2 4 8 16}; do
            how=(--shards "$shards" --window "$window" --buckets "$buckets")
            name=$shards-$window-$buckets
            learn "one-$name" 1 "${how[@]}"
            learn "all-$name" "$stages" "${how[@]}" --stages auto
            cmp -s "$work/one-$name.h5" "$work/all-$name.h5" ||
                die "$name: sections make another model"
            read -r units faster alike one <<< \
                "$(simulate "$work/all-$name.log")"
            [ -n "${one:-}" ] || die "$name: no times of sections"
            : "${first[$shards-$window]:=$one}"
            print "$shards" "$window" "$buckets" "$units" "$faster" "$alike" \
                "$one" "$(calc "printf \"%.2f\",
                    ${first[$shards-$window]} / $one * $faster")"
        done
    done
done
echo "the sections of the last one:"
grep '^section' "$work/all-$name.log"
