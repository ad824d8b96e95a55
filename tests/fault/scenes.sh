#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scenes.sh: tiny runs of the programs, which the tests of this folder repeat
# with faults; sourced after cli.sh.

# How many cases of each kind; all: each one, and a thousand kills.
cases=${CTT_FAULT_CASES:-some}
seed=${CTT_FAULT_SEED:-1}
workers=$(nproc 2> /dev/null || echo 2)
export OMP_WAIT_POLICY=passive LD_LIBRARY_PATH="$bin/.libs"

# real NAME: the program itself, without libtool's script.
real() { [ -x "$bin/.libs/$1" ] && echo "$bin/.libs/$1" || echo "$bin/$1"; }

# Static programs cannot be preloaded; sanitizers have their own allocator.
shim=$bin/tests/fault/shim.so
sweep=$bin/tests/fault/sweep
can_preload() {
    local f
    for f in "$shim" "$sweep"; do
        [ -e "$f" ] || { echo "no $f"; exit 77; }
    done
    if grep -q __asan_init "$(real convtt-train)"; then
        echo 'faults are not injected into programs with sanitizers'
        exit 77
    fi
}

learn="-b 2 -t 1 -j 1 --strict --epochs 1 --max-frames 3"
foresee="--predict 2 --input-frames 3 --strip s.png --video v.webm --frames f.h5
    --csv p.csv"
quiet() { "$@" > out 2> err < /dev/null || fail "$*: $(cat err)"; }

# folder NAME: clips, lists and models in NAME/in.
folder() {
    mkdir -p "$1/in"
    cp clips/20bn-*/[1-4].webm tiny.net next.net stages.net "$1/in"
    (cd "$1/in" && printf '1.webm 0\n2.webm 1\n' > t.txt &&
        printf '3.webm 0\n4.webm 1\n' > v.txt)
}

# Writes the reader of prediction files: the video by its decoder, the frames by
# their checksum (doc/format.md, section 9), the picture by its ends, the table
# by its columns.
write_reader() {
    cat << END
set -e -o pipefail
"$(real convtt-data)" pack v.webm -o ../v.pack --model tiny.net --strict
rm ../v.pack
crc=\$(head -c -16 f.h5 | gzip -1 | tail -c 8 | head -c 4 | od -An -tx4)
[ "\$(tail -c 16 f.h5)" = "convtt \${crc# }" ]
head -c 4 s.png | tail -c 3 | grep -q PNG
tail -c 8 s.png | grep -q IEND
[ -z "\$(tail -c 1 p.csv)" ]
awk -F , 'NR == 1 { n = NF } n < 2 || NF != n { bad = 1 }
          END { exit bad || NR < 2 }' p.csv
END
}

# Makes the scenes, each with old versions of the written files.
make_scenes() {
    cat > tiny.net << 'END'
input x h=8 w=8 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=4 kernel=3 stride=2 pad=1
act f in=e kind=relu
convlstm h in=f hidden=4 kernel=3
pool p in=h kind=avg
conv y in=p out=2
END
    cat > next.net << 'END'
input x h=8 w=8 c=1 colour=gray fps=6 mean=0.45 std=0.25
convlstm h in=x hidden=4 kernel=3
conv y in=h out=1
END
    cat > stages.net << 'END'
input x h=8 w=8 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=12 kernel=3 stride=2 pad=1 bias=0
norm n in=e kind=batch
act f in=n kind=relu
convlstm h in=f hidden=4 kernel=3
pool p in=h kind=avg
conv y in=p out=2
END
    "$bin/convtt-data" synth clips --clips 4 --size 16 --seed 2 > out 2> err ||
        { cat err; grep -q 'no encoder' err && exit 77; exit 1; }
    for scene in train compress bytes infer decide predict pack features head
    do
        folder $scene
    done
    cd train/in || exit 99
    quiet "$bin/convtt-train" tiny.net -d t.txt --val v.txt $learn --seed 7 \
        -o m.h5
    echo epoch,old > l.csv
    echo '{"epoch":"old"}' > l.json
    cd ../../compress/in || exit 99
    quiet "$bin/convtt-train" tiny.net -d t.txt --val v.txt $learn \
        -o ../../infer/in/m.h5
    cp ../../infer/in/m.h5 ../../decide/in
    (cd ../../decide/in && "$bin/convtt-infer" --calibrate m.h5 v.txt \
        --max-gap 0.8 --delta 0.5 --answers a.csv) > out 2> err ||
        fail "no thresholds: $(cat err)"
    quiet "$bin/convtt-train" stages.net -d t.txt --val v.txt $learn -o m.h5
    quiet "$bin/convtt-compress" m.h5 -o c.h5 --report r.json --prune 0.7 \
        --prune-least 10 --prune-rounds 1
    cp m.h5 c.h5 r.json ../../bytes/in
    cd ../../predict/in || exit 99
    quiet "$bin/convtt-train" next.net --task predict -d t.txt --val v.txt \
        --input-frames 4 --future-frames 3 -b 2 -t 1 -j 1 --epochs 1 -o m.h5
    quiet "$bin/convtt-infer" m.h5 t.txt $foresee
    cd ../../pack/in || exit 99
    quiet "$bin/convtt-data" pack v.txt -o o.pack --model tiny.net
    cp ../../infer/in/m.h5 ../../features/in
    for f in b m; do cp ../../infer/in/m.h5 ../../head/in/$f.h5; done
    cd ../../features/in || exit 99
    quiet "$bin/convtt-data" features v.txt -o o.pack --backbone m.h5 --nodes f
    cd ../..
    rm -f */in/out */in/err
    write_reader > read_predictions
}

# Command of each scene, quiet as lines of progress on a slow machine would
# count as messages, and sweep's options for its files.
train_files="-c m.h5.ckpt -r --resume -l l.csv -l l.json"
train_run="$(real convtt-train) -q tiny.net -d t.txt --val v.txt $learn
    --checkpoint-every 1 -o m.h5 --log-csv l.csv --log-json l.json
    --window 1 --keep offload=1"
compress_files="-c c.h5.ckpt -r --resume -t r.json"
# Every stage, each with retraining of its own, and a checkpoint a batch.
compress_run="$(real convtt-compress) -q m.h5 -o c.h5 --report r.json --thin 0.3
    --thin-score response --thin-multiple 1 --svd-rank 2
    --svd-on responses --svd-least 10 --svd-except h.z,y --tt-rank 2
    --tt-least 10 --tt-except e,h.zx,y --prune 0.5 --prune-least 10
    --prune-steps 4 --share 2 --share-least 2 --share-epochs 2 --data t.txt
    --val v.txt --retrain-epochs 6 --checkpoint-every 1 -b 1 -t 1 -j 1 --strict
    --choose-by rules --max-frames 3 --int8 none --for bytes"
# INT8 alone: whatever it loses, it is trained.
bytes_files=$compress_files
bytes_run="$(real convtt-compress) -q m.h5 -o c.h5 --report r.json --int8 mse
    --int8-epochs 2 --int8-harm -1 --retrain-epochs 2
    --data t.txt --val v.txt --checkpoint-every 1 -b 1 -t 1 -j 1 --strict
    --max-frames 3"
bytes_reader="$(real convtt-info) c.h5"
train_reader="$(real convtt-info) m.h5"
compress_reader="$(real convtt-info) c.h5"
infer_reader=true    # writes no file
predict_reader="bash $dir/read_predictions"
decide_reader="$(real convtt-infer) --decide m.h5 1.webm"
pack_reader="$(real convtt-data) check o.pack"
infer_files=-x
infer_run="$(real convtt-infer) -q m.h5 v.txt --strict --threads 1"
decide_files=-x
decide_run="$(real convtt-infer) --calibrate -q m.h5 v.txt --strict --threads 1
    --max-gap 0.9 --delta 0.5 --guarantee marginal --answers a.csv"
predict_files=-x
predict_run="$(real convtt-infer) -q m.h5 v.txt --strict --threads 1 $foresee"
pack_files=-x
pack_run="$(real convtt-data) pack -q t.txt -o o.pack --model tiny.net --strict"
head_files=
head_reader=$train_reader
head_run="$(real convtt-train) -q --backbone b.h5 --nodes f
    -d t.txt --val none --test v.txt -t 1 -j 1 --strict --max-frames 3 -o m.h5
    --baselines off"
features_reader=$pack_reader
features_files="-x -c o.pack.journal"
features_run="$(real convtt-data) features -q t.txt -o o.pack --backbone m.h5
    --nodes f --strict"

# Libraries of modules are loaded before a fault: they do not survive one while
# they start, and functions of a library loaded later have no names here.
preload=$shim
for module in ffmpeg onednn; do
    so=$bin/.libs/convtt-$module.so
    [ ! -e "$so" ] || preload=$preload:$so
done

# faults SCENE FAULT COUNT: sweeps it, one worker per processor; adds up their
# counts in the variables of `sums`.  COUNT 0: all; each: three of those
# allocations that the same calls ask for.
sums='runs success error killed known bad missed'
faults() {
    local scene=$1 fault=$2 reader=${1}_reader files=${1}_files run=${1}_run
    local i pid=() rc=0 which="-n $3"
    [ "$3" != each ] || which='-u 3'
    for i in $(seq 0 $((workers - 1))); do
        "$sweep" -s "$preload" -m "$fault" $which -S "$seed" -p "$i/$workers" \
            -R "${!reader}" ${known_crashes:+-a "$known_crashes"} ${!files} \
            "$dir/$scene" -- ${!run} > "$scene.$fault.$i" 2>&1 & pid+=($!)
    done
    for i in "${pid[@]}"; do wait "$i" || rc=$?; done
    cat "$scene.$fault".[0-9]* > sweeps
    [ $rc -le 1 ] || fail "$scene $fault: $(tail -n 3 sweeps)"
    grep BAD sweeps | sed "s|^BAD|FAILED: $scene|" | head -n 20 | cut -c1-3000
    grep KNOWN sweeps >> known.found
    awk -v scene="$scene" -v fault="$fault" '/^SUM/ {
            n++; events = $2; s += $4; e += $6; k += $8; x += $10; b += $12
            m += $14 }
        END { printf "%-10s %-11s %7d %6d %7d %6d %6d %6d %6d %6d\n", scene,
              fault, events, s + e + k + x + b, s, e, k, x, b, m }' sweeps |
        tee -a table
}

# The sum of all rows; the test has failed if anything was bad.
total() {
    awk '{for (i = 4; i <= NF; i++) n[i] += $i}
        END {printf "%-10s %-11s %7s", "all", "", ""
             for (i = 4; i <= 10; i++) printf " %6d", n[i]
             print ""; exit n[9] > 0}' table || failed=1
    sort -k3 known.found | awk '{n = $2; $1 = $2 = ""; t[$0] += n}
        END {for (k in t) printf "expected %d times:%s\n", t[k], k}'
}
head_line() {
    printf '%-10s %-11s %7s %6s %7s %6s %6s %6s %6s %6s\n' scene fault events \
        runs success error killed known bad missed
}
