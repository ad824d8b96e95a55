#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# untuned.py: convtt and other runtimes on networks that nobody tuned for, each
# drawn from a seed, with the same weights; answers are compared before anything
# is timed.  See README.md.
import argparse
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import time

import numpy as np

import exported
import netir
import runtime

FORMS = {"fp32": ("ort", "openvino"),
         "int8": ("ort-int8", "ort-int8-all", "openvino-qdq")}
LIMIT = {"fp32": 1e-3, "int8": 0.5}    # how far answers may be from fp32's
MULS = 1e6, 4e8                        # multiplications of a frame
CLASSES = 10


# ---- networks from seeds ----

class Draw:
    """Lines of a text; a conv has a bias and an act, as norms are folded."""
    def __init__(self, seed):
        self.r, self.lines, self.count = random.Random(seed), [], 0
        self.kind = list(KINDS)[seed % len(KINDS)]
        self.act = self.r.choice(["relu", "relu", "relu6", "leaky", "hswish"])
        self.size = self.r.randint(8, 28) * 4
        c = self.r.choice([1, 3, 3])
        self.lines.append(f"input x h={self.size} w={self.size} c={c} "
                          "mean=0.45 std=0.125" + " colour=gray" * (c == 1))
        KINDS[self.kind](self, "x", c)

    def some(self, low=3, high=200):
        """Channels, odd ones too: as many small as large."""
        return round(math.exp(self.r.uniform(math.log(low), math.log(high))))

    def add(self, words, keys=""):
        self.count += 1
        word, rest = words.split(" ", 1)
        self.lines.append(f"{word} n{self.count} {rest} {keys}".strip())
        return f"n{self.count}"

    def conv(self, x, out, kernel, stride=1, act=True, keys="", depth=""):
        pad = kernel // 2
        n = self.add(f"conv in={x} out={out}", f"kernel={depth[:2]}{kernel}"
                     f",{kernel} stride=1,{stride},{stride} "
                     f"pad={depth[2:]}{pad},{pad} {keys}" if depth else
                     f"kernel={kernel} stride={stride} pad={pad} {keys}")
        return self.add(f"act in={n} kind={self.act}") if act else n

    def stem(self, x, high, to=16):
        """Convs of stride 2 down to a side of at most `to`."""
        c, side = 3, self.size
        while side > to:
            c = self.some(max(c, 6), high)
            x = self.conv(x, c, self.r.choice([3, 3, 5, 7]), 2)
            side = (side + 1) // 2
        return x, c

    def end(self, x):
        q = self.add(f"pool in={x} kind={self.r.choice(['avg', 'max'])}")
        self.add(f"conv in={q} out={CLASSES}")


def plain(d, x, c):
    side = d.size
    for _ in range(d.r.randint(4, 7)):
        stride = 2 if side > 12 and d.r.random() < 0.6 else 1
        c = d.some(max(3, c // 2), 200)
        x = d.conv(x, c, d.r.choice([1, 3, 3, 4, 5, 7, 2]), stride)
        side //= stride
    d.end(x)


def mobile(d, x, c):
    c = d.some(8, 32)
    x = d.conv(x, c, 3, 2)
    for _ in range(d.r.randint(4, 8)):
        stride = d.r.choice([1, 1, 2])
        to = c if stride == 1 and d.r.random() < 0.6 else d.some(c, 120)
        wide = c * d.r.choice([2, 3, 4, 6])
        y = d.conv(x, wide, 1)
        y = d.conv(y, wide, d.r.choice([3, 3, 5, 7]), stride,
                   keys=f"groups={wide}")
        y = d.conv(y, to, 1, act=False)
        x = d.add(f"add in={y},{x}") if stride == 1 and to == c else y
        c = to
    d.end(x)


def residual(d, x, c):
    x, c = d.stem(x, 48, 40)
    for _ in range(d.r.randint(2, 4)):
        groups = d.r.choice([1, 1, 1, 2, 4])
        stride = d.r.choice([1, 2])
        to = c if stride == 1 else d.some(c, 160)
        keys, wide = f"groups={groups}", math.ceil(to / groups) * groups
        y = d.conv(d.conv(x, wide, d.r.choice([1, 3]), stride), wide,
                   d.r.choice([3, 3, 5]), keys=keys)
        y = d.conv(y, to, d.r.choice([1, 3]), act=False)
        same = stride == 1 and to == c
        z = x if same else d.conv(x, to, 1, stride, False)
        x = d.add(f"act in={d.add(f'add in={y},{z}')} kind=relu")
        c = to
    d.end(x)


def volume(d, x, c):
    d.lines.append("clip")
    x = d.add(f"window in={x} steps={d.r.choice([4, 6, 8])}")
    side = d.size
    for _ in range(d.r.randint(3, 5)):
        stride = 2 if side > 8 else 1
        c = d.some(max(8, c), 128)
        x = d.conv(x, c, d.r.choice([3, 3, 5]), stride,
                   depth=d.r.choice(["3,1,", "3,1,", "1,0,"]))
        side //= stride
    d.end(x)


def unet(d, x, c):
    ways, wide = [], d.some(8, 32)
    for _ in range(d.r.randint(2, 3) if d.size % 8 == 0 else 2):
        x = d.conv(d.conv(x, wide, 3), wide, d.r.choice([3, 5]))
        ways.append((x, wide))
        x = d.add(f"pool in={x} kind=max kernel=1,2,2")
        wide = round(wide * d.r.uniform(1.3, 2))
    if d.r.random() < 0.5:
        x = d.add(f"convlstm in={x} hidden={wide} kernel=3")
    else:
        x = d.conv(x, wide, 3)
    for y, to in reversed(ways):
        x = d.r.choice([up, transposed])(d, x, to)
        x = d.conv(d.add(f"concat in={x},{y}"), to, 3)
    d.end(d.conv(x, 3, 3, act=False))


def up(d, x, to):
    return d.conv(d.add(f"upsample in={x} by=1,2,2"), to, 3)


def transposed(d, x, to):
    k = d.r.choice([2, 4])
    return d.add(f"deconv in={x} out={to} kernel=1,{k},{k} stride=1,2,2 "
                 f"pad=0,{k // 2 - 1},{k // 2 - 1}")


def recurrent(d, x, c):
    if d.r.random() < 0.5:
        x = d.add(f"add in={x},{d.add(f'state of={x}')} minus=1")
    x, c = d.stem(x, 100, d.r.choice([8, 16, 28]))
    for _ in range(d.r.randint(1, 2)):
        x = d.add(f"convlstm in={x} hidden={d.some(8, 96)} "
                  f"kernel={d.r.choice([3, 3, 5, 7])}")
    d.end(x)


def tensor_train(d, x, c):
    x, c = d.stem(x, 100, d.r.choice([8, 16, 28]))
    for _ in range(d.r.randint(1, 2)):
        order = d.r.randint(1, 4)
        x = d.add(f"convttlstm in={x} hidden={d.some(8, 96)} order={order} "
                  f"steps={order + d.r.randint(0, 2)} "
                  f"rank={d.r.randint(2, 16)} "
                  f"kernel={d.r.choice([3, 3, 5])}")
    d.end(x)


KINDS = {"plain": plain, "mobile": mobile, "residual": residual,
         "3d": volume, "unet": unet, "convlstm": recurrent,
         "convttlstm": tensor_train}


def muls(net):
    return sum(n.weights["w"].size * np.prod(
        net.shape_of(n.ins[0] if n.word == "deconv" else n.name)[:3])
        for n in net.nodes if n.word in ("conv", "deconv"))


def drawn(a, seed, folder):
    """The text of a seed, its kind and multiplications; what is too small or
    large to be measured is drawn again."""
    path = os.path.join(folder, f"{seed}.net")
    for k in range(1000):
        d = Draw(seed + k * 7 * 1000003)
        pathlib.Path(path).write_text("\n".join(d.lines) + "\n")
        lines = netir.canonical(os.path.join(a.build, "convtt-info"), path)
        net = netir.Net(lines)
        if MULS[0] < muls(net) < MULS[1]:
            pathlib.Path(path).write_text("\n".join(lines) + "\n")
            return path, d.kind, net
    raise RuntimeError(f"seed {seed}: no network of this size")


# ---- convtt, with the peers' weights ----

def noise(folder, h, w, frames):
    """Two clips of random pixels a class, to calibrate with."""
    r = np.random.default_rng(3)
    for k in range(2 * CLASSES):
        os.makedirs(f"{folder}/{k % CLASSES}", exist_ok=True)
        with open(f"{folder}/{k % CLASSES}/{k}.y4m", "wb") as f:
            f.write(b"YUV4MPEG2 W%d H%d F6:1 C444\n" % (w, h))
            for _ in range(frames):
                f.write(b"FRAME\n" + r.integers(16, 240, 3 * h * w, np.uint8)
                        .tobytes())


def files(a, path, net, folder):
    """The model in floats and the one that reads bytes where that pays."""
    st, h5 = os.path.join(folder, "w.safetensors"), path[:-3] + "h5"
    q8, squeeze = path[:-4] + "-int8.h5", lambda w: w.reshape(
        w.shape[:2] + w.shape[3:]) if w.ndim == 5 and w.shape[2] == 1 else w
    tensors = {f"{n.name}.{k}": squeeze(x) for n in net.nodes
               for k, x in n.weights.items() if k == "w" or
               n.int("bias")}
    exported.write_safetensors(st, tensors, {
        "net": pathlib.Path(path).read_text()})
    exported.run(a, "convtt-info", "-q", "--import", st, "-o", h5)
    clips = os.path.join(folder, "clips")
    noise(clips, *net.input.shape[1:3], frames=8 if net.past else 1)
    try:
        exported.run(a, "convtt-compress", "-q", h5, "--data", clips,
                     "--int8", "minmax", "--int8-harm", "1", "--threads", "1",
                     "--retrain-epochs", "0", "--round", "24", "-o", q8)
    except RuntimeError as e:
        print(f"{path}: {runtime.last_line(str(e))}", file=sys.stderr)
    return {"fp32": h5, **({"int8": q8} if os.path.exists(q8) else {})}


def answers(h5, net):
    """Eight answers, as the peers'."""
    io = net.io()
    return [np.asarray(y) for y in exported.ours(
        h5, runtime.engines.frames(io, False, 8), 8)]


def distance(x, y):
    """Relative, of answers that are known up to a number that all have."""
    x, y = np.ravel(x), np.ravel(y)
    x, y = x - np.mean(x), y - np.mean(y)
    return float(np.sqrt(np.mean((x - y) ** 2) / np.mean(x ** 2)))


# ---- a network ----

def start(a, path, net, folder):
    """What runs: (engine, form), and how far its last answer is from that of
    ONNX Runtime in fp32."""
    running, reference = [], None
    for form, names in FORMS.items():
        for name in names:
            try:
                p = runtime.Peer(a, name, path, folder)
            except RuntimeError as e:
                print(f"{path}: no {name}: {e}", file=sys.stderr)
                continue
            y = p.first["answers"][-1]
            reference = y if reference is None else reference
            running.append((p, form, distance(reference, y)))
    for form, file in files(a, path, net, folder).items():
        far = distance(reference, answers(file, net)[-1])
        for tune in ("off", "on"):
            name = "convtt" + "+tune" * (tune == "on")
            running.append((runtime.Ours(a, name, file, "--tune", tune), form,
                            far))
    return running


def least(a, r):
    """Of the turn that took least: the CPU time of a frame, which other work
    changes little; of several threads the median time."""
    return min(row[3] if a.threads == 1 else row[0] for row in r.rows)


def measure(a, seed):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder    # what --tune finds
        path, kind, net = drawn(a, seed, folder)
        running = start(a, path, net, folder)
        for r, _, _ in running:
            r.turn(5)
        runs = [int(min(100, max(5, a.turn / r.rows.pop()[3])))
                for r, _, _ in running]
        load = os.getloadavg()[0]
        for _ in range(a.turns):
            for (r, _, _), n in zip(running, runs):
                r.turn(n)
                time.sleep(0.02)    # threads that wait come to rest
        for r, _, _ in running:
            r.close()
    rows = [{"engine": r.name, "form": form, "off": far,
             "same": far < LIMIT[form], "ms": least(a, r),
             "version": r.first["version"]}
            for r, form, far in running]
    return {"seed": seed, "kind": kind, "muls": int(muls(net)),
            "threads": a.threads, "load": load, "rows": rows}


# ---- all of them ----

def ratios(results, form):
    """By network: the best peer of the same answers over convtt; what --tune
    would gain."""
    out = []
    for n in results:
        ms = {r["engine"]: r["ms"] for r in n["rows"]
              if r["form"] == form and r["same"]}
        peers = [m for e, m in ms.items() if not e.startswith("convtt")]
        if "convtt" in ms and peers:
            out.append((min(peers) / ms["convtt"], ms["convtt"] /
                        min(ms["convtt"], ms["convtt+tune"]), n))
    return out


def tell(results):
    print("| form | networks | peer/convtt, median | worst | of at least 1 | "
          "rule/--tune, median | worst |\n|---|--:|--:|--:|--:|--:|--:|")
    for form in FORMS:
        rows = ratios(results, form)
        if not rows:
            continue
        gain, loss = [r[0] for r in rows], [r[1] for r in rows]
        print(f"| {form} | {len(rows)} | {np.median(gain):.2f} | "
              f"{min(gain):.2f} | {sum(g >= 1 for g in gain)} | "
              f"{np.median(loss):.3f} | {max(loss):.2f} |")
        for g, l, n in sorted(rows, key=lambda r: r[0])[:5]:
            print(f"  worst: {form} {n['kind']}, seed {n['seed']}: {g:.2f} "
                  f"({l:.2f})")
    loads = [n["load"] for n in results]
    print(f"load {min(loads):.1f} to {max(loads):.1f} on {os.cpu_count()} "
          "processors")
    for n in results:
        for r in n["rows"]:
            if not r["same"]:
                print(f"not counted: seed {n['seed']} {r['engine']} "
                      f"{r['form']}: off by {r['off']:.2g}")


def main():
    p = argparse.ArgumentParser(description="convtt and other runtimes on "
                                "networks drawn from seeds")
    p.add_argument("--seeds", default="0-39", help="FROM-TO")
    p.add_argument("--out", default="untuned.json", help="results, of which "
                   "what is there is not measured again")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--turns", type=int, default=7)
    p.add_argument("--turn", type=float, default=60, help="ms of a turn")
    p.add_argument("--build", default=os.environ.get("BUILD", "."))
    a = p.parse_args()
    a.__dict__.update(pictures="", zeros=0, streams=1, mask_avx512=False)
    modules = os.path.join(os.path.abspath(a.build), ".libs")
    os.environ.setdefault("CTT_MODULES", modules)
    os.environ.setdefault("CONVTT_LIBRARY", os.path.join(
        modules, "libconvtt-infer.so"))
    first, last = (int(v) for v in a.seeds.split("-"))
    out = pathlib.Path(a.out)
    results = json.loads(out.read_text()) if out.exists() else []
    there = {(n["seed"], n["threads"]) for n in results}
    for seed in range(first, last + 1):
        if (seed, a.threads) not in there:
            results.append(measure(a, seed))
            out.write_text(json.dumps(results, indent=1))
    tell([n for n in results if n["threads"] == a.threads])


if __name__ == "__main__":
    main()
