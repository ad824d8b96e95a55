#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_baselines_cli.sh: the table of answers without a network beside a trained
# model: one frame is enough where the colour is the class, differences where
# the movement is, and neither where nothing is.
set -u
tools=convtt-train
. "${srcdir:-.}/tests/lib/cli.sh"

# make_clips SEED CLIPS FOLDER: a list of folders of 6 pictures; a square of any
# colour at any place, which moves from picture to picture or stays.  Columns of
# labels: by colour (red, green), by movement, by chance; of three clips two
# have the first colour and stay.
make_clips() {
    echo path,colour,move,chance
    LC_ALL=C awk -v seed="$1" -v n="$2" -v dir="$3" 'BEGIN {
        srand(seed)
        for (k = 0; k < n; k++) {
            c = k % 3 == 2; m = int(k / 3) % 3 == 2
            system("mkdir -p " dir "/" k)
            x = int(rand() * 11); y = int(rand() * 11)
            for (t = 0; t < 6; t++) {
                f = sprintf("%s/%d/%04d.ppm", dir, k, t)
                printf "P6\n16 16\n255\n" > f
                if (m) { x = (x + 3) % 12; y = (y + 5) % 12 }
                for (j = 0; j < 16; j++)
                    for (i = 0; i < 16; i++) {
                        on = i >= x && i < x + 5 && j >= y && j < y + 5
                        v = sprintf("%c", 20 + int(rand() * 9))
                        o = sprintf("%c", 200)
                        printf "%s%s%s", on && !c ? o : v, on && c ? o : v, \
                            v > f
                    }
                close(f)
            }
            print dir "/" k "," (c ? "green" : "red") "," (m ? "moves" : \
                "stays") "," (rand() < 0.5 ? "one" : "two")
        }
    }'
}
make_clips 1 120 a > train.csv
make_clips 2 90 b > val.csv
# The column that is the class: list COLUMN FILE.
list() { awk -F, -v c="$1" '{ print $1 "," (NR == 1 ? "label" : $c) }' "$2"; }
cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.2 std=0.25
state p of=x
concat d in=x,p
conv e in=d out=12 kernel=5 stride=2 pad=2
act f in=e kind=relu
conv e2 in=f out=16 kernel=3 stride=2 pad=1
act f2 in=e2 kind=relu
pool q in=f2 kind=max
conv y in=q out=2
END
learn() {   # learn COLUMN [OPTION...]
    local column=$1
    shift
    list "$column" train.csv > t.csv
    list "$column" val.csv > v.csv
    "$bin/convtt-train" tiny.net --data t.csv --val v.csv -o m.h5 --lr 3e-3 \
        --batch 16 --threads 1 --augment off "$@" > log 2>&1 < /dev/null ||
        fail "training: $(tail -5 log)"
}
# at ROW COLUMN: a number of the table, from the right: 2 is that at 100%.
at() {
    awk -v row="$1" -v c="$2" 'index($0, row) == 1 &&
        $NF ~ /^[0-9.]+-[0-9.]+$/ { x = $(NF - c + 1); sub("%", "", x)
                                    print x }' log
}
within() {  # within NUMBER LEAST MOST
    awk -v x="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(x != "" && x >= a &&
                                                      x <= b) }' ||
        fail "$1 is not in $2..$3: $(cat log)"
}

learn 2 --epochs 12
within "$(at 'largest class' 2)" 66.7 66.7
within "$(at 'first frame alone' 2)" 97 100
within "$(at 'last frame alone' 2)" 97 100
within "$(at 'the model' 2)" 97 100
[ "$(at 'first frame alone' 2)" = "$(at 'first frame alone' 4)" ] ||
    fail "the first frame is another at 25%: $(cat log)"
grep -q 'warning: that one frame (.*) says less than the model' log ||
    fail "no word of the scene: $(cat log)"
grep -q '^the model beside the best of these at 100% (.*): .* points' log ||
    fail "no comparison: $(cat log)"
"$bin/convtt-train" tiny.net --data t.csv --val v.csv -o m.h5 --doctor \
    > log 2>&1
grep -q 'one frame.*100.0% of 90 validation clips are right from' log &&
    grep -q 'film each class in several places' log ||
    fail "--doctor: $(cat log)"

# Six validation clips show nothing beyond chance, to neither.
{ sed -n 1p v.csv; sed -n 2,7p v.csv; } > six.csv
"$bin/convtt-train" tiny.net --data t.csv --val six.csv -o six.h5 --doctor \
    > log 2>&1
grep -q 'one frame *fine .* 100.0% of 6 validation clips' log ||
    fail "--doctor of six clips: $(cat log)"

learn 3 --epochs 12
within "$(at 'differences of frames' 2)" 95 100
within "$(at 'last frame alone' 2)" 40 75
grep -q 'one frame' log && fail "a scene where there is none: $(cat log)"

learn 4 --epochs 1
within "$(at 'first frame alone' 2)" 30 70
within "$(at 'differences of frames' 2)" 30 70

learn 4 --epochs 1 --baselines off
grep -q 'largest class' log && fail "--baselines off: $(cat log)"

exit $failed
