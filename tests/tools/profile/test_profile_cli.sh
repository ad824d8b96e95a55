#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_profile_cli.sh: --profile of a training, a compression and a run: files
# that other programs read, a table, and an old file that stays if the new one
# cannot be written.
set -u
tools='convtt-train convtt-compress convtt-infer'
. "${srcdir:-.}/tests/lib/cli.sh"

for k in 1 2 3 4 5 6 7 8 9; do
    for of in light dark; do
        mkdir -p "clips/$of/$k"
        for t in 1 2 3 4; do
            { printf 'P6\n8 8\n255\n'
              LC_ALL=C awk -v s=$k$t -v of=$of 'BEGIN { srand(s)
                  for (i = 0; i < 192; i++)
                      printf "%c", (of == "dark" ? 33 : 90) + rand() * 30 }'
            } > "clips/$of/$k/$t.ppm"
        done
    done
done
cat > tiny.net << 'END'
input x h=8 w=8 c=3 fps=4
conv c in=x out=4 kernel=3 pad=1
act a in=c kind=relu
pool q in=a kind=avg
conv y in=q out=2
END
common='--fps 4 --batch 2 --threads 1'

# 1. A training: forward and backward, loading, augmentation, copies,
# waiting, updating.
"$bin/convtt-train" tiny.net --data clips -o m.h5 $common --epochs 2 \
    --profile train.json > log 2>&1 < /dev/null || fail "train: $(tail -3 log)"
for words in '^c +conv back' '^c +conv +[0-9]+x' '^nodes .*, update .* step: ' \
    '^load ' '^augmentation ' '^nodes .* copy of frames ' \
    '^ceiling .*GFLOP/s' '^roofline ' '^Amdahl '; do
    grep -qE "$words" log || fail "training: no '$words'"
done
for name in '"name":"c","cat":"node","ph":"X"' '"cat":"load"' '"cat":"update"' \
    '"cat":"augmentation"' '"cat":"copy of frames"' '"cat":"wait for clips"' \
    '"cat":"step"' '"thread_name"' '"pass":"backward"' '"gb_per_s"'; do
    grep -qF "$name" train.json || fail "train.json: no $name"
done
if command -v python3 > /dev/null; then
    python3 - train.json << 'END' || fail 'train.json is wrong'
import json, sys
d = json.load(open(sys.argv[1]))
e = [x for x in d['traceEvents'] if x['ph'] == 'X']
steps = sum(x['dur'] for x in e if x['cat'] == 'step')
nodes = sum(x['dur'] for x in e if x['cat'] == 'node')
table = 1e3 * sum(r['ms'] for r in d['nodes'])
assert all(x['ts'] >= 0 and x['dur'] >= 0 for x in e)
assert abs(table - nodes) < 1 + 1e-3 * nodes, (table, nodes)
assert 0 < steps
# 14 clips in batches of 2, twice; the trials before the training are no part.
assert sum(x['cat'] == 'step' for x in e) == 14
c = [r for r in d['nodes'] if r['node'] == 'c' and r['pass'] == 'backward']
assert sum(r['calls'] for r in c) == 14, c
assert abs(sum(r['share'] for r in d['nodes']) - 1) < 0.01
assert all(r['bound'] in ('arithmetic', 'memory') for r in d['nodes'])
c = [r for r in d['nodes'] if r['node'] == 'c' and r['pass'] == 'forward']
assert c and all(r['calls'] > 0 and r['kernel'] for r in c), c
END
fi

# 2. A run: one line a node, as CSV; with --json nothing else is printed.
"$bin/convtt-infer" m.h5 clips/light/1 --json --profile run.csv > out 2> err \
    < /dev/null || fail "infer: $(cat err)"
grep -qv '^{' out && fail "a table between lines of JSON"
[ "$(head -1 run.csv | cut -d, -f1-7)" = \
    node,op,pass,shape,type,kernel,calls ] || fail "run.csv: $(head -1 run.csv)"
grep -qE '^"c",conv,forward,1x1x8x8x4,fp32,"[^"]+",4,' run.csv ||
    fail "run.csv: $(cat run.csv)"
awk -F, 'NR > 1 { s += $9 } END { exit !(s > 0.99 && s < 1.01) }' run.csv ||
    fail "shares are not 1"
"$bin/convtt-infer" m.h5 clips/light/1 --profile run.csv > out 2> err \
    < /dev/null || fail "infer again: $(cat err)"
grep -qE '^nodes .* frame: 4' out || fail "no table: $(cat out)"

# 3. A compression.
"$bin/convtt-compress" m.h5 -o small.h5 --data clips $common --share 4 \
    --share-epochs 1 --profile c.json > log 2>&1 < /dev/null ||
    fail "compress: $(tail -3 log)"
grep -q '"cat":"step"' c.json || fail "no retraining in c.json"

# 4. Files of others, and a disk that is full.
says 1 'tiny.net: is there already and is no table|is no trace' \
    "$bin/convtt-infer" m.h5 clips/light/1 --profile tiny.net
cp run.csv before.csv
(ulimit -f 0; "$bin/convtt-infer" m.h5 clips/light/1 --profile run.csv \
    2>&1 > /dev/null < /dev/null; echo "status $?") | cat > err
grep -q 'status 1' err || fail "a full disk: $(cat err)"
cmp -s run.csv before.csv || fail "a full disk took the old file"
ls | grep -q 'convtt[0-9]*\.tmp' && fail "a temporary file stays: $(ls)"
says 2 'given for two files' "$bin/convtt-train" tiny.net --data clips -o m.h5 \
    --profile m.h5
exit $failed
