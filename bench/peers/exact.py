#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# exact.py: how far answers of a quantised network are from those of its ONNX
# file in doubles, on pictures: convtt's, and ONNX Runtime's of the operators as
# they stand and of what it makes of them.  See README.md.
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

import exported
import runtime


class Exact:
    """The operators of convolutional networks, in doubles: a sum of products
    is off by 1e-16 of itself, in floats by up to 1e-6."""
    def __init__(self, graph):
        from onnx import numpy_helper
        self.nodes = graph.node
        self.known = {t.name: numpy_helper.to_array(t)
                      for t in graph.initializer}
        self.x, self.y = graph.input[0].name, graph.output[0].name

    def run(self, x):
        """The answer, and the bytes of all QuantizeLinear by name."""
        from onnx.helper import get_attribute_value
        v, seen = {**self.known, self.x: x.astype(np.float64)}, {}
        for n in self.nodes:
            keys = {a.name: get_attribute_value(a) for a in n.attribute}
            y = getattr(self, n.op_type)(keys, *[v[i] for i in n.input])
            v[n.output[0]] = y
            if n.op_type == "QuantizeLinear":
                seen[n.output[0]] = y
        return v[self.y].ravel(), seen

    def QuantizeLinear(self, keys, x, step, zero):
        most = np.iinfo(zero.dtype)
        q = np.rint(x / np.float64(step)) + zero
        return np.clip(q, most.min, most.max).astype(zero.dtype)

    def DequantizeLinear(self, keys, q, step, zero):
        shape = [1] * q.ndim
        if step.ndim:
            shape[keys.get("axis", 1)] = -1
        return (q - zero.astype(np.float64).reshape(shape)) * \
            step.astype(np.float64).reshape(shape)

    def Conv(self, keys, x, w, b=0):
        low, left, high, right = keys.get("pads", [0] * 4)
        down, along = keys.get("strides", [1, 1])
        x = np.pad(x[0], ((0, 0), (low, high), (left, right)))
        if keys.get("group", 1) not in (1, len(x)):
            raise SystemExit("exact.py: groups that are not depthwise")
        h = (x.shape[1] - w.shape[2]) // down + 1
        wide = (x.shape[2] - w.shape[3]) // along + 1
        y = np.zeros((w.shape[0], h * wide))
        for r, c in np.ndindex(w.shape[2:]):
            part = x[:, r:r + down * h:down, c:c + along * wide:along]
            part = part[:, :h, :wide].reshape(len(x), -1)
            y += w[:, 0, r, c, None] * part if keys.get("group", 1) > 1 \
                else w[:, :, r, c] @ part
        return (y + np.reshape(b, (-1, 1))).reshape(1, -1, h, wide)

    def Clip(self, keys, x, low, high):
        return np.clip(x, low, high)

    def Relu(self, keys, x):
        return np.maximum(x, 0)

    def Add(self, keys, x, y):
        return x + y

    def AveragePool(self, keys, x):
        if list(keys["kernel_shape"]) != list(x.shape[2:]):
            raise SystemExit("exact.py: averages of parts of an image")
        return x.mean((2, 3), keepdims=True)

    def Identity(self, keys, x):
        return x

    def Reshape(self, keys, x, shape):
        return x.reshape(shape)


def plain_bytes(path):
    """ONNX Runtime without optimisations: the answer and all bytes."""
    import onnx
    names = [n.output[0] for n in onnx.load(path).graph.node
             if n.op_type == "QuantizeLinear"]
    engine = exported.OrtPlain(path, names)
    return lambda x: engine.run({next(iter(engine.inputs)): x})


def far(answers, y):
    """Logits up to a number that all have, relative."""
    there = ~np.isnan(answers)
    a, y = (v[there] - v[there].mean() for v in (answers, y))
    return np.abs(a - y).max() / np.abs(a).max()


def compare(path, h5, xs):
    import onnx
    exact = Exact(onnx.load(path).graph)
    plain, fast = plain_bytes(path), exported.Ort(path)
    print("| picture | convtt | operators as they stand | optimised | convtt to "
          "the second | classes | bytes that differ in the second, by layer |\n"
          "|--:|--:|--:|--:|--:|---|---|")
    for k, (x, ours) in enumerate(zip(xs, exported.ours(h5, xs, 1))):
        true, seen = exact.run(x)
        got = plain(x)
        stand = got[exact.y].ravel()
        quick = fast.run({exact.x: x})[exact.y].ravel()
        other = [np.mean(got[n] != seen[n]) for n in seen]
        print(f"| {k} | {far(true, ours):.1e} | {far(true, stand):.1e} | "
              f"{far(true, quick):.1e} | {far(ours, stand):.1e} | "
              f"{len({int(np.nanargmax(v)) for v in (true, ours, stand, quick)})}"
              f" | {' '.join(f'{v:.0e}' for v in other[::8])} |", flush=True)


def main():
    p = argparse.ArgumentParser(description="how far a quantised network is "
                                "from its exported operators in doubles")
    p.add_argument("model", help="a quantised model file of pictures")
    p.add_argument("pictures", help="a folder")
    p.add_argument("--count", type=int, default=6)
    p.add_argument("--build", default=os.environ.get("BUILD", "."))
    a = p.parse_args()
    modules = os.path.join(os.path.abspath(a.build), ".libs")
    os.environ.setdefault("CONVTT_LIBRARY", os.path.join(
        modules, "libconvtt-infer.so"))
    os.environ.setdefault("CTT_MODULES", modules)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "q.onnx")
        subprocess.run([os.path.join(a.build, "convtt-info"), "--export", path,
                        a.model], check=True)
        about = json.loads(runtime.netir.Exported(path).about["input"])
        files = sorted(pathlib.Path(a.pictures).iterdir())
        files = files[::max(1, len(files) // a.count)][:a.count]
        compare(path, a.model,
                [runtime.read_picture(f, about)[None] for f in files])


if __name__ == "__main__":
    main()
