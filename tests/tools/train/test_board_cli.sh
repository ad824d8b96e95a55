#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_board_cli.sh: --log-tensorboard: files of events as an own reader, and
# the package tensorboard where it is installed, read them.
set -u
tools="convtt-data convtt-train"
. "${srcdir:-.}/tests/lib/cli.sh"
for t in $tools; do declare "${t#convtt-}=$bin/$t"; done
type -P python3 > /dev/null || { echo 'no python3'; exit 77; }
make_net
make_clips
run="--data clips --batch 8 --threads 1 --checkpoint-every 0"

# 1. Two epochs, then a third: a second file, whose session begins there.
says 0 'm.h5 written' "$train" tiny.net $run --epochs 2 -o m.h5 \
    --log-tensorboard events --log-json log.json --checkpoint m.ckpt
says 0 'm.h5 written' "$train" tiny.net $run --epochs 3 -o m.h5 --resume \
    --log-tensorboard events --log-json log.json --checkpoint m.ckpt
cat > read.py << 'END'
import glob, json, struct, sys

def crc(data):
    c = 0xffffffff
    for byte in data:
        c ^= byte
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    c ^= 0xffffffff
    return ((c >> 15 | c << 17) + 0xa282ead8) & 0xffffffff

def varint(b, i):
    x = s = 0
    while True:
        x |= (b[i] & 127) << s
        s += 7
        i += 1
        if b[i - 1] < 128:
            return x, i

def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            x, i = varint(b, i)
        elif key & 7 == 1:
            x, i = struct.unpack_from('<d', b, i)[0], i + 8
        elif key & 7 == 5:
            x, i = struct.unpack_from('<f', b, i)[0], i + 4
        else:
            n, i = varint(b, i)
            x, i = b[i:i + n], i + n
        yield key >> 3, x

def events(name):
    b, i = open(name, 'rb').read(), 0
    while i < len(b):
        n, = struct.unpack_from('<Q', b, i)
        assert crc(b[i:i + 8]) == struct.unpack_from('<I', b, i + 8)[0]
        body = b[i + 12:i + 12 + n]
        assert len(body) == n
        assert crc(body) == struct.unpack_from('<I', b, i + 12 + n)[0]
        yield dict(fields(body))
        i += n + 16

assert crc(b'') == 0xa282ead8    # of nothing, masked
log = [json.loads(line) for line in open('log.json')]
files = sorted(glob.glob('events/events.out.tfevents.*'))
assert len(files) == 2, files
seen = []
for name, first in zip(files, (0, 2)):
    all = list(events(name))
    assert all[0][3] == b'brain.Event:2' and all[0][2] == 0
    assert dict(fields(all[1][7])) == {1: 1}
    assert all[1][2] == (log[first]['step'] if first else 0), all[1]
    seen += [e for e in all[2:] if b'training/loss' in e[5]]
assert [e[2] for e in seen] == [row['step'] for row in log]
for e, row in zip(seen, log):
    tags = {}
    for k, x in fields(e[5]):
        v = dict(fields(x))
        tags[v[1].decode()] = v
    for tag, name in (('training/loss', 'loss'), ('training/lr', 'lr'),
                      ('validation/top1', 'val_top1')):
        assert abs(tags[tag][2] - row[name]) <= 1e-5 * abs(row[name]), tag
    assert 'early/top1 at 25%' in tags and 'training/step' not in tags
    spread = [v for t, v in tags.items() if t.startswith('weights/')]
    assert len(spread) >= 4
    for v in spread:
        h = dict(fields(v[5]))
        bins = struct.unpack('<%dd' % (len(h[7]) // 8), h[7])
        assert sum(bins) == h[3] > 0 and h[1] <= h[4] / h[3] <= h[2]
        assert struct.unpack('<%dd' % len(bins), h[6])[-1] == h[2]
wrong = 0
for e in all[2:]:
    for k, x in fields(e[5]):
        v = dict(fields(x))
        if v[1].startswith(b'wrong clips/'):
            image = dict(fields(v[4]))
            assert image[4][:8] == b'\x89PNG\r\n\x1a\n'
            assert (image[2], image[1]) == (8 * 16, 16), image
            assert b', answered as ' in v[1], v[1]
            wrong += 1
assert wrong > 0
moved = [dict(fields(x)) for e in (seen[0], seen[-1]) for k, x in fields(e[5])]
w = [dict(fields(v[5]))[4] for v in moved if v[1] == b'weights/e.w']
assert len(w) == 2 and w[0] != w[1], w

try:
    from tensorboard.backend.event_processing import event_accumulator as ea
except ImportError:
    sys.exit('no tensorboard')
a = ea.EventAccumulator('events', {ea.SCALARS: 0, ea.HISTOGRAMS: 0,
                                   ea.IMAGES: 0})
a.Reload()
got = [(s.step, s.value) for s in a.Scalars('training/loss')]
assert [s for s, _ in got] == [row['step'] for row in log], got
assert len(a.Histograms('weights/e.w')) == 3
assert len([t for t in a.Tags()['images'] if t.startswith('wrong clips')]) > 0
print('read by tensorboard')
END
python3 read.py > out 2>&1 || grep -qx 'no tensorboard' out ||
    fail "$(cat out)"
cat out

# 2. What cannot be written: before the training, or a warning during it.
: > file
says 1 '^convtt-train: file: ' "$train" tiny.net $run --epochs 1 -o n.h5 \
    --log-tensorboard file
[ ! -e n.h5 ] || fail 'a model of a run that could not log'
deep=$(printf 'a%.0s' {1..200})
deep=$(printf "$deep/%.0s" {1..20})$(printf 'b%.0s' {1..40})
mkdir -p "$deep"    # there is room for the folder's path, not for a file's
says 0 'warning: --log-tensorboard: a{100}.*: the path is too long; no more' \
    "$train" tiny.net $run --epochs 2 -o n.h5 --log-tensorboard "$deep"
[ "$(grep -c 'no more events' err)" = 1 ] && [ -e n.h5 ] ||
    fail "the training does not go on: $(tail -3 err)"
says 2 'requires .*folds' "$train" tiny.net $run --epochs 1 -o n.h5 --folds 2 \
    --log-tensorboard more
exit $failed
