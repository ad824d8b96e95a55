#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# exported.py: whether ONNX files of convtt-info --export answer as convtt does:
# each model with weights as a trained one could have, on random frames, in
# ONNX Runtime and OpenVINO.  See README.md.
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "python"))

# form: options of --export; whether convs read bytes; frames of a stream; how
# far answers may be from convtt's, relative to the largest number: the worst
# frame, or the median of all: now and then a value falls on the next byte, and
# what a recurrent network then remembers differs, so its streams are short.
FORMS = {"fp32": ([], False, 20, (np.max, 1e-5)),
         "half": (["--half"], False, 20, (np.max, 1e-2)),
         "int8": ([], True, 4, (np.median, 1e-3)),
         "tensorrt": (["--for", "tensorrt"], True, 4, None)}


# ---- models ----

def run(a, program, *words):
    got = subprocess.run([os.path.join(a.build, program), *words], text=True,
                         capture_output=True)
    if got.returncode:
        raise RuntimeError(got.stderr.strip())
    return got.stdout


def read_safetensors(path):
    """Its tensors by name, and its metadata."""
    raw = pathlib.Path(path).read_bytes()
    n = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + n])
    metadata = header.pop("__metadata__", {})
    return {name: np.frombuffer(raw, np.float32, int(np.prod(t["shape"])),
                                8 + n + t["data_offsets"][0])
            .reshape(t["shape"]) for name, t in header.items()}, metadata


def moved(tensors, seed=1):
    """Initial weights as training could have moved them: norms and biases are
    no longer those of the identity."""
    r = np.random.default_rng(seed)

    def change(name, x):
        if x.ndim > 1:
            return x
        y = x + 0.1 * r.standard_normal(x.shape).astype(np.float32)
        return np.abs(y) if name.endswith(".var") else y
    return {name: change(name, x) for name, x in tensors.items()}


def write_safetensors(path, tensors, metadata):
    header, at = {"__metadata__": metadata}, 0
    for name, x in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(x.shape),
                        "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(
        len(text).to_bytes(8, "little") + text +
        b"".join(x.tobytes() for x in tensors.values()))


def model(a, net, folder):
    """A model file of a text, with random weights."""
    st, h5 = os.path.join(folder, "w.safetensors"), os.path.join(folder, "m.h5")
    run(a, "convtt-info", "--export", st, net)
    tensors, metadata = read_safetensors(st)
    write_safetensors(st, moved(tensors), metadata)
    run(a, "convtt-info", "--import", st, "-o", h5)
    return h5


def quantised(a, h5, ranges, folder):
    """The same model whose convs read bytes, of these ranges."""
    st, q8 = os.path.join(folder, "q.safetensors"), os.path.join(folder, "q.h5")
    run(a, "convtt-info", "--export", st, h5)
    lines, ready = [], {}
    for line in run(a, "convtt-info", "--net", h5).splitlines():
        words = line.split()
        if words and words[0] == "conv":
            x = words[2].removeprefix("in=")
            if x not in ready:
                low, high = ranges[x]
                zero = 0 if low >= 0 else 128
                scale = max(high, -low, 1e-3) / (255 if zero == 0 else 127)
                ready[x] = f"{x}.q8"
                lines.append(f"quant {x}.q8 in={x} scale={scale:.9g} "
                             f"zero={zero}")
            words[2] = "in=" + ready[x]
        lines.append(" ".join(words))
    net = os.path.join(folder, "q.net")
    pathlib.Path(net).write_text("\n".join(lines) + "\n")
    write_safetensors(st, read_safetensors(st)[0], {})
    run(a, "convtt-info", "--import", st, "-o", q8, net)
    return q8


# ---- answers ----

def centred(x):
    """Logits up to a number that all have."""
    x = np.asarray(x, np.float64).ravel()
    return x - x.mean()


def ours(h5, frames, length):
    import convtt
    with convtt.Model(h5) as m, m.session() as s:
        for k, x in enumerate(frames):
            if k % length == 0:
                s.reset()
            s.push(np.ascontiguousarray(np.moveaxis(x[0], 0, -1)))
            if m.predicts:
                yield np.moveaxis(s.predict(1)[0], -1, 0).ravel()
            else:
                yield centred(np.log(s.probabilities()))


class Ort:
    """ONNX Runtime; plain: each operator as it stands."""
    plain = False

    def __init__(self, path, more=()):
        import onnx
        import onnxruntime as ort
        m = onnx.load(path)
        m.graph.output.extend(onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, None) for name in more)
        o = ort.SessionOptions()
        if self.plain:
            o.graph_optimization_level = \
                ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = ort.InferenceSession(m.SerializeToString(), o,
                                            providers=["CPUExecutionProvider"])
        self.inputs = {i.name: i.shape for i in self.session.get_inputs()}
        self.outputs = [o.name for o in self.session.get_outputs()]

    def run(self, inputs):
        return dict(zip(self.outputs, self.session.run(None, inputs)))


class OrtPlain(Ort):
    plain = True


class OpenVino:
    def __init__(self, path):
        import onnx
        import openvino
        core = openvino.Core()
        self.model = core.compile_model(path, "CPU", {
            "INFERENCE_PRECISION_HINT": "f32"})
        # A value that is passed on has several names: the order tells.
        g = onnx.load(path, load_external_data=False).graph
        self.inputs = {i.name: list(v.shape) for i, v in
                       zip(g.input, self.model.inputs)}
        self.outputs = [o.name for o in g.output]

    def run(self, inputs):
        got = self.model([inputs[i] for i in self.inputs])
        return {o: np.array(got[k]) for k, o in enumerate(self.outputs)}


def stream(engine, frames, length):
    """The outputs at each frame of streams of that length; what is carried
    goes by its names."""
    first = next(iter(engine.inputs))
    for k, x in enumerate(frames):
        if k % length == 0:
            past = {name: np.zeros(shape, np.float32) for name, shape in
                    engine.inputs.items() if name.startswith("past.")}
        inputs = {first: x, **past}
        if "start" in engine.inputs:
            inputs["start"] = np.array([k % length == 0])
        got = engine.run(inputs)
        past = {p: np.array(got["next." + p[5:]]) for p in past}
        yield got


def ranges(a, onnx_path, h5, frames):
    """The least and the greatest number that each conv reads.  A batch norm
    has become a part of the conv before it, and has its name."""
    import onnx
    known, is_now, reads = {}, {}, set()
    made = {o for n in onnx.load(onnx_path).graph.node for o in n.output}
    for line in run(a, "convtt-info", "--net", h5).splitlines():
        words = line.split()
        if words and words[0] == "norm" and words[1] not in made:
            is_now[words[1]] = words[2].removeprefix("in=")
        if words and words[0] == "conv":
            reads.add(words[2].removeprefix("in="))
    names = {x: is_now.get(x, x) for x in reads}
    engine = Ort(onnx_path, {n for n in names.values() if n in made})
    for got in stream(engine, frames, len(frames)):
        for x, name in names.items():
            v = got[name] if name in got else frames
            low, high = known.get(x, (0, 0))
            known[x] = (min(low, float(np.min(v))), max(high, float(np.max(v))))
    return known


# ---- the comparison ----

def compare(name, form, engine, answers, got):
    """Quantised, only the operators as they stand have convtt's arithmetic:
    without VNNI both runtimes add products in 16 bits."""
    answers, got = np.array(answers), np.array(got)
    off = np.max(np.abs(answers - got), 1) / np.max(np.abs(answers))
    same = np.mean(answers.argmax(1) == got.argmax(1))
    _, quantised_too, _, limit = FORMS[form]
    if quantised_too and not getattr(engine, "plain", False):
        limit = None
    good = not limit or (limit[0](off) <= limit[1] and same == 1)
    print(f"| {name} | {form} | {type(engine).__name__} | {np.median(off):.1e} "
          f"| {np.max(off):.1e} | {same:.2f} | {'' if good else 'FAILED'} |",
          flush=True)
    return good


def check(a, name, form, h5, frames, folder):
    import onnx
    options, quantised_too, length, _ = FORMS[form]
    path = os.path.join(folder, form + ".onnx")
    run(a, "convtt-info", "--export", path, *options, h5)
    m = onnx.load(path)
    onnx.checker.check_model(m, full_check=True)
    meta = {p.key: json.loads(p.value) for p in m.metadata_props}["answer"]
    turn = np.ravel if meta["kind"] == "frame" else centred
    answers, good = list(ours(h5, frames, length)), True
    for engine in [OrtPlain] * quantised_too + [Ort, OpenVino]:
        e = engine(path)
        got = [turn(g[meta["name"]]) for g in stream(e, frames, length)]
        good &= compare(name, form, e, answers, got)
    return good


def every(a, net):
    with tempfile.TemporaryDirectory() as folder:
        h5 = model(a, str(net), folder)
        probe = os.path.join(folder, "probe.onnx")
        run(a, "convtt-info", "--export", probe, h5)
        shape = next(iter(Ort(probe).inputs.values()))
        r = np.random.default_rng(5)
        frames = [r.standard_normal(shape).astype(np.float32)
                  for _ in range(a.frames)]
        q8 = quantised(a, h5, ranges(a, probe, h5, frames), folder)
        return all([check(a, net.stem, form, q8 if FORMS[form][1] else h5,
                          frames, folder) for form in a.forms.split(",")])


def main():
    p = argparse.ArgumentParser(description="exported models in other runtimes")
    p.add_argument("--models", default="", help="names of models/ [all]")
    p.add_argument("--forms", default=",".join(FORMS))
    p.add_argument("--frames", type=int, default=20)
    p.add_argument("--build", default=os.environ.get("BUILD", "."),
                   help="where convtt-info is [BUILD or .]")
    a = p.parse_args()
    os.environ.setdefault("CONVTT_LIBRARY", os.path.join(
        a.build, ".libs", "libconvtt-infer.so"))
    nets = [TOP / "models" / f"{m}.net" for m in a.models.split(",") if m]
    nets = nets or sorted((TOP / "models").glob("*.net"))
    print("| model | form | runtime | off, median | worst | same class | |\n"
          "|---|---|---|--:|--:|--:|---|", flush=True)
    if not all([every(a, n) for n in nets]):
        sys.exit("exported.py: answers differ")


if __name__ == "__main__":
    main()
