#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_offload_cli.sh: convtt-train --keep offload and auto: the file is that of
# --keep all, byte for byte, also after --resume with another --keep; what is
# offloaded leaves no file behind, and a folder without room is one line.
set -u
tools="convtt-train convtt-data"
. "${srcdir:-.}/tests/lib/cli.sh"
make_clips
unset TMPDIR

cat > clip.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
dropout d in=e rate=0.1
convlstm l in=d hidden=8
clip
window v in=l steps=2
pool p in=v kind=avg
conv y in=p out=12
END
cat > next.net << 'END'
input x h=16 w=16 c=3 fps=6
convlstm l in=x hidden=6 kernel=3
conv o in=l out=3
act y in=o kind=sigmoid
END
train="$bin/convtt-train"
clip="$train clip.net --data clips --batch 8 --max-steps 4 --threads 1
      --max-frames 12"
# The answer is fed back from the second step on.
next="$train next.net --task predict --data clips --input-frames 4
      --future-frames 5 --batch 4 --epochs 1 --max-steps 4 --threads 1
      --sampling-start 1 --sampling-decay 0.5"
line='^memory: .* windows of up to . steps are kept'

# same NAME COMMAND...: each way to keep gives the file that all of it gives.
same() {
    local name=$1 k
    shift
    says 0 'written' "$@" -o all.h5 --keep all
    for k in 1 offload offload=1 offload=3; do
        case $k in
        offload*) says 0 "$line, [0-9]+ are offloaded to \. \([0-9]+ MB\)" \
            "$@" -o k.h5 --keep $k ;;
        *) says 0 "$line, the others are recomp" "$@" -o k.h5 --keep $k ;;
        esac
        cmp -s all.h5 k.h5 || fail "$name: --keep $k is not --keep all"
    done
}
# shellcheck disable=SC2086
for window in 1 2 3; do
    same "clip, windows of $window" $clip --window $window
    same "next, windows of $window" $next --window $window
done
# shellcheck disable=SC2086
same "two shards" $clip --window 2 --shards 2
# shellcheck disable=SC2086
same "mixed precision" $next --window 2 --amp O1

# auto offloads, recomputes or both, as is faster here; to the disk only if it
# is named.
measured='[0-9]+ MB/s\)'
# shellcheck disable=SC2086
{
    says 0 'written' $next -o all.h5 --window 1 --val-batch 1 --batch 16
    mkdir -p away
    auto="$next -o auto.h5 --window 1 --keep auto --val-batch 1 --batch 16
          --cache 0"
    says 0 "$line.*$measured.*: a step takes about [0-9.]+ times" \
        $auto --offload away --memory 7M
    cmp -s all.h5 auto.h5 || fail "--keep auto is not --keep all"
    says 0 "$line, the others are recomputed$" $auto --memory 7M
    cmp -s all.h5 auto.h5 || fail "--keep auto is not --keep all"
}

# A training that goes on with another way to keep.
# shellcheck disable=SC2086
for way in "all all" "offload 0" "0 offload=1"; do
    rm -f part.h5 part.h5.ckpt
    says 0 '' $clip --window 2 --max-steps 0 --epochs 2 --pause 1 -o part.h5 \
        --keep ${way% *}
    [ -e part.h5.ckpt ] || fail "$way: no checkpoint"
    says 0 'written' $clip --window 2 --max-steps 0 --epochs 2 -o part.h5 \
        --keep ${way#* } --resume
    if [ "$way" = "all all" ]; then
        cp part.h5 whole.h5
    else
        cmp -s part.h5 whole.h5 || fail "resumed: $way is not all"
    fi
done

# Where it goes.
mkdir temp outs
# shellcheck disable=SC2086
{
    TMPDIR=temp says 0 'offloaded to temp \(' $clip --window 2 --keep offload \
        -o outs/a.h5
    says 0 'offloaded to outs \(' $clip --window 2 --keep offload -o outs/a.h5
    TMPDIR=temp says 0 'offloaded to outs \(' $clip --window 2 --keep offload \
        --offload outs -o a.h5
}
[ -z "$(ls temp)" ] || fail "left behind: $(ls temp)"
[ "$(ls outs)" = a.h5 ] || fail "left behind: $(ls outs)"

# Options and folders that do not work: one line.
# shellcheck disable=SC2086
{
    says 2 'offload requires --keep=auto or --keep=offload' $clip -o a.h5 \
        --offload outs
    says 2 "keep: bad value 'offload=0'" $clip -o a.h5 --keep offload=0
    says 2 '--keep=offload requires --window' $clip -o a.h5 --keep offload
    off="$clip -o a.h5 --window 1 --keep offload --batch 16"
    says 1 'offload: nothere: cannot write a file there: No such' $off \
        --offload nothere
    says 1 'offload: a.h5: no folder' $off --offload a.h5
    says 1 'offload: /proc: cannot write a file there' $off --offload /proc
    says 1 'offload: nothere: cannot write' $clip -o a.h5 --window 1 \
        --keep auto --offload nothere --memory 6M --val-batch 1 --cache 0 \
        --batch 16
    (ulimit -f 1000 && says 1 'a file of . MB is larger than ulimit' $off &&
     exit $failed) || failed=1
}
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=100k tmpfs away 2> err; then
    # shellcheck disable=SC2086
    says 1 'offload: away: a file of [0-9]+ MB: No space left on device' $off \
        --offload away
    umount away
else
    echo "no full disk: $(head -1 err)"
fi

# A program that is killed leaves nothing.
rm -rf away && mkdir away
# shellcheck disable=SC2086
$clip -o killed.h5 --window 1 --keep offload --offload away --max-steps 0 \
    --epochs 10000 > out.log 2> err &
pid=$!
for _ in $(seq "$ticks"); do
    has=$(find /proc/$pid/fd -lname "*/away/*(deleted)" 2> /dev/null)
    [ -z "$has" ] || break
    kill -0 $pid 2> /dev/null || break
    sleep 0.1
done
[ -n "$has" ] || fail "no file without a name: $(ls -l /proc/$pid/fd; cat err)"
[ -z "$(ls away)" ] || fail "it has a name: $(ls away)"
kill -9 $pid
wait $pid 2> /dev/null
[ -z "$(ls away)" ] || fail "left behind: $(ls away)"

# On a GPU: to the host's memory, or to a file through it.
sim=$bin/tests/sim/.libs
if [ -e "$sim/convtt-cuda.so" ]; then
    export CTT_MODULES=$sim:$bin/.libs
    for net in "$clip --max-steps 2" "$next --max-steps 2"; do
        gpu="$net --device cuda --amp O1 --window 2"
        # shellcheck disable=SC2086
        {
            says 0 'written' $gpu -o all.h5
            says 0 "offloaded to the host's memory \(" $gpu -o k.h5 \
                --keep offload
            cmp -s all.h5 k.h5 || fail "$gpu: offload is not all"
            says 0 'offloaded to outs \(' $gpu -o k.h5 --keep offload=3 \
                --offload outs
            cmp -s all.h5 k.h5 || fail "$gpu: a file is not all"
        }
    done
else
    echo "no simulation"
fi
exit $failed
