#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_models.sh: the models that come with convtt: each text is read, printed
# and read again, each has its row in models/README.md, and those of published
# networks have the published size.
set -u
tools="convtt-info"
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
info=$bin/convtt-info

# size FILE PARAMETERS MULTIPLICATIONS, to the last digit
size() {
    "$info" "$root/models/$1" > out || fail "$1 is refused"
    grep -qE "^parameters +[0-9.]+ [kM] \\($2\\)\$" out ||
        fail "$1 has not $2 parameters: $(grep ^parameters out)"
    grep -qE \
        "^multiplications [0-9.]+ [kMG] \\($3\\) per frame, 0 per answer\$" \
        out ||
        fail "$1 has not $3 multiplications: $(grep ^multiplications out)"
}

# As the literature on compression counts them (Han et al. 2015).
size lenet-300-100.net 266610 266200
size lenet-5.net 431080 2293000

# Shi et al. 2015 and Su et al. 2020 as Su et al. measured them, 12 layers.
size mnist-convlstm.net 3973201 16266362880
size mnist-convttlstm.net 2687281 10997268480

# Wang et al. 2019: variables of their code for Moving-MNIST.
size mnist-e3dlstm.net 12898832 9147514880

# trained FILE PARAMETERS: without the running means and variances of norms,
# half of what those have
trained() {
    all=$("$info" "$root/models/$1" |
        awk '$2 == "norm" { less += $4 / 2 }
             /^parameters/ { all = substr($NF, 2) + 0 }
             END { print all - less }')
    [ "$all" = "$2" ] || fail "$1 trains $all parameters, not $2"
}

# He et al. 2016 and Sandler et al. 2018 as torchvision counts them, at 224x224
# with 1,000 classes.
size resnet18.net 11699112 1814073344
trained resnet18.net 11689512
size mobilenet-v2.net 3538984 300774272
trained mobilenet-v2.net 3504872
# Tan and Le 2019, the lite form: 4,652,008 as PyTorch counts it; at 129x129.
trained backbone-efficientnet-lite0.net 4652008
trained backbone-mobilenet-v2.net 3504872

# The zoo, as torchvision counts them, xception as Keras (with its running means
# and variances) and alexnet as Caffe.
while read -r name all with; do
    "$root/models/zoo.sh" "$name" > zoo.net || fail "zoo.sh $name: status $?"
    [ "$("$info" zoo.net | awk -v with="$with" '
        $2 == "norm" && !with { less += $4 / 2 }
        /^parameters/ { all = substr($NF, 2) + 0 }
        END { print all - less }')" = "$all" ] ||
        fail "zoo.sh $name: not $all parameters"
    echo "$name"
done > named << 'END'
alexnet 60965224
alexnet2014 61100840
vgg16 138357544
vgg19 143667240
resnet50 25557032
resnet101 44549160
resnet152 60192808
resnext50 25028904
densenet121 7978856
squeezenet 1248424
inception3 23834568
xception 22910480 with
END
[ "$("$root/models/zoo.sh" | tr ' ' '\n')" = "$(cat named)" ] ||
    fail "zoo.sh has $("$root/models/zoo.sh"), checked: $(cat named)"
says_2=$("$root/models/zoo.sh" lenet 2>&1) && fail "zoo.sh lenet: status 0"
case $says_2 in *'none of: alexnet'*) ;; *) fail "zoo.sh: $says_2" ;; esac

# As published for Moving-MNIST they end in a conv; without the # of its last
# line, a text is the variant of the other data sets, which ends in a sigmoid.
for f in mnist-convlstm.net mnist-convttlstm.net; do
    "$info" --net "$root/models/$f" | tail -n 1 | grep -q '^conv o in=s4 ' ||
        fail "$f does not end in the conv o"
    sed 's/^#act /act /' "$root/models/$f" > variant.net
    "$info" --net variant.net > of.variant || fail "the variant is refused"
    [ "$(tail -n 1 of.variant)" = 'act y in=o kind=sigmoid' ] ||
        fail "the variant of $f does not end in a sigmoid"
    [ "$("$info" --net "$root/models/$f")" = "$(head -n -1 of.variant)" ] ||
        fail "the variant of $f differs by more than the sigmoid"
done

rows=0
for f in "$root"/models/*.net; do
    name=$(basename "$f")
    "$info" --net "$f" > once.net || fail "$name is refused"
    "$info" --net once.net > twice.net || fail "what $name prints is refused"
    cmp once.net twice.net || fail "$name: print and read is not the identity"
    "$info" "$f" | tail -n +2 > of.text
    "$info" once.net | tail -n +2 > of.print
    cmp of.text of.print || fail "$name: what is printed is another model"
    grep -q "^| \`$name\` " "$root/models/README.md" ||
        fail "models/README.md has no row for $name"
    rows=$((rows + 1))
done
[ "$rows" -ge 12 ] || fail "only $rows models in $root/models"
# An installed model is found by its name, wherever the installation lies; a
# file of that name comes first.
mkdir -p at/bin at/share/convtt/models
cp "$bin/convtt-info" at/bin
cp "$root/models/early-lstm.net" at/share/convtt/models
at/bin/convtt-info --net early-lstm > found 2> err ||
    fail "an installed model: $(cat err)"
"$bin/convtt-info" --net "$root/models/early-lstm.net" | cmp - found ||
    fail 'another model than the installed one'
says 1 'early-lst: ' at/bin/convtt-info --net early-lst
echo 'no model' > early-lstm
says 1 '^convtt-info: early-lstm: ' at/bin/convtt-info --net early-lstm
exit $failed
