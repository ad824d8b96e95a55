#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# gpu_tables.py: the tables of doc/bench/gpu.md from the results.json that
# tests/run-gpu.sh writes on a machine with a GPU.
# Usage: gpu_tables.py RESULTS.json
import json
import sys


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for r in rows:
        print("| " + " | ".join(str(x) for x in r) + " |")
    print()


def steps(d):
    """A training step of ours, and beside it PyTorch's fastest of the same
    model, size and batch."""
    best = {}
    for r in d["rows"]:
        key = r["model"], r["input"], r["batch"]
        if r["by"] == "torch" and (key not in best or
                                   r["ms"] < best[key]["ms"]):
            best[key] = r
    for r in d["rows"]:
        peer = best.get((r["model"], r["input"], r["batch"]))
        mine = r["by"] == "convtt"
        yield (r["by"], r["row"], r["input"], r["batch"], f"{r['ms']:.2f} ms",
               f"{r['mb']} MB", r.get("floor_ms", ""),
               f"{peer['ms'] / r['ms']:.2f} ({peer['row']})"
               if peer and mine else "")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: gpu_tables.py RESULTS.json")
    with open(sys.argv[1], encoding="utf-8") as f:
        d = json.load(f)
    print("GPU:", d["gpu"] or "not named")
    if "peak_fp16_gflops" in d:
        print(f"Products of matrices: {d['peak_fp16_gflops']} GFLOP/s in fp16,"
              f" {d['peak_fp32_gflops']} in fp32.")
    print()
    table(("by", "row", "input", "batch", "a step", "memory", "floor, ms",
           "PyTorch's time / ours"), steps(d))
    table(("row", "pass", "engine", "convs"),
          ((e["row"], e["pass"], e["by"], e["convs"]) for e in d["engines"]))
    table(("conv", "chosen: times"),
          (c.split(": ", 1) for c in d["choices"] if ": " in c))
    table(("part", "seconds", "limit"),
          ((p["name"], p["seconds"], p["limit"]) for p in d["parts"]))
    table(("test", "result", "seconds"),
          ((t["name"], t["status"], t["seconds"]) for t in d["tests"]))
    for n in d["notes"]:
        print("*", n)


if __name__ == "__main__":
    main()
