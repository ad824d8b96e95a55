#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_labels_cli.sh: numbers of classes are the same in every list that a model
# meets; labels that do not fit are refused, or said.
set -u
tools="convtt-data convtt-infer convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"

# Pictures of three colours, of which two lists have the numbers 1, 2, 3.
mkdir red green blue val
pixels=$(printf '%064d' 0 | tr 0 x)
for k in 0 1 2 3 4 5 6 7; do
    lo="\\01$k" hi="\\34$k"
    rgb=("$hi$lo$lo" "$lo$hi$lo" "$lo$lo$hi") n=0
    for c in red green blue; do
        to=val/$c$k.ppm
        [ $k -lt 4 ] && to=$c/$k.ppm
        printf "P6\\n8 8\\n255\\n${pixels//x/${rgb[$n]}}" > $to
        n=$((n + 1))
        [ $k -lt 4 ] && echo "$to $n" >> t.txt && continue
        echo "$to $n" >> v.txt
        echo "$to $((n % 3 + 1))" >> turned.txt
        echo "$to $c" >> named.txt
    done
done
grep -v 'blue' v.txt > two.txt
cat > m.net << 'END'
input x h=8 w=8 c=3 fps=10
conv c in=x out=8 kernel=3 pad=1
act a in=c kind=relu
pool q in=a kind=avg
conv y in=q out=3
END
learn() {
    "$bin/convtt-train" m.net --data t.txt -o m.h5 --lr 3e-2 --batch 6 \
        --augment off --threads 1 "$@"
}
infer() { "$bin/convtt-infer" m.h5 --observe 1 -k 1 --threads 1 "$@"; }

# 1. The model keeps the numbers.
says 0 'validation: .* 100.0% at 100%' learn --epochs 4 --val two.txt
says 0 '^100% +8 +100.0%' infer two.txt
says 0 '^100% +12 +100.0%' infer v.txt
[ ! -s err ] || fail "a warning: $(cat err)"

# 2. What cannot be matched is refused, with both tables.
both='labels of the list: blue, green, red; classes of the model: 1, 2, 3'
says 2 "$both" infer named.txt
says 1 "$both" learn --val named.txt
sed 's/ 3$/ 0/' v.txt > zero.txt
says 2 "class '0' is none of the model's 3 classes; labels of the list: 0, 1" \
    infer zero.txt

# 3. Turned labels are noticed by the answers.
says 0 "below chance, but 100.0% with other names .*'1' is answered as '3'" \
    infer turned.txt
exit $failed
