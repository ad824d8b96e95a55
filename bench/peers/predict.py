#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# predict.py: the networks of models/mnist-*.net in PyTorch, out of its stock
# modules and from their description only (Shi et al. 2015, Su et al. 2020), to
# measure the same work beside convtt.  Nothing else needs it.  See README.md.
import argparse
import resource
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

HIDDEN = (32, 48, 48, 32)    # of a block of three layers
ORDER, RANK, KERNEL = 3, 8, 5


def conv(inputs, outputs):
    return nn.Conv2d(inputs, outputs, KERNEL, padding=KERNEL // 2)


def update(z, c):
    i, f, o, g = z.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class ConvLSTM(nn.Module):
    """States: h, c."""
    def __init__(self, inputs, hidden, joint):
        super().__init__()
        self.hidden = hidden
        self.gates = conv(inputs + hidden, 4 * hidden)

    def start(self, zeros):
        return [zeros(self.hidden), zeros(self.hidden)]

    def forward(self, x, h, c):
        h, c = update(self.gates(torch.cat((x, h), 1)), c)
        return [h, h, c]


class ConvTTLSTM(nn.Module):
    """Core l sees the state of ORDER - l steps ago.  Either each core is a
    convolution of its own (states: the past h, oldest first, c), or, joint,
    one convolution makes what all cores need of a state when the state is made
    (states: its past results, c).  The function is the same."""
    def __init__(self, inputs, hidden, joint):
        super().__init__()
        self.hidden, self.joint = hidden, joint
        self.core = conv(hidden, ORDER * RANK)
        self.chain = nn.ModuleList(conv(RANK, RANK) for _ in range(ORDER - 1))
        self.gates = conv(inputs + RANK, 4 * hidden)

    def start(self, zeros):
        if not self.joint:
            return [zeros(self.hidden)] * (ORDER + 1)
        first = zeros(ORDER * RANK) + self.core.bias.view(1, -1, 1, 1)
        return [first] * ORDER + [zeros(self.hidden)]    # conv of no state

    def see(self, l, past):
        r, core = slice(l * RANK, (l + 1) * RANK), self.core
        return past[l][:, r] if self.joint else F.conv2d(
            past[l], core.weight[r], core.bias[r], padding=KERNEL // 2)

    def forward(self, x, *state):
        past, c = list(state[:-1]), state[-1]
        a = self.see(0, past)
        for l in range(1, ORDER):
            a = self.see(l, past) + self.chain[l - 1](a)
        h, c = update(self.gates(torch.cat((x, a), 1)), c)
        past = past[1:] + [self.core(h) if self.joint else h]
        return [h] + past + [c]


class Net(nn.Module):
    """Blocks of three layers; a block's input is the result of the one before
    it and, from the fourth on, that of the one three before it."""
    def __init__(self, cell, channels, joint):
        super().__init__()
        inputs = [channels] + list(HIDDEN[:-1])
        inputs[3] += HIDDEN[0]
        self.layers = nn.ModuleList(
            cell(inputs[b] if k == 0 else HIDDEN[b], HIDDEN[b], joint)
            for b in range(4) for k in range(3))
        self.out = nn.Conv2d(HIDDEN[3] + HIDDEN[1], channels, 1)
        self.states = ORDER + 1 if cell is ConvTTLSTM else 2

    def start(self, x):
        n, _, h, w = x.shape
        return [s for layer in self.layers
                for s in layer.start(lambda c: x.new_zeros(n, c, h, w))]

    def forward(self, x, *state):
        after, block = [], []
        for b in range(4):
            if b == 3:
                x = torch.cat((x, block[0]), 1)
            for k in range(3):
                at = (3 * b + k) * self.states
                x, *new = self.layers[3 * b + k](x, *state[at:at + self.states])
                after += new
            block.append(x)
        x = torch.cat((x, block[1]), 1)
        return (self.out(x), *after)


CELLS = {"convlstm": ConvLSTM, "convttlstm": ConvTTLSTM}


def make(a, joint, last):
    form = torch.channels_last if last else torch.contiguous_format
    net = Net(CELLS[a.model], a.channels, joint)
    return net.to(memory_format=form), form


def best(f, seconds, least, clock):
    f()    # prepares
    times, end = [], clock() + seconds
    while len(times) < least or clock() < end:
        t = clock()
        f()
        times.append(clock() - t)
    return min(times)


def infer(a, how, joint, last, short):
    net, form = make(a, joint, last)
    x = torch.rand(1, a.channels, a.size, a.size).to(memory_format=form)
    with torch.no_grad():
        net.eval()
        state = [s.contiguous(memory_format=form) for s in net.start(x)]
        if how == "trace":
            net = torch.jit.freeze(torch.jit.trace(net, (x, *state)))
        elif how == "compile":
            net = torch.compile(net)

        def frame():
            nonlocal state
            _, *state = net(x, *state)
        return best(frame, a.seconds, 3, a.clock)


def train(a, how, joint, last, short):
    net, form = make(a, joint, last)
    cast = torch.autocast("cpu", torch.bfloat16, enabled=short)
    optim = torch.optim.Adam(net.parameters(), 1e-3)
    total = a.input + a.future
    clip = [torch.rand(a.batch, a.channels, a.size, a.size)
            .to(memory_format=form) for _ in range(total)]
    start, step = net.start, torch.compile(net) if how == "compile" else net

    def once():
        state, loss, y = start(clip[0]), 0, None
        for t in range(total - 1):
            with cast:
                y, *state = step(clip[t] if t < a.input else y, *state)
            loss = loss + F.l1_loss(y, clip[t + 1]) + F.mse_loss(y, clip[t + 1])
        optim.zero_grad()
        (loss / (total - 1)).backward()
        optim.step()
    return best(once, 0, a.repeat, a.clock)


def measure(a):
    work = train if a.train else infer
    for name in a.variants.split(","):
        words = name.split("+")
        how = words[0]
        if (a.model == "convlstm" and "joint" in words or
                a.train and how == "trace" or
                not a.train and "bf16" in words):
            continue
        try:
            seconds = work(a, how, "joint" in words, "last" in words,
                           "bf16" in words)
        except Exception as e:    # a variant that this PyTorch cannot do
            print("predict.py:", name, repr(e)[:100], file=sys.stderr)
            continue
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print("torch", "train" if a.train else "infer", a.model,
              f"{a.size}x{a.size}x{a.channels} {name} {seconds * 1e3:.2f} ms "
              f"{peak:.0f} MB", flush=True)


def load(net, f):
    """The weights of a model file: w of a conv lies out, d, h, w, in there."""
    def take(name):
        w = torch.from_numpy(f[f"/w/{name}"][()])
        return w[:, 0].permute(0, 3, 1, 2) if w.dim() == 5 else w

    for i, layer in enumerate(net.layers):
        n = f"h{i // 3}{i % 3 + 1}"
        layer.gates.weight.data = torch.cat((take(f"{n}.zx.w"),
                                             take(f"{n}.z.w")), 1)
        layer.gates.bias.data = take(f"{n}.zx.b")
        if isinstance(layer, ConvTTLSTM):
            layer.core.weight.data = take(f"{n}.q.w")
            layer.core.bias.data = torch.cat(
                [take(f"{n}.{'p' if l else 'a'}{l}.b") for l in range(ORDER)])
            for l in range(1, ORDER):
                layer.chain[l - 1].weight.data = take(f"{n}.a{l}.w")
                layer.chain[l - 1].bias.data = take(f"{n}.a{l}.b")
    net.out.weight.data, net.out.bias.data = take("o.w"), take("o.b")


def check(a):
    try:
        import h5py
    except ImportError:
        print("predict.py: no h5py here: nothing was compared")
        sys.exit(77)
    model, clips, frames = (h5py.File(path, "r") for path in a.check)
    want = torch.from_numpy(frames["prediction"][0]).permute(0, 3, 1, 2)
    clip = torch.from_numpy(clips["clip/0"][:a.input]).float() / 255
    seen = clip.permute(0, 3, 1, 2)
    a.channels = seen.shape[1]
    for joint in (False, True):
        net, _ = make(a, joint, False)
        with torch.no_grad():
            load(net, model)
            state, y, got = net.start(seen[:1]), None, []
            for t in range(len(seen) + len(want) - 1):
                y, *state = net(seen[t:t + 1] if t < len(seen) else y, *state)
                got += [y[0]] if t >= len(seen) - 1 else []
        # what is saved is clamped to 0..1, what is fed back is not
        worst = (torch.stack(got).clamp(0, 1) - want).abs().max().item()
        print(f"joint={joint}: {len(want)} frames, off by {worst:.3g}")
        if not worst < 1e-4:
            sys.exit("predict.py: not the same function")


def main():
    p = argparse.ArgumentParser(description="bench_predict's work in PyTorch")
    p.add_argument("model", choices=CELLS)
    p.add_argument("--train", action="store_true", help="training steps; "
                   "variants with +bf16 autocast")
    for name, value in (("size", 64), ("channels", 1), ("threads", 2),
                        ("batch", 2), ("input", 10), ("future", 10),
                        ("repeat", 2)):    # repeat: training steps
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--seconds", type=float, default=3, help="of inference")
    p.add_argument("--variants", default="plain,plain+last,plain+joint,"
                   "plain+joint+last,trace,trace+last,trace+joint,"
                   "trace+joint+last,compile+last,compile+joint+last")
    p.add_argument("--check", nargs=3, metavar=("MODEL", "PACK", "FRAMES"),
                   help="the first clip as convtt-infer --predict has it")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    # One thread: of the processor, as other programs may run beside it.
    a.clock = time.process_time if a.threads == 1 else time.perf_counter
    check(a) if a.check else measure(a)


if __name__ == "__main__":
    main()
