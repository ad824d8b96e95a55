#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# seeds.sh: every command of doc/seeds.md runs in a small form: a step or two, a
# few made clips and pictures of noise.  A command that is no longer there, an
# option that is gone or a record that fails is named.  Part of make nightly.
# SEEDS_ONLY=REGEX: only these commands (the models they read are made first).
set -u
tools='convtt-compress convtt-data convtt-infer convtt-info convtt-train'
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
# What the records read (their head says what it means).
export BUILD=$bin STEPS=1 TURNS=1 SEEDS=1 EPOCHS=1 THREADS=1 \
    LIMITS=160M MOST=500 \
    FRAMES=4 BATCH=4 STAGES=2 SHARDS=2 WINDOWS=0 BUCKETS=1 LAYERS=2 CHANNELS=2 \
    TRIALS=2 RANKS=16 STRONG=1 RATES=12.5 \
    SIZES=64 PARTS=2 RUNS=1 PICTURES=260 BATCHES=64 \
    MADE='--clips 82 --test 41' \
    KINDS='fp32 fp16' MORE='--epochs 1 --max-steps 1'
export srcdir=$root CTT_CHECK_EVERY=9
mpi=1
. "$root/tests/lib/mpirun.sh" || mpi=
export CTT_MODULES=$bin/.libs PATH=$bin:$PATH
ln -s "$root/models" "$bin"/convtt-* .
make_clips
mkdir amp_accuracy && ln -s ../clips amp_accuracy
# Lines of 3 to 90 words.
awk 'BEGIN { for (i = 0; i < 200; i++) {
                 for (k = 0; k < 3 + i * 7 % 88; k++)
                     printf "w%d ", (i + k * k) % 50
                 print "." } }' > verses
printf '%s\n' 'input x c=1' 'embed e in=x vocab=99 out=32' \
    'lstm h in=e hidden=128' 'conv y in=h out=99' > chars.net
mkdir mnist
idx() {     # idx PICTURES BYTES: so many, of noise or of zeros
    local n
    n=$(printf '\\x%02x' $(($1 >> 24)) $(($1 >> 16 & 255)) $(($1 >> 8 & 255)) \
        $(($1 & 255)))
    if [ "$2" = 1 ]; then
        printf '\0\0\x08\x01'"$n" && head -c "$1" /dev/zero
    else
        printf '\0\0\x08\x03'"$n"'\0\0\0\x1c\0\0\0\x1c' &&
            head -c $(($1 * $2)) /dev/urandom
    fi
}
idx 300 784 > mnist/train-images-idx3-ubyte
idx 300 1 | tr '\0' '\1' > mnist/labels    # two classes
{ head -c 158 mnist/labels; head -c 150 /dev/zero; } > tail
{ printf '\0\0\x08\x01\0\0\x01\x2c'; tail -c +9 tail; } \
    > mnist/train-labels-idx1-ubyte
rm mnist/labels
idx 10000 784 > mnist/t10k-images-idx3-ubyte
idx 10000 1 > mnist/t10k-labels-idx1-ubyte

make="${MAKE:-make} -C $bin --no-print-directory"
# What makes a command small.
small() {
    local line=$1
    case $line in
    *--amp-plan* | *--lint* | *'convtt-info'*) ;;
    *'--dsd'*) line+=' --batch 16 --max-steps 10' ;;
    *convtt-train*) line+=' --epochs 1 --max-steps 1 --threads 1' ;;
    *convtt-compress*) line+=' --threads 1' ;;
    *--bench*) line+=' --threads 1' ;;
    esac
    case $line in
    *convtt-train*mnist:*)
        line+=' --sequences 8 --val-sequences 2 --val-batch 2'
        line+=' --input-frames 2 --future-frames 2' ;;
    *convtt-infer*mnist:*) line+=' --sequences 2' ;;
    *lenet.sh*) export NETS=lenet-300 ROWS='^3 bits' ;;
    *bands.sh*) export NETS=conv HOW=filters ;;
    *zoo.sh*) export NETS=squeezenet ;;
    *batch.sh*) export WAYS=SGD ;;
    *offload.sh*) unset WAYS ;;
    esac
    line=${line/#bench/$root/bench}    # a link would not be its folder
    line=${line/#bash tests/bash $root/tests}
    case $line in
    *bands.sh*) line="$make bench/bench_split > made && $line" ;;
    *run_comm.sh*) line="$make bench/bench_comm > made && cd $bin && $line" ;;
    esac
    echo "$line"
}
# Records that compare with a bar, which noise misses: what they say then.
may_miss='lenet\.sh|amp_accuracy\.sh'
missed='MISSED|points of fp32'

grep -E '^\| ' "$root/doc/seeds.md" | grep -v '^| statement ' > rows
awk -F'|' 'NF != 7' rows > odd
[ ! -s odd ] || fail "rows without five columns: $(cat odd)"
awk -F'|' '{ print $4 }' rows | grep -o '`[^`]*`' | tr -d '`' |
    awk '!seen[$0]++' > commands
[ "$(wc -l < commands)" -ge 50 ] || fail "only $(wc -l < commands) commands"
awk -F'|' '$4 ~ /^ *$/ && $3 !~ /not (built|possible)/' rows > without
[ ! -s without ] || fail "no command, and not 'not built': $(cat without)"
ran=0 skipped=0
while IFS= read -r line; do
    [[ $line =~ ${SEEDS_ONLY:-.} ]] || continue
    case $line in
    'make check TESTS='*)
        test=${line#*=}
        { $make "$test" && (cd "$bin" && env -u CTT_MODULES "./$test"); } \
            > out 2> err < /dev/null
        rc=$? ;;
    *)
        [ "$mpi" ] || [[ ! $line =~ mpirun|stages|run_comm ]] ||
            { skipped=$((skipped + 1)); continue; }
        small "$line" > do.sh
        limited bash do.sh > out 2> err < /dev/null
        rc=$? ;;
    esac
    case $rc in
    0) ran=$((ran + 1)) ;;
    77) skipped=$((skipped + 1)) && echo "skipped: $line" ;;
    1) [[ $line =~ $may_miss ]] && grep -qE "$missed" out &&
        ran=$((ran + 1)) ||
        fail "$line: $(tail -n 3 err out)" ;;
    *) fail "$line: status $rc: $(tail -n 3 err out)" ;;
    esac
done < commands
echo "$ran commands of doc/seeds.md run, $skipped skipped"
exit $failed
