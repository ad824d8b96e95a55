#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# zoo.sh: published networks for pictures as texts of the model language:
# models/zoo.sh NAME > NAME.net; without a name, the names.
#
# Each is a function below that calls layer, which prints lines and leaves the
# name of the result in `at`.  Sizes as in torchvision where it has the network
# (alexnet: as in the paper, with two groups and response normalisation, which
# is Caffe's; alexnet2014 is torchvision's; xception: as in Keras).  Dropout is left out.  Average pooling
# with padding counts pixels of the input only, as the published Inception does.
set -euo pipefail

n=0 at=
input() {   # input SIZE
    echo "input x h=$1 w=$1 c=3 mean=0.485,0.456,0.406 std=0.229,0.224,0.225"
    at=x
}
# layer WORD [KEY=VALUE...]: a line that reads $at, or in= of the keys.
layer() {
    local word=$1 in=" in=$at"
    shift
    [[ " $* " != *' in='* ]] || in=
    n=$((n + 1)) at=n$n
    echo "$word $at$in $*"
}
conv() { layer conv "$@"; }                       # with a bias
relu() { layer act kind=relu; }
bn() { layer norm kind=batch; }
cbn() { layer conv bias=0 "$@"; bn; }             # conv, norm
cbr() { cbn "$@"; relu; }                         # conv, norm, relu
maxpool() { layer pool kind=max "$@"; }
avgpool() { layer pool kind=avg "$@"; }
concat() { layer concat in="$(IFS=,; echo "$*")"; }
add() { layer add in="$1,$2"; }
classifier() { avgpool; conv out=1000; }                # mean of all pixels

alexnet() {     # Krizhevsky et al. 2012
    input 227
    conv out=96 kernel=11 stride=4; relu
    layer lrn size=5 k=2; maxpool kernel=3 stride=2
    conv out=256 kernel=5 pad=2 groups=2; relu
    layer lrn size=5 k=2; maxpool kernel=3 stride=2
    conv out=384 kernel=3 pad=1; relu
    conv out=384 kernel=3 pad=1 groups=2; relu
    conv out=256 kernel=3 pad=1 groups=2; relu; maxpool kernel=3 stride=2
    conv out=4096 kernel=6; relu
    conv out=4096; relu; conv out=1000
}

alexnet2014() { # Krizhevsky 2014 with one column, which is torchvision's
    input 224
    conv out=64 kernel=11 stride=4 pad=2; relu; maxpool kernel=3 stride=2
    conv out=192 kernel=5 pad=2; relu; maxpool kernel=3 stride=2
    conv out=384 kernel=3 pad=1; relu
    conv out=256 kernel=3 pad=1; relu
    conv out=256 kernel=3 pad=1; relu; maxpool kernel=3 stride=2
    conv out=4096 kernel=6; relu
    conv out=4096; relu; conv out=1000
}

vgg() {         # vgg CONVS...: per block (Simonyan and Zisserman 2015)
    local wide=64 k
    input 224
    for convs in "$@"; do
        for ((k = 0; k < convs; k++)); do
            conv out=$wide kernel=3 pad=1; relu
        done
        maxpool kernel=2 stride=2
        wide=$((wide < 512 ? 2 * wide : 512))
    done
    conv out=4096 kernel=7; relu
    conv out=4096; relu; conv out=1000
}
vgg16() { vgg 2 2 3 3 3; }
vgg19() { vgg 2 2 4 4 4; }

bottleneck() {  # bottleneck INNER OUTER STRIDE GROUPS PROJECT
    local in=$at short=$at
    cbr out=$1; cbr out=$1 kernel=3 pad=1 stride=$3 groups=$4
    cbn out=$2
    local long=$at
    if [ "$5" = 1 ]; then
        cbn in=$in out=$2 stride=$3
        short=$at
    fi
    add "$long" "$short"; relu
}
resnet() {      # resnet GROUPS INNER BLOCKS... (He et al. 2016)
    local groups=$1 inner=$2 outer=256 stride=1 k
    shift 2
    input 224
    cbr out=64 kernel=7 stride=2 pad=3; maxpool kernel=3 stride=2 pad=1
    for blocks in "$@"; do
        for ((k = 0; k < blocks; k++)); do
            bottleneck $inner $outer $stride $groups $((k == 0))
            stride=1
        done
        inner=$((2 * inner)) outer=$((2 * outer)) stride=2
    done
    classifier
}
resnet50() { resnet 1 64 3 4 6 3; }
resnet101() { resnet 1 64 3 4 23 3; }
resnet152() { resnet 1 64 3 8 36 3; }
resnext50() { resnet 32 128 3 4 6 3; }  # 32x4d, Xie et al. 2017

densenet121() { # Huang et al. 2017
    local wide=64 last k
    input 224
    cbr out=64 kernel=7 stride=2 pad=3; maxpool kernel=3 stride=2 pad=1
    for layers in 6 12 24 16; do
        for ((k = 0; k < layers; k++)); do
            last=$at
            bn; relu; cbr out=128; conv bias=0 out=32 kernel=3 pad=1
            concat "$last" "$at"
            wide=$((wide + 32))
        done
        bn; relu
        [ "$layers" != 16 ] || break
        wide=$((wide / 2))
        conv bias=0 out=$wide; avgpool kernel=2 stride=2
    done
    classifier
}

fire() {        # fire SQUEEZE EXPAND
    conv out=$1; relu
    local in=$at
    conv out=$2; relu
    local one=$at
    conv in=$in out=$2 kernel=3 pad=1; relu
    concat "$one" "$at"
}
squeezenet() {  # version 1.0, Iandola et al. 2016
    input 224
    conv out=96 kernel=7 stride=2; relu; maxpool kernel=3 stride=2
    fire 16 64; fire 16 64; fire 32 128
    maxpool kernel=3 stride=2 after=1       # 54 to 27, rounded up
    fire 32 128; fire 48 192; fire 48 192; fire 64 256
    maxpool kernel=3 stride=2
    fire 64 256; conv out=1000; relu; avgpool
}

# Branches of an Inception block: begin, branch LINE..., end.
begin() { from=$at parts=(); }
branch() {      # branch COMMAND...: commands of layers, from the block's input
    at=$from
    for line in "$@"; do $line; done
    parts+=("$at")
}
end() { concat "${parts[@]}"; }
inception_a() {
    begin
    branch 'cbr out=64'
    branch 'cbr out=48' 'cbr out=64 kernel=5 pad=2'
    branch 'cbr out=64' 'cbr out=96 kernel=3 pad=1' 'cbr out=96 kernel=3 pad=1'
    branch 'avgpool kernel=3 stride=1 pad=1' "cbr out=$1"
    end
}
inception_b() {
    begin
    branch 'cbr out=384 kernel=3 stride=2'
    branch 'cbr out=64' 'cbr out=96 kernel=3 pad=1' \
        'cbr out=96 kernel=3 stride=2'
    branch 'maxpool kernel=3 stride=2'
    end
}
row='kernel=1,1,7 pad=0,0,3' column='kernel=1,7,1 pad=0,3,0'
inception_c() {
    begin
    branch 'cbr out=192'
    branch "cbr out=$1" "cbr out=$1 $row" "cbr out=192 $column"
    branch "cbr out=$1" "cbr out=$1 $column" "cbr out=$1 $row" \
        "cbr out=$1 $column" "cbr out=192 $row"
    branch 'avgpool kernel=3 stride=1 pad=1' 'cbr out=192'
    end
}
inception_d() {
    begin
    branch 'cbr out=192' 'cbr out=320 kernel=3 stride=2'
    branch 'cbr out=192' "cbr out=192 $row" "cbr out=192 $column" \
        'cbr out=192 kernel=3 stride=2'
    branch 'maxpool kernel=3 stride=2'
    end
}
pair() {        # two convs of one input, joined
    local in=$at
    cbr out=384 kernel=1,1,3 pad=0,0,1
    local one=$at
    cbr in=$in out=384 kernel=1,3,1 pad=0,1,0
    concat "$one" "$at"
}
inception_e() {
    begin
    branch 'cbr out=320'
    branch 'cbr out=384' pair
    branch 'cbr out=448' 'cbr out=384 kernel=3 pad=1' pair
    branch 'avgpool kernel=3 stride=1 pad=1' 'cbr out=192'
    end
}
inception3() {  # Szegedy et al. 2016, without the auxiliary classifier
    input 299
    cbr out=32 kernel=3 stride=2; cbr out=32 kernel=3
    cbr out=64 kernel=3 pad=1; maxpool kernel=3 stride=2
    cbr out=80; cbr out=192 kernel=3; maxpool kernel=3 stride=2
    inception_a 32; inception_a 64; inception_a 64
    inception_b
    inception_c 128; inception_c 160; inception_c 160; inception_c 192
    inception_d; inception_e; inception_e
    classifier
}

separable() {   # separable IN OUT: a depthwise and a 1x1 conv, norm
    layer conv bias=0 out=$1 kernel=3 pad=1 groups=$1
    cbn out=$2
}
shrink() {      # shrink IN MIDDLE OUT PADDING FIRST: a block that halves
    local in=$at
    [ "$5" = 1 ] || relu
    separable $1 $2; relu; separable $2 $3
    maxpool kernel=3 stride=2 $4
    local long=$at
    cbn in=$in out=$3 stride=2
    add "$long" "$at"
}
xception() {    # Chollet 2017
    local k in
    input 299
    cbr out=32 kernel=3 stride=2; cbr out=64 kernel=3
    shrink 64 128 128 pad=1 1
    shrink 128 256 256 'pad=0 after=1' 0
    shrink 256 728 728 pad=1 0
    for ((k = 0; k < 8; k++)); do
        in=$at
        relu; separable 728 728; relu; separable 728 728
        relu; separable 728 728; add "$in" "$at"
    done
    shrink 728 728 1024 pad=1 0
    separable 1024 1536; relu; separable 1536 2048; relu
    classifier
}

names='alexnet alexnet2014 vgg16 vgg19 resnet50 resnet101 resnet152 resnext50 densenet121
squeezenet inception3 xception'
[ $# = 1 ] || { echo $names; exit 0; }
case " $(echo $names) " in
*" $1 "*) ;;
*) echo "zoo.sh: $1 is none of: $(echo $names)" >&2; exit 2 ;;
esac
echo "# $1, made by models/zoo.sh"
$1
