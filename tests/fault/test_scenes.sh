#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_scenes.sh: one short run of each program, each stage of compression, a
# stream, the simulated GPU and two processes, undisturbed: what sanitizers
# watch of the programs in .ci/run.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
here=$(cd "$bin" && cd "${srcdir:-.}" && pwd)
. "$here/tests/fault/scenes.sh"
make_scenes
[ $failed = 0 ] || exit 1

# scene NAME: its run, and what reads its files.
scene() {
    local run=${1}_run reader=${1}_reader
    echo "$1"
    cd "$dir/$1/in" || exit 99
    # shellcheck disable=SC2086
    quiet ${!run}
    # shellcheck disable=SC2086
    quiet ${!reader}
}
for s in train compress bytes infer decide predict pack features head; do
    scene $s
done

# A search for an assignment, to its end.
cd "$dir/compress/in" || exit 99
quiet "$(real convtt-compress)" m.h5 -o b.h5 --budget bytes=2k,top1=-100 \
    -d t.txt --val v.txt -b 1 -t 1 -j 1 --strict --max-frames 3 \
    --choose-by rules --budget-steps 1 --retrain-epochs 1
grep -q 'b.h5 written: round' out || fail "--budget: $(cat out)"

cd "$dir/train/in" || exit 99
train="$(real convtt-train)"
infer="$(real convtt-infer)"
lists="-d t.txt --val v.txt"
quiet "$(real convtt-data)" check t.txt
quiet "$(real convtt-info)" --compare m.h5 "$dir/compress/in/c.h5" --data v.txt
quiet "$(real convtt-info)" --plan m.h5
quiet "$infer" --bench m.h5 --runs 20
head -c 1920 /dev/zero | "$infer" m.h5 --stream - --raw 8x8xrgb24@6 --json \
    > out 2> err || fail "--stream: $(cat err)"
grep -q '^{"total"' out || fail "--stream: $(cat out)"
echo 'lr log 1e-3 0.1' > space.txt
quiet "$train" tiny.net $lists $learn --search space.txt --trials 2 \
    --search-method random -o s.h5
if [ -e "$bin/tests/sim/.libs/convtt-cuda.so" ]; then
    CTT_MODULES=$bin/tests/sim/.libs:$bin/.libs quiet "$train" tiny.net \
        $lists $learn --device cuda -o g.h5
fi
if (cd "$dir" && . "$here/tests/lib/mpirun.sh"); then
    cd "$dir" && rm -rf launcher && . "$here/tests/lib/mpirun.sh"
    cd train/in || exit 99
    quiet limited mpirun -np 2 "$train" tiny.net $lists $learn --shards 2 \
        -o r.h5
fi
exit $failed
