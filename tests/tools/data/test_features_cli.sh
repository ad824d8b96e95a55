#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_features_cli.sh: convtt-data features: convtt-train --backbone fits the
# same head to maps that were kept as to those that it computes; maps of another
# model or of other nodes are refused; a run that ended goes on, with the same
# pack at the end.
set -u
tools="convtt-data convtt-infer convtt-info convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

# 24 folders of pictures in which a square moves or stays.
LC_ALL=C awk 'BEGIN {
    srand(3)
    for (k = 0; k < 24; k++) {
        system("mkdir -p c/" k)
        x = int(rand() * 11)
        for (t = 0; t < 3 + k % 3; t++) {
            f = sprintf("c/%d/%04d.ppm", k, t)
            printf "P6\n20 17\n255\n" > f
            if (k % 2) x = (x + 3) % 12
            for (j = 0; j < 17; j++)
                for (i = 0; i < 20; i++) {
                    v = i >= x && i < x + 5 && j > 4 && j < 9 ? 200 : \
                        20 + int(rand() * 9)
                    printf "%c%c%c", v, v, v / 2 > f
                }
            close(f)
        }
        print "c/" k (k % 2 ? " moves" : " stays")
    }
}' > list.txt
cat > back.net << 'END'
input x h=17 w=17 c=3 mean=0.2 std=0.25 normalise=set scale=1.2
conv c1 in=x out=12 kernel=3 stride=2 pad=1 bias=0
norm n1 in=c1 kind=batch
act s8 in=n1 kind=relu
conv c2 in=s8 out=16 kernel=3 stride=2 pad=1 bias=0
norm s16 in=c2 kind=batch
pool p in=s16 kind=avg
conv y in=p out=2
END
works() { "$@" > out 2> err || fail "$*: status $?: $(head -3 err)"; }
for b in 1 2; do
    works "$bin/convtt-train" back.net -o b$b.h5 --threads 1 --data list.txt \
        --val none --epochs 1 --seed $b --baselines off
done
features() { "$bin/convtt-data" features list.txt -o maps.h5 "$@"; }
head_of() {     # head_of DATA MODEL [OPTION...]
    "$bin/convtt-train" --backbone b1.h5 --data "$1" -o "$2" --threads 1 \
        --val none --baselines off "${@:3}"
}

# 1. The same head, but for the rounding of maps; the norm s16 is folded away.
says 0 'maps.h5: 24 clips, 0 bad' features --backbone b1.h5
[ ! -e maps.h5.journal ] || fail 'the journal stays'
for reads in motion both; do
    says 0 'm.h5 written' head_of maps.h5 m.h5 --reads $reads
    says 0 'w.h5 written' head_of list.txt w.h5 --reads $reads
    for m in m w; do
        works "$bin/convtt-info" --export $m.safetensors $m.h5
    done
    cmp -s m.h5 w.h5 && fail "--reads $reads: no map was read"
    # Maps are rounded to 2^-11 of themselves.
    python3 - << 'END' || fail "--reads $reads: another head"
import json, struct, sys
def head(path):
    with open(path, 'rb') as f:
        n = struct.unpack('<Q', f.read(8))[0]
        about = json.loads(f.read(n))
        all = f.read()
    numbers = []
    for name in ('head.w', 'head.b'):
        a, b = about[name]['data_offsets']
        numbers += struct.unpack('<%df' % ((b - a) // 4), all[a:b])
    return numbers
a, b = head('m.safetensors'), head('w.safetensors')
apart = max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, b))
print(len(a), apart)
sys.exit(not (len(a) == len(b) > 50 and 0 < apart < 0.01))
END
done
says 0 'm.h5 written' head_of maps.h5 m.h5 --nodes s16
# A head's states delay such maps, too.
says 0 'h.h5: 24 clips' "$bin/convtt-data" features list.txt -o h.h5 \
    --backbone w.h5 --nodes s8
says 0 'r.h5 written' "$bin/convtt-train" --backbone w.h5 --nodes s8 -o r.h5 \
    --data h.h5 --val none --baselines off
# Nodes may have the names of lines that are added.
sed 's/s8/maps.p0/; s/s16/maps/' back.net > named.net
works "$bin/convtt-train" named.net -o named.h5 --threads 1 --data list.txt \
    --val none --epochs 1 --baselines off
for nodes in maps.p0 maps,maps.p0; do
    says 0 'h.h5: 24 clips' "$bin/convtt-data" features list.txt -o h.h5 \
        --backbone named.h5 --nodes $nodes
    says 0 'r.h5 written' "$bin/convtt-train" --backbone named.h5 -o r.h5 \
        --nodes $nodes --data h.h5 --val none --baselines off
done
rm -f r.h5

# 2. A pack as any other, which says what it has.
says 0 '24 clips, 0 bad' "$bin/convtt-data" check maps.h5
works "$bin/convtt-info" maps.h5
grep -q '^maps  *s8 9x9x12, s16 5x5x16$' out || fail "no maps: $(cat out)"
works "$bin/convtt-train" back.net -o q.h5 --threads 1 --data maps.h5 \
    --val none --epochs 1
works "$bin/convtt-data" pack list.txt -o plain.h5 --model back.net
cp maps.h5 first.h5
says 0 'maps.h5: 24 clips' "$bin/convtt-data" features plain.h5 -o maps.h5 \
    --backbone b1.h5 --workers 1
for f in first maps; do
    says 0 'm.h5 written' head_of $f.h5 m.h5
    "$bin/convtt-infer" m.h5 list.txt > $f.out 2> /dev/null
done
cmp -s first.out maps.out || fail 'another pack of a pack'

# Damaged maps are found by check as by a training.
bytes=$(stat -c %s maps.h5) found=0
for part in 40 50 60 70 80; do
    cp maps.h5 harmed.h5
    printf '\276\357' | dd of=harmed.h5 bs=1 seek=$((bytes * part / 100)) \
        conv=notrunc 2> err
    head_of harmed.h5 r.h5 > out 2>&1 && { rm -f r.h5; continue; }
    grep -q 'the maps of clip .* are damaged' out || continue
    found=$((found + 1))
    says 1 'the maps of clip' "$bin/convtt-data" check harmed.h5
done
[ $found -gt 0 ] || fail 'no maps were harmed'

# 3. Refused: other nodes, another model, a text; a control reads frames.
refuses() { says "$@"; [ ! -e r.h5 ] || fail "$*: writes a model"; }
refuses 1 'maps.h5: has maps of the nodes s8,s16, not of c1' \
    head_of maps.h5 r.h5 --nodes s8,c1
refuses 1 'maps.h5: its maps of s8 are those of another model' \
    "$bin/convtt-train" --backbone b2.h5 --data maps.h5 -o r.h5 --val none
says 0 'r.h5 written' "$bin/convtt-train" --backbone back.net --data maps.h5 \
    -o r.h5 --val none --baselines off
rm -f r.h5
says 2 'back.net: a text has no weights' features --backbone back.net
says 2 "b1.h5: --nodes: the backbone has no node 'no'" features \
    --backbone b1.h5 --nodes s8,no
says 2 'b1.h5: --nodes: s8 is given twice' features \
    --backbone b1.h5 --nodes s8,s16,s8
says 2 'b1.h5: --nodes: x is the frame itself' features \
    --backbone b1.h5 --nodes s8,x
says 2 'list.txt: given for two files' "$bin/convtt-data" features list.txt \
    -o list.txt --backbone b1.h5
# The journal takes no file that is none, and nothing that is read.
cp list.txt maps.h5.journal
says 1 'maps.h5.journal: is there already and is no journal of a pack' \
    features --backbone b1.h5
cmp -s list.txt maps.h5.journal || fail 'a file of others is gone'
says 2 'maps.h5.journal: given for two files' "$bin/convtt-data" features \
    maps.h5.journal -o maps.h5 --backbone b1.h5
cp b1.h5 maps.h5.journal
says 2 'maps.h5.journal: given for two files' \
    features --backbone maps.h5.journal
cmp -s b1.h5 maps.h5.journal || fail 'the backbone is gone'
rm -f maps.h5.journal
# Pixels up to 10^5.
sed 's/std=0.25/std=1e-5/; s/^norm n1.*/act n1 in=c1 kind=abs/' back.net \
    > large.net
works "$bin/convtt-train" large.net -o large.h5 --threads 1 --data list.txt \
    --val none --epochs 1 --lr 1e-3 --baselines off
cp maps.h5 was.h5
says 1 'c/0: s8 computes a number that a 16-bit float does not hold' \
    features --backbone large.h5
cmp -s maps.h5 was.h5 || fail 'the old pack is gone'

# 4. What an earlier run did is not done again, and the pack is the same.
rm -f maps.h5 maps.h5.journal
features --backbone b1.h5 > /dev/null 2>&1 || fail 'no pack'
mv maps.h5 whole.h5
(cat list.txt; echo 'c/none moves') > broken.txt
says 1 'c/none' "$bin/convtt-data" features broken.txt -o maps.h5 \
    --backbone b1.h5 --strict
[ -e maps.h5.journal ] && [ ! -e maps.h5 ] || fail 'no journal after an error'
cp maps.h5.journal torn
size=$(wc -c < torn)
for part in 0 1 3 7 9 10; do
    head -c $((size * part / 10)) torn > maps.h5.journal
    features --backbone b1.h5 > out 2> err || fail "again: $(cat err)"
    [ $part = 0 ] || grep -q 'journal has [0-9]* clips* of a run' err out ||
        fail "$part: nothing was there: $(cat out err)"
    cmp -s maps.h5 whole.h5 || fail "$part: another pack"
    [ ! -e maps.h5.journal ] || fail "$part: a journal"
done
# Of another model, or of a clip that has changed since, it is done again.
cp torn maps.h5.journal
features --backbone b2.h5 > out 2>&1 || fail "$(cat out)"
grep -q 'journal has' out && fail 'a journal of another model'
grep -q 'maps.h5.journal is begun anew: the journal is of other settings' out ||
    fail "a journal is gone in silence: $(cat out)"
cp torn maps.h5.journal
cp c/1/0001.ppm c/0/0001.ppm
features --backbone b1.h5 > out 2>&1 || fail "$(cat out)"
cmp -s maps.h5 whole.h5 && fail 'an old clip'
mv maps.h5 new.h5
features --backbone b1.h5 --workers 3 > out 2>&1 || fail "$(cat out)"
cmp -s maps.h5 new.h5 || fail 'a changed clip'

exit $failed
