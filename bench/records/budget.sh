#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# budget.sh FOLDER: --budget beside 20 settings made by hand.  A model is
# trained on made-up clips (./quickstart demo has the same), each setting
# compresses and retrains it as long, and so does --budget with the bytes of the
# smallest one that keeps most top-1 as its limit.  Prints bytes, milliseconds
# a frame and top-1 at 25, 50 and 100% of the clips of split "test", which
# choose nothing, which settings the found mix is at least as good as in all
# five, and whether it dominates the best one, whose bytes are the limit.
# FOLDER keeps clips and models, and what is there is not made again.
# BUILD=FOLDER: the build folder (build).  MODEL=early-convttlstm.  CLIPS=1200.
# SIZE=96: pixels.  EPOCHS=24, RETRAIN=24, SHARED=8 (--share-epochs).
# THREADS=2.  JOBS=1: settings at a time, which share the threads.
# ROWS="NAME,...": only these.  LIMITS="top1=-1,bytes=13k": of the search, in
# place of the above.  MS=yes: the limits have its milliseconds, too, and 5%
# more for noise.
# DATA=PATH: these clips, in place of made-up ones.
set -u
work=${1:?"the folder for clips and models must be given"}
. "$(dirname "$0")/begin.sh" convtt-train convtt-data convtt-compress \
    convtt-info
threads=${THREADS:-2} retrain=${RETRAIN:-24} jobs=${JOBS:-1}
net=$src/models/${MODEL:-early-convttlstm}.net
mkdir -p "$work" && cd "$work" || exit 2
clips=${DATA:-clips}
learn="--batch 24 --lr 2e-3 --weight-decay 0.02 --label-smooth 0.05
    --augment off --jitter --brightness 0.6 --contrast 0.2"

any="--prune-form any --int8 none" block="--prune-form block --int8 mse"
fit="--tt-on responses"

# NAME | options of convtt-compress
rows="
prune 0.8               | --prune 0.8 --int8 none
prune 0.9               | --prune 0.9 --int8 none
prune 0.95              | --prune 0.95 $any
prune 0.9 share 4       | --prune 0.9 --share 4 $any
prune 0.95 share 4      | --prune 0.95 --share 4 $any
prune 0.95 share 3      | --prune 0.95 --share 3 $any
prune 0.97 share 4      | --prune 0.97 --share 4 $any
prune 0.98 share 4      | --prune 0.98 --share 4 $any
blocks 0.9 int8         | --prune 0.9 $block
blocks 0.95 int8        | --prune 0.95 $block
tt 8                    | --tt-rank 8 --int8 none
tt 4                    | --tt-rank 4 --int8 none
tt 8 prune 0.9          | --tt-rank 8 --prune 0.9 --int8 none
tt 8 prune 0.9 share 4  | --tt-rank 8 $fit --prune 0.9 --share 4 $any
tt 16 prune 0.9 share 4 | --tt-rank 16 $fit --prune 0.9 --share 4 $any
tt 8 prune 0.8 share 3  | --tt-rank 8 $fit --prune 0.8 --share 3 $any
tt 4 share 4            | --tt-rank 4 $fit --share 4 --int8 none
svd energy 0.9 share 4  | --svd-energy 0.9 --share 4 --int8 none
thin 0.5 share 4        | --thin 0.5 --share 4 --int8 none
thin 0.5 blocks 0.9 int8| --thin 0.5 --prune 0.9 $block
"

[ -n "${DATA:-}" ] || [ -e clips/labels.json ] ||
    "$build/convtt-data" synth clips --clips "${CLIPS:-1200}" \
        --size "${SIZE:-96}" --seed 1 || die "no clips"
# shellcheck disable=SC2086
[ -e dense.h5 ] || "$build/convtt-train" "$net" --data "$clips" -o dense.h5 \
    --epochs "${EPOCHS:-24}" --warmup 2 $learn --threads "$threads" \
    > dense.log 2>&1 ||
    die "no model: $(tail -n 1 dense.log)"

file_of() { echo "$1" | tr -c 'a-z0-9\n' -; }

compress() {    # THREADS FILE OPTION...
    local threads=$1 out=$2 shared=; shift 2
    case "$*" in *--share* | *--budget*) shared=${SHARED:-8} ;; esac
    [ -e "$out.h5" ] && return
    # shellcheck disable=SC2086
    "$build/convtt-compress" dense.h5 -o "$out.h5" --data "$clips" $learn \
        --distil 0.3 --retrain-epochs "$retrain" --threads "$threads" \
        ${shared:+--share-epochs "$shared"} "$@" > "$out.log" 2>&1 ||
        echo "$out: $(tail -n 1 "$out.log")" >&2
}

names=
while IFS='|' read -r name options; do
    name=$(echo $name)
    case ",${ROWS:-$name}," in *",$name,"*) ;; *) continue ;; esac
    [ -n "$name" ] || continue
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    # shellcheck disable=SC2086
    compress $((threads / jobs)) "$(file_of "$name")" $options &
    names="$names $(file_of "$name").h5"
done <<< "$rows"
wait
# shellcheck disable=SC2086
names=$(ls $names 2> /dev/null | tr '\n' ' ')

# The table of convtt-info: model, bytes, .. ms/frame, .. top-1 three times.
table() {       # SPLIT FILE...
    local split=$1; shift
    "$build/convtt-info" --compare --data "$clips" --split "$split" \
        --threads "$threads" "$@" 2> info.log
}

# Of a line of that table: the k-th top-1 in percent, each of which is followed
# by its interval, and ms/frame, which is the second column before the first.
columns='
    function first(i) { for (i = 1; i <= NF && $i !~ /%$/; i++) ; return i }
    function top(k, i) { i = first() + 2 * (k - 1)
                         return substr($i, 1, length($i) - 1) + 0 }
    function ms() { return $(first() - 2) + 0 }'

# The limits that the best one by validation sets, as few bytes, its top-1 and
# with MS=yes its time; and its file.
limits() {
    # shellcheck disable=SC2086
    table validation dense.h5 $names | awk -v timed="${MS:-no}" "$columns"'
        NR == 2 { dense = top(3) }
        NR > 2 { lost = dense - top(3)
                 if (lost <= 2 && (!least || $2 < least)) {
                     least = $2; most = lost; time = ms(); name = $1 } }
        END { if (!least) exit
              printf "bytes=%d,top1=-%g", least, most < 1 ? 1 : most
              if (timed == "yes") printf ",ms=%.3g", 1.05 * time
              print " " name }'
}
best=
if [ -n "${LIMITS:-}" ]; then limits=$LIMITS
else read -r limits best <<< "$(limits)"; fi
[ -n "$limits" ] || die "no setting keeps top-1 within 2 points"
echo "the search: --budget $limits${best:+, by $best}"
began=$SECONDS
there=$(ls found.h5 2> /dev/null)
compress "$threads" found --budget "$limits" --tt-on responses
if [ -n "$there" ]; then
    echo "found.h5 was there and is not searched for again"
else
    echo "it took $(((SECONDS - began + 30) / 60)) minutes; 15 are asked"
fi
[ -e found.h5 ] && names="$names found.h5"

# shellcheck disable=SC2086
table test dense.h5 $names | tee table.txt
awk -v best="${best:-}" "$columns"'
     NR == 1 { next }
     { for (k = 1; k <= 3; k++) t[NR, k] = -top(k)
       t[NR, 4] = $2; t[NR, 5] = ms()
       name[NR] = $1; last = NR
       if ($1 == "found.h5") f = NR
       if ($1 == best) b = NR }
     # The figures, smaller is better, in which f is as good as r, or better.
     function count(r, strictly, k, n) {
         for (k = 1; k <= 5; k++)
             n += strictly ? (t[f, k] < t[r, k]) : (t[f, k] <= t[r, k])
         return n + 0 }
     END { if (!f) exit
           for (r = 3; r < last; r++)
               if (count(r, 0) == 5) s = s " " name[r]
           print "found is at least as good in bytes, ms and top-1 as:" s
           good = b ? count(b, 0) : 0
           better = b ? count(b, 1) : 0
           if (b)
               printf("found %s %s: as good in %d of 5 figures, better in " \
                      "%d\n", (good == 5 && better > 0) ? "dominates" \
                      : "does not dominate", best, good, better) }' table.txt
