#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""allreduce.py: seconds of PyTorch's all-reduce of floats by gloo, as
DistributedDataParallel uses it; the rows of bench_comm.
    mpirun -np 2 python3 allreduce.py [--runs N] [FLOATS...]
"""
import argparse
import os
import time

import torch
import torch.distributed as dist


def place():
    """Rank and ranks, as Open MPI or another launcher says them."""
    for rank, ranks in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                        ("PMI_RANK", "PMI_SIZE"), ("RANK", "WORLD_SIZE")):
        if rank in os.environ:
            return int(os.environ[rank]), int(os.environ[ranks])
    raise SystemExit("allreduce.py: no launcher started this process")


def measure(floats, runs):
    x = torch.empty(floats).uniform_(-1, 1)
    seconds = []
    for i in range(-3, runs):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(x)
        took = torch.tensor([time.perf_counter() - start])
        x.mul_(1 / dist.get_world_size())
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        if i >= 0:
            seconds.append(took.item())
    seconds.sort()
    return [1e3 * seconds[int(p * (runs - 1) + 0.5)] for p in (0.5, 0.99)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("floats", type=int, nargs="*",
                        default=[1024, 65536, 562316, 2690000, 11690000])
    args = parser.parse_args()
    rank, ranks = place()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    if rank == 0:
        print("| floats | ranks | gloo: median, p99 ms |\n|---|---|---|")
    for floats in args.floats:
        median, p99 = measure(floats, args.runs)
        if rank == 0:
            print(f"| {floats} | {ranks} | {median:.3f}, {p99:.3f} |")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
