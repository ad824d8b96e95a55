#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_depth_cli.sh: convtt-train --keep depth and auto on pictures: the file is
# that of --keep all, byte for byte, with batch norms and dropout, in mixed
# precision, and in shards; less memory is used, and said.
set -u
tools=convtt-train
. "${srcdir:-.}/tests/lib/cli.sh"

for class in 1 5000; do
    mkdir -p "pics/c$class"
    for i in 1 2 3 4 5 6 7 8; do
        { printf 'P6\n32 32\n255\n'
          seq $((i * 7 + class)) 14000 | tr -d '\n' | head -c 3072
        } > "pics/c$class/$i.ppm"
    done
done
{
    echo "input x h=32 w=32 c=3"
    echo "conv e in=x out=8 kernel=3 pad=1"
    last=e
    for i in 1 2 3 4 5 6; do
        echo "resblock b$i in=$last out=8"
        echo "dropout d$i in=b$i rate=0.1"
        last=d$i
    done
    echo "clip"
    echo "window v in=$last steps=1"
    echo "pool p in=v kind=avg"
    echo "conv y in=p out=2"
} > deep.net
train="$bin/convtt-train deep.net --data pics --batch 8 --epochs 2
       --max-steps 3 --threads 1 --val-batch 1"
line='^memory: .* in a window [1-9][0-9]* runs of its [0-9]+ nodes are repeated'

# same NAME OPTION...: the plans give the file that all values give.
same() {
    local name=$1 keep
    shift
    # shellcheck disable=SC2086
    says 0 'written' $train "$@" -o all.h5 --keep all
    # shellcheck disable=SC2086
    for keep in depth "auto --memory $limit"; do
        says 0 "$line" $train "$@" -o k.h5 --keep $keep
        cmp -s all.h5 k.h5 || fail "$name: --keep $keep is not --keep all"
    done
}
limit=7M
same "residual"
limit=6M
same "shards" --shards 2
same "mixed precision" --amp O1

# shellcheck disable=SC2086
says 1 'out of memory: . MB do not fit' \
    $train -o no.h5 --keep auto --memory 3M
exit $failed
