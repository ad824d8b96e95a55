#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sync.sh FOLDER: accuracy against seconds of the ways of --sync, once with all
# workers alike and once with a straggler: the last one stands still (SIGSTOP)
# for STOP of every CYCLE seconds.  Prints, for each way, the seconds of the
# training with its tests, the seconds until top-1 of the validation clips first
# was TARGET percent, top-1 after the last epoch, the mean over the seeds with
# the lowest and highest, how late gradients were and how many were dropped;
# FOLDER/curves.csv has top-1 after each epoch.
# FOLDER keeps models and logs, and what is there is not made again.
# BUILD=FOLDER: the build folder (build).  DATA=CLIPS: what it learns, a folder
# of clips or digits:DIR.  MODEL=lenet-300-100.  WORKERS=4, of THREADS=1.
# WAYS="all central ...".  SEEDS="1 2 3".  EPOCHS=8.  LEARN="...": options of
# convtt-train; ASYNC="--lr 0.03": more for --sync async, as gradients that are
# late need a lower rate.  STOP=0.5, CYCLE=1.  TARGET=97.5.  STRAGGLER="0 1":
# without and with one.
set -u
work=${1:?"the folder for models must be given"}
. "$(dirname "$0")/begin.sh" convtt-train
type -P mpirun > /dev/null || die 'no mpirun'
data=${DATA:?"DATA=CLIPS must be given"}
net=$src/models/${MODEL:-lenet-300-100}.net
mkdir -p "$work" && cd "$work" || exit 2
workers=${WORKERS:-4}
learn=${LEARN:---batch 128 --val-batch 500 --observe 1 --clip-norm 0 --augment
    off --optimizer sgd --lr 0.1 --weight-decay 1e-4}
[ -e "$build/.libs/convtt-mpi.so" ] && export CTT_MODULES=$build/.libs
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

stumble() {     # PID: it stands still for STOP of every CYCLE, until it ends
    while kill -STOP "$1" 2> /dev/null; do
        sleep "${STOP:-0.5}"
        kill -CONT "$1" 2> /dev/null
        sleep "$(awk "BEGIN { print ${CYCLE:-1} - ${STOP:-0.5} }")"
    done
}

train() {       # WAY STRAGGLER SEED
    local out=$1.$2.$3 n=$workers exact=off more= pid last
    [ ! -e "$out.h5" ] || return 0
    [ "$1" = all ] || n=$((workers + 1))
    case $1 in
    all | central) exact=on ;;
    async) more=${ASYNC:---lr 0.03} ;;
    esac
    # shellcheck disable=SC2086
    mpirun -np "$n" --bind-to none "$build/convtt-train" "$net" --data "$data" \
        -o "$out.h5" --epochs "${EPOCHS:-8}" $learn $more --seed "$3" \
        --sync "$1" --threads "${THREADS:-1}" --affinity none \
        --deterministic $exact --log-csv "$out.csv" > "$out.log" 2>&1 \
        < /dev/null & pid=$!
    if [ "$2" = 1 ]; then
        until last=$(pgrep -P $pid | sed -n "${n}p") &&
            [ -n "$last" ]; do
            kill -0 $pid 2> /dev/null || break
            sleep 0.1
        done
        sleep 1    # until all have started
        stumble "$last" &
    fi
    wait $pid || echo "$out: $(tail -n 1 "$out.log")" >&2
}

for seed in ${SEEDS:-1 2 3}; do
    for slow in ${STRAGGLER:-0 1}; do
        for way in ${WAYS:-all central backup=1 async}; do
            train "$way" "$slow" "$seed"
        done
    done
done
wait

echo way,straggler,seed,seconds,top1 > curves.csv
for slow in ${STRAGGLER:-0 1}; do
    for way in ${WAYS:-all central backup=1 async}; do
        for seed in ${SEEDS:-1 2 3}; do
            [ -e "$way.$slow.$seed.h5" ] || continue
            awk -F, -v what="$way,$slow,$seed" '
                NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                { print what "," $at["seconds"] "," 100 * $at["val_top1"] }' \
                "./$way.$slow.$seed.csv" >> curves.csv
            late=$(sed -n 's/.*sync=.*average \([0-9.]*\) steps late.*/\1/p' \
                "$way.$slow.$seed.log")
            lost=$(sed -n 's/.*sync=.*; \([0-9]*\) dropped.*/\1/p' \
                "$way.$slow.$seed.log")
            echo "$way $slow $seed ${late:-0} ${lost:-0}"
        done
    done
done > late.txt
awk -v target="${TARGET:-97.5}" '
    FILENAME == "late.txt" { k = $1 " " $2; late[k] += $4; lost[k] += $5; next }
    FNR == 1 { next }
    { split($0, w, ","); k = w[1] " " w[2]; run = k " " w[3]
      if (!(k in n)) { order[++rows] = k; n[k] = 0 }
      if (!(run in last)) { n[k]++; runs[k, n[k]] = run }
      last[run] = w[5]; end[run] = w[4]
      if (w[5] >= target && !(run in first)) first[run] = w[4] }
    END { printf "%-10s %9s %4s %8s %9s %22s %6s %8s\n", "--sync",
                 "straggler", "runs", "seconds", "to " target "%", "top-1",
                 "late", "dropped"
          for (r = 1; r <= rows; r++) {
              k = order[r]; split(k, w, " "); s = f = a = m = 0
              lo = 1e9; hi = -1e9
              for (i = 1; i <= n[k]; i++) {
                  run = runs[k, i]; s += end[run]; a += last[run]
                  lo = last[run] < lo ? last[run] : lo
                  hi = last[run] > hi ? last[run] : hi
                  if (run in first) { f += first[run]; m++ }
              }
              printf "%-10s %9s %4d %8.1f %9s %7.2f (%.2f-%.2f) %6.2f %8.0f\n",
                     w[1], (w[2] ? "yes" : "no"), n[k], s / n[k],
                     (m == n[k] ? sprintf("%.1f", f / m) : "-"), a / n[k],
                     lo, hi, late[k] / n[k], lost[k] / n[k]
          } }' late.txt curves.csv
