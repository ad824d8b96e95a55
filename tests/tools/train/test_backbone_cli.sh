#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_backbone_cli.sh: --backbone: a head on the maps of another model: it
# finds out whether the movement or the picture tells the class, leaves the
# backbone as it was, and is a model as any other: it streams, goes out as ONNX,
# is compressed.
set -u
tools="convtt-compress convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

# make_clips SEED CLIPS FOLDER: a list of folders of 4 to 6 pictures; a square
# of one of two colours at any place, which moves or stays.
make_clips() {
    echo path,colour,move
    LC_ALL=C awk -v seed="$1" -v n="$2" -v dir="$3" 'BEGIN {
        srand(seed)
        for (k = 0; k < n; k++) {
            c = k % 2; m = int(k / 2) % 2
            system("mkdir -p " dir "/" k)
            x = int(rand() * 11); y = int(rand() * 11)
            for (t = 0; t < 4 + k % 3; t++) {
                f = sprintf("%s/%d/%04d.ppm", dir, k, t)
                printf "P6\n17 17\n255\n" > f
                if (m) { x = (x + 3) % 12; y = (y + 5) % 12 }
                for (j = 0; j < 17; j++)
                    for (i = 0; i < 17; i++) {
                        on = i >= x && i < x + 5 && j >= y && j < y + 5
                        v = sprintf("%c", 20 + int(rand() * 9))
                        o = sprintf("%c", 200)
                        printf "%s%s%s", on && !c ? o : v, on && c ? o : v, \
                            v > f
                    }
                close(f)
            }
            print dir "/" k "," (c ? "green" : "red") "," (m ? "moves" : \
                "stays")
        }
    }'
}
make_clips 1 60 a > a.csv
make_clips 2 40 b > b.csv
# The column that is the class: list COLUMN FILE.
list() { awk -F, -v c="$1" '{ print $1 "," (NR == 1 ? "label" : $c) }' "$2"; }
for column in 2 3; do
    list $column a.csv > train-$column.csv
    list $column b.csv > test-$column.csv
done
cat > back.net << 'END'
input x h=17 w=17 c=3 mean=0.2 std=0.25
conv c1 in=x out=12 kernel=3 stride=2 pad=1 bias=0
norm n1 in=c1 kind=batch
act s8 in=n1 kind=relu
conv c2 in=s8 out=16 kernel=3 stride=2 pad=1 bias=0
norm n2 in=c2 kind=batch
act s16 in=n2 kind=relu
pool p in=s16 kind=avg
conv y in=p out=2
END
works() { "$@" > out 2> err || fail "$*: status $?: $(head -3 err)"; }
head_on() {     # head_on BACKBONE COLUMN [OPTION...]
    says 0 'm.h5 written' "$bin/convtt-train" --backbone "$1" -o m.h5 \
        --data "train-$2.csv" --val none --test "test-$2.csv" --threads 1 \
        --baselines off "${@:3}"
    cat out err > said
}
right() { sed -n 's/.*top-1 .*, \([0-9]*\)\.[0-9]*% at.*/\1/p' said; }

# 1. Random weights: what tells the class is found.
head_on back.net 3
grep -q 'its weights are random' said || fail "no control: $(cat said)"
grep -q '^changes .* so chosen' said || fail "movement: $(cat said)"
[ "$(right)" -ge 90 ] || fail "movement: $(right)% right"
head_on back.net 2
grep -q 'maps themselves .* so chosen' said || fail "colour: $(cat said)"
[ "$(right)" -ge 90 ] || fail "colour: $(right)% right"
head_on back.net 3 --reads maps --nodes s8
grep -q 'head: 12 inputs' said || fail "--nodes s8: $(cat said)"
cp m.h5 first.h5
head_on back.net 3 --reads maps --nodes s8
cmp -s <("$bin/convtt-infer" first.h5 test-3.csv 2> /dev/null) \
    <("$bin/convtt-infer" m.h5 test-3.csv 2> /dev/null) ||
    fail 'twice the same command, and other answers'

# 2. The weights of a file stay; the answers of a stream are those of a clip.
says 0 'b.h5 written' "$bin/convtt-train" back.net -o b.h5 --threads 1 \
    --data train-2.csv --val none --epochs 2 --baselines off
head_on b.h5 3 --reads both
grep -q 'taken from b.h5; new: head$' said || fail "weights: $(cat said)"
for f in b m; do
    works "$bin/convtt-info" --export $f.safetensors $f.h5
done
tensor() {      # its bytes in hexadecimal digits: tensor FILE NAME
    python3 - "$@" << 'END'
import json, struct, sys
with open(sys.argv[1] + '.safetensors', 'rb') as f:
    n = struct.unpack('<Q', f.read(8))[0]
    at = json.loads(f.read(n))[sys.argv[2]]['data_offsets']
    f.seek(8 + n + at[0])
    print(f.read(at[1] - at[0]).hex())
END
}
for w in c1.w n1.gamma n1.mean n1.var c2.w n2.beta; do
    [ "$(tensor b $w)" = "$(tensor m $w)" ] || fail "$w: another weight"
done
works "$bin/convtt-infer" --json --observe 0.25,0.5,1 m.h5 test-3.csv
grep -o '"clips":[0-9]*,"top1":[0-9.e-]*' out | tail -n 3 |
    awk -F '[:,]' '{ printf "%s%.1f%%", (NR > 1 ? ", " : ""), 100 * $4 }' \
    > session
grep -q "top-1 $(cat session) at" said ||
    fail "a session is right in $(cat session): $(cat said)"

# Changes are over a sixth and a third of a second, at least one step and two.
for rate in '0 1 2' '8 1 2' '12 2 4' '25 4 8'; do
    read -r fps want <<< "$rate"
    sed "s/^input.*/& fps=$fps/" back.net > fps.net
    works "$bin/convtt-train" --backbone fps.net -o fps.h5 --data train-3.csv \
        --val none --baselines off --reads motion --nodes s8 --threads 1
    "$bin/convtt-info" --net fps.h5 > net
    delays=$(awk '/^state head\.[ce]0\.p/ {
        print match($0, /delay=[0-9]+/) ? substr($0, RSTART + 6, RLENGTH - 6) \
            : 1 }' net | paste -sd' ')
    [ "$delays" = "$want" ] || fail "fps=$fps: changes over $delays: $(cat net)"
done

# 3. Validation clips choose nothing; the page has classes and no epochs.
head -21 test-3.csv > val-3.csv
sed '2,21d' test-3.csv > rest-3.csv
says 0 'chose nothing, as the head is fitted to training .*; nor do those' \
    "$bin/convtt-train" --backbone b.h5 -o p.h5 --data train-3.csv \
    --val val-3.csv --test rest-3.csv --threads 1 --report-html p.html
grep -q 'The validation clips made no choice' p.html ||
    fail 'the page says that validation clips chose'
for word in '>moves<' '>stays<'; do
    grep -q "$word" p.html || fail "the page has no $word"
done
grep -q -e 'Loss by epoch' -e '>epochs<' p.html && fail 'the page has epochs'
[ ! -e p.h5.ckpt ] || fail 'a checkpoint'

# 4. A model with such a head is a backbone, and one of several labels.
cp m.h5 one.h5
head_on one.h5 3 --nodes s8
"$bin/convtt-info" --net m.h5 > net
grep -q '^conv head2 ' net || fail "a head on a head: $(cat net)"
grep -q '^conv head ' net && fail "the first head stays: $(cat net)"
(cat back.net; echo several) > several.net
head_on several.net 3
"$bin/convtt-info" --net m.h5 > net
grep -q several net && fail "several labels: $(cat net)"
# Numbers to the power of 32.
sed 's/std=0.25/std=0.001/; /^norm/d; s/in=n1/in=c1/; s/in=n2/in=m4/' back.net |
    sed '/^conv c2/a mul m0 in=c2,c2\
mul m1 in=m0,m0\
mul m2 in=m1,m1\
mul m3 in=m2,m2\
mul m4 in=m3,m3' > large.net
says 1 ': [0-9]*: .* a number that is not finite' "$bin/convtt-train" \
    --backbone large.net -o r.h5 --data train-3.csv --val none --threads 1
[ ! -e r.h5 ] || fail 'a model of numbers that are not finite'
cp one.h5 m.h5

# 5. As any other model.
works "$bin/convtt-info" --export m.onnx m.h5
[ -s m.onnx ] || fail 'no ONNX'
says 0 'small.h5' "$bin/convtt-compress" m.h5 -o small.h5 --data train-3.csv \
    --val test-3.csv --int8 mse --threads 1 --device cpu
works "$bin/convtt-infer" small.h5 test-3.csv --observe 1

# 6. What is refused.
refuses() {     # refuses PATTERN ARGUMENT...
    local want=$1
    shift
    says 2 "$want" "$bin/convtt-train" -o r.h5 --data train-3.csv "$@"
    [ ! -e r.h5 ] || fail "$*: writes a model"
}
refuses "in place of a model text" back.net --backbone b.h5
refuses 'backbone' --backbone b.h5 --init b.h5
refuses 'nodes' back.net --nodes s8
for option in --batch=8 --epochs=2 --lr=0.1 --augment=off --flip --ema=0.9 \
    --dsd=0.5 --freeze=c1 --lr-scale=c1=2 --pause=1 --time-limit=1 \
    --early-stop=2 --val-every=2 --pick=last --class-weights=balanced \
    --label-smooth=0.1 --self-distil=0.1 --sampler=balanced --shards=2 \
    --squeeze=bf16 --sync=central --stages=auto --bands=2 --filters=2 \
    --checkpoint=c --checkpoint-every=2 --observe=1 --amp=O1 \
    --doctor --amp-plan --resume --search=s --teacher=b.h5 --log-csv=l \
    --val-ratios=1 --deterministic=off; do
    refuses "${option%%=*} has no effect with --backbone" --backbone b.h5 \
        $option
done
says 2 "no node 'nosuch'" "$bin/convtt-train" -o r.h5 --data train-3.csv \
    --backbone b.h5 --nodes s8,nosuch
cat > clip.net << 'END'
input x h=17 w=17 c=3
conv s8 in=x out=2 kernel=17
clip
window v in=s8 steps=2
conv y in=v out=2 kernel=2,1,1
END
says 1 "'clip'" "$bin/convtt-train" -o r.h5 --data train-3.csv \
    --backbone clip.net --nodes s8

# 7. --folds: each fold has the head of a fit to the other persons, tested on
# its own; the folds together stand beside answers without a network.  The
# control's norms are those of the clips of a fold.
mkdir p
for k in $(seq 0 39); do
    ln -s "../a/$k" "p/person$((k / 4 % 4 + 1))_$k"
done
list 3 a.csv | awk -F, 'NR == 1 { print; next } NR < 42 {
    k = NR - 2; print "p/person" int(k / 4) % 4 + 1 "_" k "," $2 }' > fold.csv
top1() {        # at 25, 50 and 100% of a clip: top1 MODEL DATA
    works "$bin/convtt-infer" --json --observe 0.25,0.5,1 "$1" "$2"
    grep -o '"clips":[0-9]*,"top1":[0-9.e-]*' out | tail -n 3 |
        awk -F '[:,]' '{ printf ",%.3f", $4 }'
}
# Is fold K a fit to the clips of list V?  What a network draws for a clip, such
# as its mix, depends on its place in a list, so with one the bias tells, which
# is the linear head's.
same_fit() {    # same_fit K V
    if grep -q 'of a network' said; then
        [ "$(tensor f$1 head.b)" = "$(tensor l$2 head.b)" ]
    else
        cmp -s f$1.safetensors l$2.safetensors
    fi
}
folds() {       # folds BACKBONE [OPTION...]
    local v k same matched=
    says 0 '4 folds; no clip that is tested chose anything' \
        "$bin/convtt-train" --backbone "$@" -o f.h5 --data fold.csv --folds 4 \
        --threads 1 --log-csv f.csv
    cat out err > said
    for v in 1 2 3 4; do
        grep -v "person${v}_" fold.csv > others.csv
        grep -e path -e "person${v}_" fold.csv > own-$v.csv
        works "$bin/convtt-train" --backbone "$@" -o l$v.h5 --data others.csv \
            --val own-$v.csv --threads 1 --baselines off
        works "$bin/convtt-info" --export l$v.safetensors l$v.h5
    done
    for k in 1 2 3 4; do
        works "$bin/convtt-info" --export f$k.safetensors f.fold$k.h5
        for v in 1 2 3 4; do
            same_fit $k $v || continue
            matched="$matched $v"
            same=$(top1 f.fold$k.h5 own-$v.csv)
            [ "$(awk -F, -v k=$k '$1 == k {
                printf ",%.3f,%.3f,%.3f", $3, $4, $5 }' f.csv)" = "$same" ] ||
                fail "fold $k is right in $same: $(cat f.csv)"
        done
    done
    [ "$(printf '%s\n' $matched | sort -u | paste -sd' ')" = '1 2 3 4' ] ||
        fail "$1: folds are those of persons '$matched'"
}
folds back.net
folds b.h5
grep -q 'fitted to the clips of the other folds), on all clips' said ||
    fail "no baselines of all folds: $(cat said)"
right_in() { sed -n "s/^$1 *//p" said | grep -o '[0-9.]*%' | head -n 3; }
[ "$(right_in 'the model ')" = "$(right_in 'all clips (95%) *40 ')" ] ||
    fail "the model in both tables: $(cat said)"
[ "$(right_in 'largest class' | tail -n 1)" = 50.0% ] ||
    fail "the largest class: $(cat said)"
says 2 'val has no effect with --folds' "$bin/convtt-train" --backbone b.h5 \
    -o r.h5 --data fold.csv --folds 2 --val test-3.csv
says 2 'f.fold2.h5: given for two files' "$bin/convtt-train" -o f.h5 \
    --backbone f.fold2.h5 --nodes s8 --data fold.csv --folds 2
# The doctor sees persons on both sides, and what keeps them apart.
head -n 31 fold.csv > most.csv
sed '2,31d' fold.csv > rest.csv
says 3 'persons, videos: fix: --folds 5 .* --backbone' "$bin/convtt-train" \
    back.net --doctor --data most.csv --val rest.csv --threads 1 --lr 0.01
grep -q 'persons, videos *wrong *10 of 10 validation' out ||
    fail "the doctor: $(cat out)"
"$bin/convtt-train" back.net --doctor --data others.csv --val own-4.csv \
    --threads 1 > out 2>&1
grep -q 'persons, videos *fine *0 of 8 validation' out ||
    fail "the doctor: $(cat out)"

# 8. A fitted model is trained on by steps: layers that --freeze names stay, the
# statistics of their norms, too.
says 0 't.h5 written' "$bin/convtt-train" --init l1.h5 --freeze 'c1,n1' \
    --data own-4.csv --val none --epochs 1 --lr 1e-4 --threads 1 -o t.h5
works "$bin/convtt-info" --export t.safetensors t.h5
for w in c1.w n1.gamma n1.mean; do
    [ "$(tensor l1 $w)" = "$(tensor t $w)" ] || fail "$w is frozen, and differs"
done
for w in c2.w n2.gamma head.w; do
    [ "$(tensor l1 $w)" != "$(tensor t $w)" ] || fail "$w is not trained"
done

exit $failed
