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
# frame, or the median of all.  Now and then a value falls on the next byte, as
# sums of floats are rounded in another order.  What a recurrent network then
# remembers differs, so its streams are short; in a network of many quantised
# layers such steps become more and more, up to the change by quantising itself,
# which is the limit there.
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

def ours(h5, frames, length):
    """Frames, or logits up to a number that all have; NaN: too small to be
    one of a float's probabilities."""
    import convtt
    with convtt.Model(h5) as m, m.session() as s:
        for k, x in enumerate(frames):
            if k % length == 0:
                s.reset()
            s.push(np.ascontiguousarray(np.moveaxis(x[0], 0, -1)))
            if m.predicts:
                yield np.moveaxis(s.predict(1)[0], -1, 0).ravel()
            else:
                p = s.probabilities().astype(np.float64)
                yield np.log(np.where(p > 1e-30, p, np.nan))


def off(answers, got, frame):
    """How far the answers are from convtt's, by frame, and the share of those
    that name the same class."""
    far, same = [], []
    for x, y in zip(answers, got):
        x, y = np.ravel(x), np.where(np.isnan(x), np.nan, np.ravel(y))
        same.append(np.nanargmax(x) == np.nanargmax(y))
        if not frame:
            x, y = x - np.nanmean(x), y - np.nanmean(y)
        far.append(np.nanmax(np.abs(x - y)) / np.nanmax(np.abs(x)))
    return np.array(far), np.mean(same)


class Ort:
    """ONNX Runtime; plain: each operator as it stands."""
    plain = False

    def __init__(self, path, more=()):
        import onnx
        import onnxruntime as ort
        m = onnx.load(path)
        m.graph.output.extend(onnx.ValueInfoProto(name=n) for n in more)
        o = ort.SessionOptions()
        # Without VNNI products of bytes are else added in 16 bits.
        o.add_session_config_entry("session.x64quantprecision", "1")
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

def row(name, form, engine, far, same, good):
    print(f"| {name} | {form} | {engine} | {np.median(far):.1e} | "
          f"{np.max(far):.1e} | {same:.2f} | {'' if good else 'FAILED'} |",
          flush=True)
    return good


def check(a, name, form, h5, fp32, frames, folder):
    """fp32: the same model with floats.  Quantised, only the operators as they
    stand have convtt's arithmetic: what runtimes make of them rounds biases,
    and OpenVINO adds products of bytes in 16 bits where there is no VNNI."""
    import onnx
    options, quantised_too, length, limit = FORMS[form]
    path = os.path.join(folder, form + ".onnx")
    run(a, "convtt-info", "--export", path, *options, h5)
    back = os.path.join(folder, "back")
    run(a, "convtt-info", "--import", path, "-o", back + ".h5")
    run(a, "convtt-info", "--export", back + ".onnx", *options, back + ".h5")
    if pathlib.Path(path).read_bytes() != pathlib.Path(
            back + ".onnx").read_bytes():
        raise RuntimeError(f"{name}: comes back as another model")
    m = onnx.load(path)
    onnx.checker.check_model(m, full_check=True)
    answer = json.loads({p.key: p.value for p in m.metadata_props}["answer"])
    frame, good = answer["kind"] == "frame", True
    answers = list(ours(h5, frames, length))
    if quantised_too:
        noise = off(list(ours(fp32, frames, length)), answers, frame)
        row(name, form, "convtt fp32", *noise, True)
    for engine in [OrtPlain] * quantised_too + [Ort, OpenVino]:
        e = engine(path)
        far, same = off(answers, [g[answer["name"]] for g in
                                  stream(e, frames, length)], frame)
        judged = limit and (not quantised_too or engine is OrtPlain)
        fits = not judged or limit[0](far) <= limit[1] and same == 1 or \
            quantised_too and np.median(far) <= np.median(noise[0])
        good &= row(name, form, engine.__name__, far, same, fits)
    return good


def every(a, net):
    with tempfile.TemporaryDirectory() as folder:
        h5 = str(net) if net.suffix == ".h5" else model(a, str(net), folder)
        probe = os.path.join(folder, "probe.onnx")
        run(a, "convtt-info", "--export", probe, h5)
        shape = next(iter(Ort(probe).inputs.values()))
        r = np.random.default_rng(5)
        frames = [r.standard_normal(shape).astype(np.float32)
                  for _ in range(a.frames)]
        q8 = quantised(a, h5, ranges(a, probe, h5, frames), folder)
        return all([check(a, net.stem, form, q8 if FORMS[form][1] else h5,
                          h5, frames, folder) for form in a.forms.split(",")])


def main():
    p = argparse.ArgumentParser(description="exported models in other runtimes")
    p.add_argument("--models", default="", help="names of models/, or model "
                   "files (NAME.h5) [all of models/]")
    p.add_argument("--forms", default=",".join(FORMS))
    p.add_argument("--frames", type=int, default=20)
    p.add_argument("--build", default=os.environ.get("BUILD", "."),
                   help="where convtt-info is [BUILD or .]")
    a = p.parse_args()
    modules = os.path.join(os.path.abspath(a.build), ".libs")
    os.environ.setdefault("CONVTT_LIBRARY", os.path.join(
        modules, "libconvtt-infer.so"))
    os.environ.setdefault("CTT_MODULES", modules)
    nets = [pathlib.Path(m) if m.endswith(".h5") else TOP / "models" /
            f"{m}.net" for m in a.models.split(",") if m]
    nets = nets or sorted((TOP / "models").glob("*.[nh]*"))
    print("| model | form | runtime | off, median | worst | same class | |\n"
          "|---|---|---|--:|--:|--:|---|", flush=True)
    if not all([every(a, n) for n in nets]):
        sys.exit("exported.py: answers differ")


if __name__ == "__main__":
    main()
