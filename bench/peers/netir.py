# SPDX-License-Identifier: Apache-2.0
# netir.py: a model text as a graph that runtime.py writes for other runtimes:
# the nodes of the canonical text with their shapes, random weights, and what is
# carried from frame to frame.  See README.md.
import subprocess

import numpy as np

UNSUPPORTED = ("mix", "loss")


class Node:
    """A line: word, name, inputs (ins), keys, shape (d, h, w, c), weights."""
    def __init__(self, line):
        words = line.split()
        self.word, self.name = words[0], words[1]
        self.keys = dict(w.split("=", 1) for w in words[2:])
        self.ins = self.keys.pop("in", "").split(",")
        self.ins = [i for i in self.ins if i]
        self.plus = self.keys.pop("plus", None)
        self.weights = {}

    def ints(self, key):
        return [int(v) for v in self.keys[key].split(",")]

    def int(self, key, default=0):
        return int(self.keys.get(key, default))

    def three(self, key, default):
        return self.ints(key) if key in self.keys else [default] * 3

    def real(self, key, default=0):
        return float(self.keys.get(key, default))


def canonical(info, path):
    run = subprocess.run([info, "--net", path], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr.strip())
    return [line for line in run.stdout.splitlines() if line]


class Exported:
    """A model file of pictures: its own weights, as ONNX by convtt-info."""
    first, streams, past = False, 1, {}

    def __init__(self, path):
        import onnx
        self.onnx = path
        m = onnx.load(path)
        self.about = {p.key: p.value for p in m.metadata_props}
        if len(m.graph.input) > 1:
            raise SystemExit(f"{path}: carries values from frame to frame: "
                             "give its text")
        x = m.graph.input[0]
        self.input = x.name, [d.dim_value for d in
                              x.type.tensor_type.shape.dim]
        self.answer = m.graph.output[0].name

    def io(self, last=False):
        return {"inputs": [(*self.input, self.input[0], 0)], "first": False,
                "outputs": [self.answer]}

    def prune(self, share):
        pass


def delayed(name, steps):
    return f"{name}~{steps}"    # no name of the language has a ~


class Net:
    """What runs per frame and what runs per clip are one graph, so an answer
    is computed every frame.  past: for each node of which former values are
    read, the delays; such a value is an input, DELAYED."""
    def __init__(self, lines, seed=1, streams=1):
        self.nodes, self.by, self.past = [], {}, {}
        self.first = False    # before the first frame there is that frame
        self.streams = streams
        self.random = np.random.default_rng(seed)
        for line in lines:
            if line != "clip":
                self.take(Node(line))
        for of, delays in self.past.items():
            delays.sort()
        self.volume = any(n.shape[0] > 1 for n in self.nodes)
        self.fold()
        self.answer = self.nodes[-1].name

    def take(self, n):
        if n.word in UNSUPPORTED:
            raise SystemExit(f"{n.name}: {n.word} is only for training")
        n.shape = getattr(self, "shape_" + n.word, self.same)(n)
        self.nodes.append(n)
        self.by[n.name] = n

    def delay(self, of, steps):
        if steps not in self.past.setdefault(of, []):
            self.past[of].append(steps)
        return delayed(of, steps)

    # ---- shapes, weights, former values ----

    def shape_of(self, name):
        return self.by[name].shape

    def same(self, n):
        return self.shape_of(n.ins[0])

    def shape_input(self, n):
        self.input = n
        return tuple(n.int(k) for k in "dhwc")

    def shape_state(self, n):
        of = n.keys["of"]
        if n.keys.get("fill") == "first":
            if of != self.input.name:
                raise SystemExit(f"{n.name}: fill=first delays the input only")
            self.first = True
        n.ins = [self.delay(of, n.int("delay"))]
        if "like" not in n.keys:
            return self.shape_of(of)
        return self.shape_of(n.keys["like"])[:3] + (n.int("c"),)

    def shape_slice(self, n):
        return self.same(n)[:3] + (n.int("to") - n.int("from"),)

    def shape_reshape(self, n):
        return tuple(n.int(k) for k in "dhwc")

    def shape_window(self, n):
        of, steps, every = n.ins[0], n.int("steps"), n.int("every")
        n.ins = [self.delay(of, k * every)
                 for k in range(steps - 1, 0, -1)] + [of]
        return (steps,) + self.shape_of(of)[1:]

    def axes(self, n):
        return tuple((x + 2 * p + a - d * (k - 1) - 1) // s + 1
                     for x, k, s, p, a, d in
                     zip(self.same(n), n.ints("kernel"), n.ints("stride"),
                         n.ints("pad"), n.three("after", 0),
                         n.three("dilation", 1)))

    def normal(self, shape, scale):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def shape_conv(self, n):
        inputs, out = self.same(n)[3] // n.int("groups", 1), n.int("out")
        kernel = n.ints("kernel")
        # He and others 2015: results are about as large as inputs
        n.weights["w"] = self.normal(
            [out, inputs] + kernel, (2 / (inputs * np.prod(kernel))) ** 0.5)
        n.weights["b"] = self.normal(out, 0.1 * n.int("bias"))
        return self.axes(n) + (out,)

    def shape_deconv(self, n):
        inputs, out, kernel = self.same(n)[3], n.int("out"), n.ints("kernel")
        n.weights["w"] = self.normal(
            [inputs, out] + kernel, (2 / (inputs * np.prod(kernel))) ** 0.5)
        n.weights["b"] = self.normal(out, 0.1 * n.int("bias"))
        return tuple((x - 1) * s - 2 * p + k for x, k, s, p in
                     zip(self.same(n), kernel, n.ints("stride"),
                         n.ints("pad"))) + (out,)

    def shape_pool(self, n):
        return self.axes(n) + (self.same(n)[3],)

    def shape_upsample(self, n):
        return tuple(x * b for x, b in zip(self.same(n), n.ints("by"))) + \
            self.same(n)[3:]

    def shape_norm(self, n):
        if n.keys["kind"] != "batch":
            raise SystemExit(f"{n.name}: norm kind={n.keys['kind']} "
                             "is not written for other runtimes")
        c = self.same(n)[3]
        scale = 1 + self.normal(c, 0.1)
        n.weights = {"scale": scale, "shift": self.normal(c, 0.1)}
        return self.same(n)

    def shape_add(self, n):
        if n.int("bias"):
            n.weights["b"] = self.normal(self.same(n)[3], 0.1)
        return self.same(n)

    def shape_concat(self, n):
        return self.same(n)[:3] + (sum(self.shape_of(i)[3] for i in n.ins),)

    def shape_lstm(self, n):
        return self.shape_of(n.ins[1])

    # ---- batch norms ----

    def readers(self, name):
        return [n for n in self.nodes if name in n.ins or name == n.plus] + \
            [None] * (name in self.past)

    def fold(self):
        """A batch norm behind a conv that nobody else reads becomes part of
        it, as convtt does when it opens a model: all runtimes get the same
        graph, whatever their own passes find."""
        for n in [n for n in self.nodes if n.word == "norm"]:
            c = self.by[n.ins[0]]
            if c.word != "conv" or c.plus or self.readers(c.name) != [n]:
                continue
            scale, shift = n.weights["scale"], n.weights["shift"]
            c.weights["w"] *= scale.reshape(-1, *[1] * 4)
            c.weights["b"] = c.weights["b"] * scale + shift
            self.nodes.remove(n)
            for r in self.nodes:
                r.ins = [c.name if i == n.name else i for i in r.ins]
                r.plus = c.name if r.plus == n.name else r.plus
            if n.name in self.past:
                raise SystemExit(f"{n.name}: a state of a norm")

    def prune(self, share):
        """Sets a share of the weights of convs to zero, at random
        positions."""
        random = np.random.default_rng(9)
        for n in self.nodes:
            if n.word == "conv":
                w = n.weights["w"]
                w *= random.random(w.shape) >= share

    # ---- what goes in and out ----

    def tensor(self, name, last=False):
        """The shape of a value: n, c, [d,] h, w or channels last."""
        d, h, w, c = self.shape_of(name)
        pixels = [d, h, w] if self.volume else [h, w]
        n = self.streams
        return [n, *pixels, c] if last else [n, c, *pixels]

    def io(self, last=False):
        """inputs: name, shape, whose value, how long ago (0: the frame);
        outputs: the answer, then all whose former values are read."""
        x = self.input.name
        inputs = [(x, self.tensor(x, last), x, 0)]
        for of, delays in self.past.items():
            inputs += [(delayed(of, k), self.tensor(of, last), of, k)
                       for k in delays]
        return {"inputs": inputs, "first": self.first, "outputs":
                [self.answer] + [of for of in self.past if of != x]}
