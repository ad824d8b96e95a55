#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language model of PyTorch (nn.Embedding, nn.LSTM, nn.Linear, cross entropy
at each step) with the weights and sentences of
tests/libtrain/recognise/test_next.c: prints the loss and the gradients that the
test holds."""
import math

import torch
from torch import nn

SENTENCES = ["a b a c", "b a", "c c a b d a b", "d"]
VOCAB, WIDTH, HIDDEN = 6, 3, 2


def symbols():
    """Numbers by count, <eos> and <unk> first, as convtt counts them."""
    times = {}
    for line in SENTENCES:
        for word in line.split():
            times[word] = times.get(word, 0) + 1
    order = sorted(times, key=lambda w: -times[w])    # stable: first seen first
    number = {w: i + 2 for i, w in enumerate(order)}
    return [[0] + [number[w] for w in line.split()] + [0]
            for line in SENTENCES]


def weight(first, *shape):
    n = math.prod(shape)
    values = [0.6 * math.sin(1.7 * (first + i)) for i in range(n)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def main():
    table = nn.Parameter(weight(0, VOCAB, WIDTH))
    wx = nn.Parameter(weight(100, 4 * HIDDEN, WIDTH))    # gates i, f, o, g
    bx = nn.Parameter(weight(200, 4 * HIDDEN))
    wh = nn.Parameter(weight(300, 4 * HIDDEN, HIDDEN))
    wy = nn.Parameter(weight(400, VOCAB, HIDDEN))
    by = nn.Parameter(weight(500, VOCAB))

    def torch_gates(w):    # PyTorch has i, f, g, o
        i, f, o, g = w.chunk(4)
        return torch.cat([i, f, g, o])

    names = {"weight_ih_l0": torch_gates(wx), "weight_hh_l0": torch_gates(wh),
             "bias_ih_l0": torch_gates(bx),
             "bias_hh_l0": torch.zeros(4 * HIDDEN, dtype=torch.float64)}
    lstm = nn.LSTM(WIDTH, HIDDEN, batch_first=True).double()
    total, count = 0, 0
    for s in symbols():
        x = nn.functional.embedding(torch.tensor([s[:-1]]), table)
        h, _ = torch.func.functional_call(lstm, names, (x,))
        z = nn.functional.linear(h[0], wy, by)
        total = total + nn.functional.cross_entropy(
            z, torch.tensor(s[1:]), reduction="sum")
        count += len(s) - 1
    loss = total / count
    loss.backward()
    print(f"/* loss {loss.item():.9f} of {count} symbols */")
    for p in (table, wx, bx, wh, wy, by):
        print(", ".join(f"{v:.8f}" for v in p.grad.flatten().tolist()) + ",")


main()
