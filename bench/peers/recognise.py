#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# recognise.py: early recognition of clips in PyTorch, with the networks that
# its users begin with, on the frames that convtt trains on: packs made by
# "convtt-data pack".  bench/records/recognise.sh runs it beside convtt.
import argparse
import json
import math
import time

import h5py
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SEEN = (0.25, 0.5, 1.0)


# ---- clips ----

class Pack:
    """The clips of a pack: bytes of frames,h,w,c, or differences to the frame
    before (of the first: 0), and a class number each."""
    def __init__(self, path, differences):
        with h5py.File(path, "r") as f:
            self.labels = bytes(f["labels"][:]).split(b"\0")[:-1]
            rows = f["index"][:]
            self.clip = [(f[f"clip/{i}"][:], int(r[0]))
                         for i, r in enumerate(rows)]
        if differences:
            self.clip = [(np.diff(x.astype(np.int16), axis=0, prepend=x[:1]), k)
                         for x, k in self.clip]

    def light(self):
        """Mean and deviation of all values."""
        n = sum(x.size for x, _ in self.clip)
        mean = sum(x.sum(dtype=np.float64) for x, _ in self.clip) / n
        var = sum(((x - mean) ** 2).sum() for x, _ in self.clip) / n
        return np.float32(mean), np.float32(math.sqrt(var))


def crop(x, size, at):
    y, z = (int(a * (n - size + 1)) for a, n in zip(at, x.shape[1:3]))
    return x[:, y:y + size, z:z + size]


def tint(x, a, random):
    """Brightness and contrast about the clip's own mean, in its deviations;
    differences of frames have contrast alone."""
    mean, dev = (0, 0) if a.differences else (x.mean(), x.std())
    gain = 1 + a.contrast * random.uniform(-1, 1)
    return (x - mean) * np.float32(gain) + mean + dev * np.float32(
        a.brightness * random.uniform(-1, 1))


def spread(x, share, steps):
    """That many frames, evenly spread over the first part of a clip."""
    seen = max(1, int(share * len(x)))
    return x[np.linspace(0, seen - 1, steps).round().astype(int)]


def sample(pack, i, share, a, light, random=None):
    """A clip, seen in part, as floats of c,steps,h,w."""
    x = pack.clip[i][0]
    at = (0.5, 0.5) if random is None else random.uniform(0, 1, 2)
    x = crop(spread(x, share, a.steps), a.size, at).astype(np.float32)
    if random is not None:
        if a.flip and random.uniform() < 0.5:
            x = x[:, :, ::-1]
        if a.brightness or a.contrast:
            x = tint(x, a, random)
    x = (x - light[0]) / light[1]
    return torch.from_numpy(np.ascontiguousarray(x.transpose(3, 0, 1, 2)))


# ---- networks: c,steps,h,w to one answer ----

def cells(of, to, kernel, stride, pad):
    return nn.Sequential(nn.Conv3d(of, to, kernel, stride, pad, bias=False),
                         nn.BatchNorm3d(to), nn.ReLU())


class Head(nn.Module):
    """Mean over time and place, dropout, classes."""
    def __init__(self, width, classes):
        super().__init__()
        self.drop, self.last = nn.Dropout(0.3), nn.Linear(width, classes)

    def forward(self, x):
        return self.last(self.drop(x.mean((2, 3, 4))))


def conv3d(classes):
    """The layers of models/early-cnn3d.net."""
    return nn.Sequential(cells(3, 32, (3, 5, 5), (1, 2, 2), (1, 2, 2)),
                         cells(32, 64, 3, (1, 2, 2), 1), cells(64, 96, 3, 2, 1),
                         cells(96, 128, 3, 2, 1), Head(128, classes))


class Residual(nn.Module):
    def __init__(self, of, to, stride):
        super().__init__()
        self.one, self.two = cells(of, to, 3, stride, 1), nn.Sequential(
            nn.Conv3d(to, to, 3, 1, 1, bias=False), nn.BatchNorm3d(to))
        self.past = nn.Identity() if stride == 1 and of == to else \
            nn.Sequential(nn.Conv3d(of, to, 1, stride, bias=False),
                          nn.BatchNorm3d(to))

    def forward(self, x):
        return F.relu(self.two(self.one(x)) + self.past(x))


def r3d(classes):
    """R3D (Tran et al. 2018) with one block a stage and half the channels."""
    return nn.Sequential(cells(3, 32, (3, 7, 7), (1, 2, 2), (1, 3, 3)),
                         Residual(32, 32, 1), Residual(32, 64, 2),
                         Residual(64, 128, 2), Residual(128, 256, 2),
                         Head(256, classes))


def frames2d():
    """Convs of single frames, 128 channels of 6x6 for 48x48."""
    return nn.Sequential(*[
        m for of, to, k in ((3, 32, 5), (32, 64, 3), (64, 128, 3))
        for m in (nn.Conv2d(of, to, k, 2, k // 2, bias=False),
                  nn.BatchNorm2d(to), nn.ReLU())])


def by_frame(net, x):
    """Applies a net of pictures to c,steps: n,steps,channels,h,w."""
    n, _, t = x.shape[:3]
    y = net(x.transpose(1, 2).flatten(0, 1))
    return y.view(n, t, *y.shape[1:])


class CnnLstm(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.cnn, self.lstm = frames2d(), nn.LSTM(128, 128, batch_first=True)
        self.drop, self.last = nn.Dropout(0.3), nn.Linear(128, classes)

    def forward(self, x):
        h, _ = self.lstm(by_frame(self.cnn, x).mean((3, 4)))
        return self.last(self.drop(h[:, -1]))


class ConvLstm(nn.Module):
    """Shi et al. 2015, one layer of 64 channels, kernel 3."""
    def __init__(self, classes, width=64):
        super().__init__()
        self.cnn, self.width = frames2d(), width
        self.gates = nn.Conv2d(128 + width, 4 * width, 3, 1, 1)
        self.drop, self.last = nn.Dropout(0.3), nn.Linear(width, classes)

    def forward(self, x):
        x = by_frame(self.cnn, x)
        h = c = x.new_zeros(len(x), self.width, *x.shape[3:])
        for t in range(x.shape[1]):
            i, f, o, g = self.gates(torch.cat((x[:, t], h), 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return self.last(self.drop(h.amax((2, 3))))


NETS = {"conv3d": conv3d, "r3d": r3d, "cnn-lstm": CnnLstm,
        "convlstm": ConvLstm}


# ---- training and test ----

def rate(a, step, steps, warm):
    """Cosine with a linear start."""
    if step < warm:
        return (step + 1) / warm
    return 0.5 + 0.5 * math.cos(math.pi * (step - warm) / max(1, steps - warm))


def train(net, pack, light, a, random):
    """The loss is that of convtt's defaults: a random share and the end."""
    n, per = len(pack.clip), math.ceil(len(pack.clip) / a.batch)
    opt = torch.optim.AdamW(net.parameters(), lr=a.lr,
                            weight_decay=a.weight_decay)
    step, steps = 0, per * a.epochs
    for _ in range(a.epochs):
        order = random.permutation(n)
        net.train()
        for k in range(0, n, a.batch):
            some = order[k:k + a.batch]
            x = torch.stack([sample(pack, i, s, a, light, random)
                             for i in some
                             for s in (random.uniform(0.1, 1), 1)])
            y = torch.tensor([pack.clip[i][1] for i in some for _ in range(2)])
            for g in opt.param_groups:
                g["lr"] = a.lr * rate(a, step, steps, a.warmup * per)
            loss = F.cross_entropy(net(x), y, label_smoothing=a.label_smooth)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1)
            opt.step()
            step += 1


@torch.no_grad()
def test(net, pack, light, a):
    """Top-1 in percent when each share of a clip has been seen."""
    net.eval()
    right = []
    for share in SEEN:
        hits = 0
        for k in range(0, len(pack.clip), a.batch):
            some = range(k, min(k + a.batch, len(pack.clip)))
            x = torch.stack([sample(pack, i, share, a, light) for i in some])
            y = torch.tensor([pack.clip[i][1] for i in some])
            hits += int((net(x).argmax(1) == y).sum())
        right.append(100 * hits / len(pack.clip))
    return right


def arguments():
    p = argparse.ArgumentParser(description="early recognition in PyTorch")
    p.add_argument("train", help="pack to train on")
    p.add_argument("prove", help="pack to test on, once, after training")
    p.add_argument("--nets", default=",".join(NETS))
    p.add_argument("--seeds", default="1,2,3")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--steps", type=int, default=16, help="frames of an answer")
    p.add_argument("--size", type=int, default=48, help="pixels of a frame")
    p.add_argument("--warmup", type=float, default=0.5, help="epochs")
    p.add_argument("--flip", action="store_true")
    p.add_argument("--differences", action="store_true",
                   help="the input is each frame less the one before")
    for name, value in (("lr", 1e-3), ("weight-decay", 0.02),
                        ("label-smooth", 0.05), ("brightness", 0.5),
                        ("contrast", 0.2)):
        p.add_argument("--" + name, type=float, default=value)
    return p.parse_args()


def main():
    a = arguments()
    torch.set_num_threads(a.threads)
    pack, prove = (Pack(p, a.differences) for p in (a.train, a.prove))
    if pack.labels != prove.labels:
        raise SystemExit("recognise.py: the packs have different classes")
    light = pack.light()
    for name in a.nets.split(","):
        for seed in map(int, a.seeds.split(",")):
            torch.manual_seed(seed)
            net = NETS[name](len(pack.labels))
            begin = time.monotonic()
            train(net, pack, light, a, np.random.default_rng(seed))
            took = time.monotonic() - begin
            print(json.dumps({
                "net": name, "seed": seed, "seconds": round(took, 1),
                "parameters": sum(p.numel() for p in net.parameters()),
                "clips": len(prove.clip),
                "top1": [round(x, 2) for x in test(net, prove, light, a)]}),
                flush=True)


if __name__ == "__main__":
    main()
