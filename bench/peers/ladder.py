#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ladder.py: bench_gpu's training step in PyTorch on a GPU: the network of
# predict.py, which also says what it is, with everything PyTorch has to make
# it fast.  Prints lines like bench_gpu's.  Nothing else needs it.
import argparse
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import predict

# What is done, the most telling first.  tf32: fp32 with the matrix units'
# 19 bits; joint: one convolution for all cores; compile: torch.compile; graph:
# the whole step as one CUDA graph.
VARIANTS = ("fp16+joint,fp16+joint+compile,fp16+joint+compile+graph,"
            "fp32+joint,tf32+joint,bf16+joint+compile,fp16+joint+graph,fp16,"
            "fp32")


def clips(a):
    return torch.rand(a.input + a.future, a.batch, a.channels, a.size,
                      a.size).pin_memory()


class Step:
    """One training step: frames go up, forward, loss, back, update.  As
    bench_gpu, it asks for the loss each time."""
    def __init__(self, a, words):
        self.a, self.host = a, clips(a)
        self.amp = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(words[0])
        tf32 = words[0] == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        net, self.form = predict.make(a, "joint" in words, True)
        net = net.cuda()
        self.net = net
        self.run = torch.compile(net) if "compile" in words else net
        self.graph = "graph" in words
        self.optim = torch.optim.Adam(net.parameters(), 1e-5, fused=True,
                                      capturable=self.graph)
        self.scaler = torch.amp.GradScaler(
            "cuda", init_scale=1024, growth_interval=10 ** 6,
            enabled=self.amp is torch.float16 and not self.graph)
        self.clip = [x.cuda().contiguous(memory_format=self.form)
                     for x in self.host]
        self.captured = self.loss = None

    def upload(self):
        for x, y in zip(self.clip, self.host):
            x.copy_(y, non_blocking=True)

    def forward(self):
        a, x = self.a, self.clip
        state, loss, y = self.net.start(x[0]), 0, None
        state = [s.contiguous(memory_format=self.form) for s in state]
        for t in range(a.input + a.future - 1):
            y, *state = self.run(x[t] if t < a.input else y, *state)
            y = y.float()
            loss = loss + F.l1_loss(y, x[t + 1]) + F.mse_loss(y, x[t + 1])
        return loss / (a.input + a.future - 1)

    def work(self):
        self.optim.zero_grad()
        with torch.autocast("cuda", self.amp or torch.float16,
                            enabled=self.amp is not None):
            loss = self.forward()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optim)
        self.scaler.update()
        return loss.detach()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.work()
        torch.cuda.current_stream().wait_stream(side)
        self.captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.captured):
            self.loss = self.work()

    def once(self):
        if self.graph and not self.captured:
            self.capture()
        self.upload()
        if self.captured:
            self.captured.replay()
            return self.loss.item()
        return self.work().item()


def measure(a, words):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    step = Step(a, words)
    for _ in range(3):
        step.once()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + a.seconds
    while len(times) < 3 or time.perf_counter() < end:
        t = time.perf_counter()
        step.once()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - t) * 1e3)
    return statistics.median(times), torch.cuda.max_memory_allocated()


def row(a, name):
    """Prints a line and returns the memory that was used, or None."""
    try:
        ms, peak = measure(a, name.split("+"))
    except Exception as e:    # a variant that this PyTorch or card cannot do
        print("torch failed", name, f"batch {a.batch}:",
              repr(e)[:160].replace("\n", " "), flush=True)
        return None
    print("torch train", f"mnist-{a.model}", f"{a.size}x{a.size}x{a.channels}",
          f"{name} {ms:.2f} ms {peak >> 20} MB batch {a.batch} "
          f"{a.batch / ms * 1e3:.1f} clips/s", flush=True)
    return peak


def largest(a, name, batch, used):
    """The batch that 85% of the card would hold, from what one took."""
    total = torch.cuda.get_device_properties(0).total_memory
    most = int(batch * 0.85 * total / used) // 4 * 4
    while most > batch:
        a.batch = most
        if row(a, name):
            break
        most = most * 3 // 4 // 4 * 4


def main():
    p = argparse.ArgumentParser(description="bench_gpu's step in PyTorch")
    p.add_argument("model", choices=predict.CELLS)
    for name, value in (("size", 64), ("channels", 1), ("batch", 16),
                        ("input", 10), ("future", 10)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--seconds", type=float, default=1.5, help="of a row")
    p.add_argument("--limit", type=float, default=240,
                   help="no row is begun after so many seconds")
    p.add_argument("--variants", default=VARIANTS)
    p.add_argument("--largest", action="store_true",
                   help="the first variant with the batch that fits, too")
    a = p.parse_args()
    if not torch.cuda.is_available():
        print("ladder.py: PyTorch sees no GPU")
        sys.exit(77)
    print("torch", torch.__version__, torch.cuda.get_device_name(0),
          flush=True)
    torch.backends.cudnn.benchmark = True
    end, batch = time.perf_counter() + a.limit, a.batch
    for i, name in enumerate(a.variants.split(",")):
        if time.perf_counter() > end:
            print("torch late", name, flush=True)
            continue
        a.batch = batch
        used = row(a, name)
        if used and a.largest and i == 0:
            largest(a, name, batch, used)


if __name__ == "__main__":
    main()
