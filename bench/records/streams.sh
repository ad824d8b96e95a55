#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# streams.sh [ROUNDS]: four recorded files by one convtt-infer --streams, and by
# four processes of --stream that run together, in turns, 5 rounds: wall time,
# and resident memory at the end, of the processes together.  The model is one
# of models/ after an epoch on made clips, the files are noise without a
# container, so that nothing is measured but the model and the programs.
# BUILD=FOLDER: the build folder (build).  MODEL=early-convttlstm, FRAMES=1500,
# STREAMS=4, THREADS=1 of each process, while the one has all cores.
set -u
rounds=${1:-5}
. "$(dirname "$0")/begin.sh" convtt-data convtt-train convtt-infer
model=${MODEL:-early-convttlstm} frames=${FRAMES:-1500}
streams=${STREAMS:-4} threads=${THREADS:-1}
infer=$build/convtt-infer
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
"$build/convtt-data" synth clips --clips 48 --size 64 > out 2>&1 &&
    "$build/convtt-train" "$src/models/$model.net" --data clips --epochs 1 \
        -o m.h5 > out 2>&1 || die "$(cat out)"
opts="--raw 48x48xrgb24@6 --json --stats 0"
for i in $(seq "$streams"); do
    head -c $((48 * 48 * 3 * frames)) /dev/urandom > "$i"
    echo "$i" >> list
done
resident() { grep -h -o '"resident_mb":[0-9.]*' "$@" | cut -d: -f2; }
one() {     # one process
    # shellcheck disable=SC2086
    "$infer" m.h5 --streams list $opts > many || exit 2
    resident many | tail -1 > memory
}
each() {    # one for each source
    # shellcheck disable=SC2086
    for i in $(seq "$streams"); do
        "$infer" m.h5 --stream "$i" $opts --threads "$threads" > "out.$i" &
        pid[i]=$!
    done
    for i in $(seq "$streams"); do wait "${pid[i]}" || exit 2; done
    resident out.* | awk '{ n += $1 } END { print n }' > memory
}
timed() {   # timed NAME: a line of what it took
    local start=${EPOCHREALTIME/[.,]/}
    "$1"
    echo "$1 $((${EPOCHREALTIME/[.,]/} - start)) $(cat memory)" >> took
}
for r in $(seq "$rounds"); do
    if [ $((r % 2)) = 0 ]; then timed one; timed each
    else timed each; timed one; fi
done
awk '{ s[$1, n[$1]++] = $2 / 1e6; m[$1] = $3 }
    function median(k,    i, j, t, a) {
        for (i = 0; i < n[k]; i++) a[i] = s[k, i]
        for (i = 0; i < n[k]; i++) for (j = i + 1; j < n[k]; j++)
            if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t }
        return a[int(n[k] / 2)] }
    END { printf "seconds: --streams %.2f, processes %.2f, ratio %.2f\n",
              median("one"), median("each"), median("one") / median("each")
          for (i = 0; i < n["one"]; i++) printf "%s%.2f",
              i ? " " : "ratios: ", s["one", i] / s["each", i]
          printf "\nMB: --streams %.1f, processes %.1f, ratio %.2f\n",
              m["one"], m["each"], m["one"] / m["each"] }' took
