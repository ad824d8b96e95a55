#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ddp.py: seconds of a training step of the networks of models/mnist-*.net
(predict.py) by PyTorch's DistributedDataParallel and gloo, one rank a process.
The frames that are fed are true ones, as in convtt before scheduled sampling.
    mpirun -np 2 python3 ddp.py convttlstm [--batch 2] [--runs N] [--variant V]
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import predict
from allreduce import place


class Clip(nn.Module):
    """The loss of a clip, which DistributedDataParallel sees as one module."""
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, *clip):
        state, loss = self.net.start(clip[0]), 0
        for x, truth in zip(clip, clip[1:]):
            y, *state = self.net(x, *state)
            loss = loss + F.l1_loss(y, truth) + F.mse_loss(y, truth)
        return loss / (len(clip) - 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=predict.CELLS)
    parser.add_argument("--batch", type=int, default=2, help="of a rank")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--variant", default="plain",
                        help="words of joint and last, with +")
    args = parser.parse_args()
    args.channels = 1
    rank, ranks = place()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29518")
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    words = args.variant.split("+")
    net, form = predict.make(args, "joint" in words, "last" in words)
    model = nn.parallel.DistributedDataParallel(Clip(net))
    optim = torch.optim.Adam(model.parameters(), 1e-3)
    clip = [torch.rand(args.batch, 1, args.size, args.size)
            .to(memory_format=form) for _ in range(args.frames)]
    seconds = []
    for i in range(-2, args.runs):
        dist.barrier()
        start = time.perf_counter()
        optim.zero_grad()
        model(*clip).backward()
        optim.step()
        took = torch.tensor([time.perf_counter() - start])
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        if i >= 0:
            seconds.append(took.item())
    if rank == 0:
        seconds.sort()
        print(f"{args.model} {args.variant}: {ranks} ranks of {args.batch}, "
              f"median {seconds[args.runs // 2]:.3f} s, "
              f"least {seconds[0]:.3f} s")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
