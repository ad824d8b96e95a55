# SPDX-License-Identifier: Apache-2.0
# emit.py: a graph of netir.py as ONNX and as a module of PyTorch.
import numpy as np


def axes(net, values):
    """Kernels, strides and so on of d, h, w, or of h, w."""
    return list(values) if net.volume else list(values)[1:]


def weight(net, n):
    w = n.weights["w"]
    return w if net.volume else w.reshape(w.shape[:2] + w.shape[3:])


def per_channel(net, x):
    return x.reshape(1, -1, *[1] * (3 if net.volume else 2))


class Onnx:
    """Nodes of ONNX, version 17 of its operators."""
    def __init__(self, net):
        self.net, self.nodes, self.constants, self.count = net, [], [], 0

    def op(self, kind, ins, out=None, **keys):
        from onnx import helper
        self.count += 1
        outs = out if isinstance(out, list) else [out or f"t{self.count}"]
        self.nodes.append(helper.make_node(kind, ins, outs, **keys))
        return outs[0]

    def constant(self, x):
        from onnx import numpy_helper
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(x),
                                                      f"k{self.count}"))
        return f"k{self.count}"

    def windows(self, n):
        pad = axes(self.net, n.ints("pad"))
        after = axes(self.net, n.three("after", 0))
        keys = {"kernel_shape": axes(self.net, n.ints("kernel")),
                "strides": axes(self.net, n.ints("stride")),
                "pads": pad + [p + a for p, a in zip(pad, after)]}
        if "dilation" in n.keys:
            keys["dilations"] = axes(self.net, n.ints("dilation"))
        return keys

    def conv(self, n, kind="Conv"):
        ins = [n.ins[0], self.constant(weight(self.net, n)),
               self.constant(n.weights["b"])]
        y = self.op(kind, ins, None if n.plus else n.name,
                    group=n.int("groups", 1), **self.windows(n))
        if n.plus:
            self.op("Add", [y, n.plus], n.name)

    def deconv(self, n):
        self.conv(n, "ConvTranspose")

    def pool(self, n):
        kind = "MaxPool" if n.keys["kind"] == "max" else "AveragePool"
        self.op(kind, n.ins, n.name, **self.windows(n))

    def upsample(self, n):
        scales = [1, 1] + axes(self.net, n.ints("by"))
        self.op("Resize", [n.ins[0], "", self.constant(np.float32(scales))],
                n.name, mode="nearest", nearest_mode="floor",
                coordinate_transformation_mode="asymmetric")

    def norm(self, n):
        scale, shift = (self.constant(per_channel(self.net, n.weights[k]))
                        for k in ("scale", "shift"))
        self.op("Add", [self.op("Mul", [n.ins[0], scale]), shift], n.name)

    def act(self, n):
        kind, number = n.keys["kind"], lambda v: self.constant(np.float32(v))
        if kind == "relu6":
            self.op("Clip", n.ins + [number(0), number(6)], n.name)
        elif kind == "hsigmoid":
            self.op("HardSigmoid", n.ins, n.name, alpha=1 / 6, beta=0.5)
        elif kind == "leaky":
            self.op("LeakyRelu", n.ins, n.name, alpha=n.real("slope", 0.01))
        elif kind == "silu":
            self.op("Mul", [n.ins[0], self.op("Sigmoid", n.ins)], n.name)
        elif kind == "gelu":
            y = self.op("Erf", [self.op("Div", [n.ins[0], number(2 ** 0.5)])])
            y = self.op("Mul", [n.ins[0], self.op("Add", [y, number(1)])])
            self.op("Mul", [y, number(0.5)], n.name)
        else:
            self.op({"hswish": "HardSwish"}.get(kind, kind.capitalize()),
                    n.ins, n.name)

    def softmax(self, n):
        if n.keys.get("over", "channels") != "channels":
            raise SystemExit(f"{n.name}: softmax over positions is not written "
                             "for other runtimes")
        self.op("Softmax", n.ins, n.name, axis=1)

    def lrn(self, n):
        self.op("LRN", n.ins, n.name, size=n.int("size"), alpha=n.real("alpha"),
                beta=n.real("beta"), bias=n.real("k"))

    def add(self, n):
        kind = "Sub" if n.int("minus") else "Add"
        parts = [(kind, i) for i in n.ins[1:]]
        if n.int("bias"):
            b = per_channel(self.net, n.weights["b"])
            parts.append(("Add", self.constant(b)))
        y = n.ins[0]
        for k, (kind, part) in enumerate(parts):
            last = k + 1 == len(parts)
            y = self.op(kind, [y, part], n.name if last else None)
        if not parts:
            self.op("Identity", [y], n.name)

    def mul(self, n):
        self.op("Mul", n.ins, n.name)

    def concat(self, n):
        self.op("Concat", n.ins, n.name, axis=1)

    def window(self, n):
        self.op("Concat", n.ins, n.name, axis=2)

    def slice(self, n):
        ends = [self.constant(np.int64([v])) for v in
                (n.int("from"), n.int("to"), 1)]
        self.op("Slice", n.ins + ends, n.name)

    def reshape(self, n):
        net, rank = self.net, 5 if self.net.volume else 4
        last = [0, *range(2, rank), 1]
        y = self.op("Transpose", n.ins, perm=last)
        y = self.op("Reshape", [y, self.constant(
            np.int64(net.tensor(n.name, True)))])
        self.op("Transpose", [y], n.name, perm=[0, rank - 1,
                                                *range(1, rank - 1)])

    def lstm(self, n):
        z = [f"{n.name}~{g}" for g in "ifog"]
        self.op("Split", [n.ins[0]], z, axis=1)
        i, f, o = (self.op("Sigmoid", [g]) for g in z[:3])
        c = self.op("Add", [self.op("Mul", [f, n.ins[1]]),
                            self.op("Mul", [i, self.op("Tanh", [z[3]])])],
                    n.name + "~c")
        self.op("Mul", [o, self.op("Tanh", [c])], n.name)

    def cell(self, n):
        self.op("Identity", [n.ins[0] + "~c"], n.name)

    def state(self, n):
        self.op("Identity", n.ins, n.name)

    dropout = state

    def model(self):
        from onnx import TensorProto, checker, helper
        net, io = self.net, self.net.io()
        for n in net.nodes:
            if n.word != "input":
                getattr(self, n.word)(n)
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                  for name, shape, _, _ in io["inputs"]]
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT,
                                                 net.tensor(name))
                   for name in io["outputs"]]
        graph = helper.make_graph(self.nodes, "net", inputs, outputs,
                                  self.constants)
        m = helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 17)])
        checker.check_model(m)
        return m


def torch_module(net):
    """The inputs and outputs of net.io(), channels first."""
    import torch
    import torch.nn.functional as F
    rank = 3 if net.volume else 2
    conv = F.conv3d if net.volume else F.conv2d
    deconv = F.conv_transpose3d if net.volume else F.conv_transpose2d
    pools = {"max": F.max_pool3d if net.volume else F.max_pool2d,
             "avg": F.avg_pool3d if net.volume else F.avg_pool2d}
    acts = {"relu": F.relu, "relu6": F.relu6, "tanh": torch.tanh,
            "sigmoid": torch.sigmoid, "hswish": F.hardswish, "silu": F.silu,
            "hsigmoid": F.hardsigmoid, "gelu": F.gelu}
    io = net.io()

    def padded(n, x):
        """Padding that only one side has."""
        after = axes(net, n.three("after", 0))
        if not any(after):
            return x
        if n.keys.get("kind") == "avg":
            raise SystemExit(f"{n.name}: an average with after=")
        sides = [v for a in reversed(after) for v in (0, a)]
        return F.pad(x, sides, value=-np.inf if n.word == "pool" else 0)

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.ParameterDict()
            for k, n in enumerate(net.nodes):
                for role, x in n.weights.items():
                    x = (weight(net, n) if role == "w" else x if n.word in
                         ("conv", "deconv") else per_channel(net, x))
                    self.w[f"{k}_{role}"] = torch.nn.Parameter(
                        torch.from_numpy(np.ascontiguousarray(x)), False)

        def one(self, k, n, v):
            x = v[n.ins[0]]
            if n.word in ("conv", "deconv"):
                f = conv if n.word == "conv" else deconv
                y = f(padded(n, x), self.w[f"{k}_w"], self.w[f"{k}_b"],
                      axes(net, n.ints("stride")), axes(net, n.ints("pad")),
                      groups=n.int("groups", 1),
                      dilation=axes(net, n.three("dilation", 1)))
                return y + v[n.plus] if n.plus else y
            if n.word == "pool":
                keys = {} if n.keys["kind"] == "max" else {
                    "count_include_pad": False}
                return pools[n.keys["kind"]](
                    padded(n, x), axes(net, n.ints("kernel")), axes(net, n.ints("stride")),
                    axes(net, n.ints("pad")), **keys)
            if n.word == "add":
                for i in n.ins[1:]:
                    x = x - v[i] if n.int("minus") else x + v[i]
                return x + self.w[f"{k}_b"] if n.int("bias") else x
            return self.other(k, n, v, x)

        def other(self, k, n, v, x):
            if n.word == "act" and n.keys["kind"] == "leaky":
                return F.leaky_relu(x, n.real("slope", 0.01))
            if n.word == "act":
                return acts[n.keys["kind"]](x)
            if n.word == "softmax":
                return x.softmax(1)
            if n.word == "lrn":
                return F.local_response_norm(x, n.int("size"), n.real("alpha"),
                                             n.real("beta"), n.real("k"))
            if n.word == "lstm":
                i, f, o, g = x.chunk(4, 1)
                c = torch.sigmoid(f) * v[n.ins[1]] + \
                    torch.sigmoid(i) * torch.tanh(g)
                v[n.name + "~c"] = c
                return torch.sigmoid(o) * torch.tanh(c)
            if n.word == "norm":
                return x * self.w[f"{k}_scale"] + self.w[f"{k}_shift"]
            if n.word == "mul":
                return x * v[n.ins[1]]
            if n.word in ("concat", "window"):
                return torch.cat([v[i] for i in n.ins],
                                 1 if n.word == "concat" else 2)
            if n.word == "slice":
                return x[:, n.int("from"):n.int("to")]
            if n.word == "upsample":
                return F.interpolate(x, scale_factor=[
                    float(b) for b in axes(net, n.ints("by"))])
            if n.word == "reshape":
                x = x.permute(0, *range(2, rank + 2), 1)
                return x.reshape(net.tensor(n.name, True)).permute(
                    0, rank + 1, *range(1, rank + 1))
            return v[n.ins[0] + "~c"] if n.word == "cell" else x

        def forward(self, *inputs):
            v = {name: x for (name, *_), x in zip(io["inputs"], inputs)}
            for k, n in enumerate(net.nodes):
                if n.word != "input":
                    v[n.name] = self.one(k, n, v)
            return tuple(v[name] for name in io["outputs"])

    return Module().eval()
