#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_export.sh: convtt-info --export and --import: models for other programs
# and weights of them.
set -u
tools="convtt-info"
root=$(cd "${srcdir:-.}" && pwd)
. "$root/tests/lib/cli.sh"
info=$bin/convtt-info

works() { "$@" > out 2> err < /dev/null || fail "$*: $(cat err)"; }

cat > a.net << 'END'
input x h=4 w=4 c=1 colour=gray
conv e in=x out=2 kernel=3
norm n in=e kind=batch
convlstm h in=n hidden=2
pool p in=h kind=avg
conv y in=p out=3
END

# Weights go out and come in, with the text or for another one.
says 0 'a text has no weights: they are random' \
    "$info" --export a.safetensors a.net
works "$info" --import a.safetensors -o a.h5
"$info" --all a.h5 |
    grep -q '^imported from a.safetensors file-crc=[0-9a-f]*$' ||
    fail 'the history does not say where the weights are from'
"$info" a.h5 | grep -q '^on disk .* bytes, [0-9.]* per parameter$' ||
    fail 'no bytes per parameter'
"$info" a.h5 | grep '^compressed' && fail 'an import is no compression'
[ "$("$info" --net a.h5)" = "$("$info" --net a.net)" ] ||
    fail 'the text is another one'
works "$info" --export b.safetensors a.h5
# Behind the header; a model that came in has classes with numbers.
data() { tail -c "+$((9 + $(od -An -tu8 -N8 "$1")))" "$1"; }
data a.safetensors > a.data
data b.safetensors > b.data
[ -s a.data ] && cmp a.data b.data || fail 'the weights are others'
sed 's/^\([^ ]*\) \(y\|p\) /\1 z\2 /; s/in=p/in=zp/' a.net > b.net
says 1 'b.net|no tensor zy.w, for zy.w' \
    "$info" --import a.safetensors -o b.h5 b.net
[ ! -e b.h5 ] || fail 'a model of half its weights'
"$info" --all a.h5 | awk '/^weight /, /^$/ { if (NF == 9) print $1, $1 }' |
    grep -v '^weight ' | sed 's/^y\./zy./' > b.map
works "$info" --import a.safetensors --map b.map -o b.h5 b.net
[ "$("$info" --export c.safetensors b.h5 && "$info" --net b.h5)" = \
    "$("$info" --net b.net)" ] || fail 'another text than that of b.net'

# ONNX: the same bytes each time, another file for each setting.
for set in '' --half '--for tensorrt' --with-softmax; do
    works "$info" --export m.onnx $set a.h5
    works "$info" --export n.onnx $set a.h5
    cmp m.onnx n.onnx || fail "--export $set is not the same again"
    cp m.onnx "with$(echo "$set" | tr -d ' ').onnx"
done
for name in with--half with--with-softmax with--fortensorrt; do
    ! cmp -s with.onnx $name.onnx || fail "$name.onnx is as without it"
done
[ "$(wc -c < with--half.onnx)" -lt "$(wc -c < with.onnx)" ] ||
    fail 'halves take as many bytes'
grep -aq '{"past.h": "next.h", "past.h.c": "next.h.c"}' with.onnx ||
    fail 'no property says which states there are'

# What was exported comes back with all that it remembers.
says 0 'with.onnx: an export of convtt' "$info" --import with.onnx -o back.h5
works "$info" --export again.onnx back.h5
cmp with.onnx again.onnx || fail 'the model that came back is another one'
"$info" --net back.h5 | grep -q '^state h.h1 of=h ' ||
    fail 'the model that came back remembers nothing'

says 0 '^model ' "$info" --all with.onnx
grep -q '^state h.h1 of=h ' out || fail 'as a model it remembers nothing'

# Wrong words.
says 2 'm.bin: must end in .onnx or .safetensors' "$info" --export m.bin a.h5
says 2 'are for ONNX' "$info" --export m.safetensors --half a.h5
says 2 'a.h5: given for two files' "$info" --export a.h5 a.h5
says 2 'no model given' "$info" --export m.onnx
says 2 'take one file' "$info" --export m.onnx a.h5 b.h5
says 2 '^convtt-info: --half' "$info" --half a.h5
says 2 '^convtt-info: --import' "$info" --import a.safetensors
says 2 'given for two files' "$info" --import a.safetensors -o a.safetensors
says 2 'a.h5: --import fills a model text' \
    "$info" --import a.safetensors -o c.h5 a.h5
echo 'no weights' > text
says 2 'text: neither safetensors nor a .pth' \
    "$info" --import text -o c.h5 a.net
cp a.h5 m.onnx
says 1 'm.onnx: is there already and is no ONNX file' \
    "$info" --export m.onnx a.h5
cmp -s a.h5 m.onnx || fail 'a model was replaced by ONNX'
cat > c.net << 'END'
input x h=1 w=1 c=1 colour=gray
clip
window v in=x steps=4 spread=1
pool p in=v kind=avg
conv y in=p out=2
END
says 1 'v: spread=1 shows steps' "$info" --export c.onnx c.net
[ ! -e c.onnx ] || fail 'a file of what ONNX cannot say'
cat > d.net << 'END'
input x h=1 w=1 c=1 colour=gray normalise=clip
conv y in=x out=2
END
says 0 'normalise=clip is not in the graph' "$info" --export d.onnx d.net

# The maps that are installed are of the models.
while read -r name net; do
    text=$root/models/$net.net
    [ -e "$text" ] || { text=zoo.net; "$root/models/zoo.sh" "$net" > zoo.net; }
    awk '!/^#/ { print $1 }' "$root/models/$name.map" | sort > of.map
    "$info" --net "$text" | awk '
        $1 == "conv" || $1 == "norm" { print $2 ".*" }' | sort |
        cmp - of.map ||
        fail "$name.map is not of $net"
done << 'END'
mobilenet-v2 mobilenet-v2
mobilenet-v2 backbone-mobilenet-v2
efficientnet-lite0 backbone-efficientnet-lite0
resnet18 resnet18
mobilenet-v2-timm mobilenet-v2
efficientnet-lite0-timm backbone-efficientnet-lite0
resnet50 resnet50
vgg16 vgg16
vgg16-timm vgg16
alexnet2014 alexnet2014
END

exit $failed
