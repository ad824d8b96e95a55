#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# runtime.py: how long a frame takes convtt and other runtimes, on the same
# graph with random weights: of one stream, or of several as a batch, states
# carried from frame to frame, by turns in one run; or on a model file with its
# weights, and how often they agree on pictures.  See README.md.
import argparse
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import engines
import netir

MODELS = "early-convttlstm,early-convlstm,early-cnn3d,resnet18,mobilenet-v2"
PRUNED = [("fp32", "any"), ("fp32", "row"), ("int8", "any"), ("int8", "block")]
TOP = pathlib.Path(__file__).resolve().parents[2]

JUDGED = 500    # pictures whose classes are compared

# What keeps libraries from AVX-512.  ONNX Runtime, XNNPACK and convtt's own
# kernels have no such switch.
MASK = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2"}


# ---- a process that runs one engine ----

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(name, path, io, threads):
    """Reads how many frames to run, writes the times; none: the answers of a
    few frames from the start, to compare."""
    engine = engines.ENGINES[name](path, io, threads)
    carried = engines.Carried(io)
    pictures = io.get("pictures")
    xs = engines.frames(io, engine.last, JUDGED if pictures else 8)

    def frame(k):
        x = xs[k % len(xs)]
        outputs = engine.run(carried.inputs(x))
        carried.take(x, outputs)
        return outputs[0]
    answers = [np.array(frame(k)) for k in range(len(xs))]
    answers = [(np.moveaxis(y, -1, 1) if engine.last else y).ravel()
               for y in answers]
    print(json.dumps({"version": engine.version, "classes":
                      [int(y.argmax()) for y in answers] if pictures else None,
                      "answers": [y.tolist() for y in answers[-8:]]}),
          flush=True)
    xs = xs[:8]
    for line in sys.stdin:
        times, work = [], 0
        for k in range(int(line) + 5):    # the first are not counted
            work = time.process_time() if k == 5 else work
            t = time.perf_counter()
            frame(k)
            times.append((time.perf_counter() - t) * 1e3)
        work = (time.process_time() - work) * 1e3 / int(line)
        print(json.dumps({"times": times[5:], "mb": peak_mb(), "cpu": work}),
              flush=True)


class Peer:
    """An engine in processes of its own: one writes its files, one runs."""
    def __init__(self, a, name, text, folder):
        self.name, self.rows = name, []
        self.path = os.path.join(folder, name)
        self.words = [sys.executable, __file__, "--threads", str(a.threads),
                      "--engine", name, "--path", self.path, "--text", text,
                      "--pictures", a.pictures,
                      "--zeros", str(a.zeros), "--streams", str(a.streams)]
        self.env = environment(a)
        made = subprocess.run(self.words + ["--prepare"], env=self.env,
                              capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(last_line(made.stderr))
        self.errors = open(self.path + ".stderr", "w+")
        self.process = subprocess.Popen(
            self.words, env=self.env, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors)
        self.first = self.read()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):    # libraries print, too
                return json.loads(line)
        self.errors.seek(0)
        raise RuntimeError(last_line(self.errors.read()))

    def turn(self, runs):
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        got = self.read()
        self.rows.append((np.median(got["times"]),
                          np.percentile(got["times"], 99), got["mb"],
                          got["cpu"]))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    """convtt-infer --bench, a process a turn.  It is measured from inside: a
    frame is a call of the library."""
    def __init__(self, a, name, model, *more):
        self.name, self.rows, self.env = name, [], environment(a)
        self.words = [os.path.join(a.build, "convtt-infer"), "--bench", model,
                      "--json", "--threads", str(a.threads), *more]
        got = subprocess.run([self.words[0], "--version"], text=True,
                             capture_output=True, check=True).stdout
        self.first = {"version": got.split()[1], "answers": None,
                      "classes": None}

    def turn(self, runs):
        got = subprocess.run(self.words + ["--runs", str(runs)], text=True,
                             env=self.env, capture_output=True)
        if got.returncode:
            raise RuntimeError(last_line(got.stderr))
        self.rows.append(self.row(json.loads(got.stdout)))

    def row(self, j):
        return j["median_ms"], j["p99_ms"], j["peak_mb"], j["cpu_ms"]

    def close(self):
        pass


class OurBatch(Ours):
    """The row of a batch, which has neither p99 nor a peak of its own."""
    def row(self, j):
        return j["scaling"][-1]["median_ms"], float("nan"), float("nan")


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines or ["no reason given"])[-1][:150]


def environment(a):
    env = dict(os.environ, OMP_NUM_THREADS=str(a.threads),
               PYTHONWARNINGS="ignore", TF_CPP_MIN_LOG_LEVEL="3")
    return {**env, **MASK} if a.mask_avx512 else env


# ---- a table: of each runtime its turn of the least median ----

def missing(name):
    return [m for m in engines.ENGINES[name].needs
            if importlib.util.find_spec(m) is None]


def ours(a, model, others):
    """convtt as it is, in bytes, with zeros, and files beside the text."""
    if a.streams > 1:
        return [OurBatch(a, "convtt", model, "--sessions", str(a.streams))]
    running = [Ours(a, "convtt", model)]
    if not model.endswith(".h5"):
        running.append(Ours(a, "convtt-int8", model, "--type", "int8"))
    running += [Ours(a, f"convtt-{t} {form}", model, "--type", t, "--zeros",
                     str(a.zeros), "--zeros-form", form)
                for t, form in PRUNED if a.zeros]
    return running + [Ours(a, pathlib.Path(o).name, o) for o in others]


def write_graph(a, model, folder):
    """What the peers get: the canonical text, or of a model file ONNX, and of
    --pictures their numbers."""
    info = os.path.join(a.build, "convtt-info")
    if not model.endswith(".h5"):
        text = os.path.join(folder, "text.net")
        with open(text, "w") as f:
            f.write("\n".join(netir.canonical(info, model)) + "\n")
        return text
    path = os.path.join(folder, "model.onnx")
    run = subprocess.run([info, "--export", path, model], text=True,
                         capture_output=True)
    if run.returncode:
        raise RuntimeError(last_line(run.stderr))
    if a.pictures:
        about = json.loads(netir.Exported(path).about["input"])
        xs = [read_picture(p, about) for p in
              sorted(pathlib.Path(a.pictures).iterdir())]
        np.save(os.path.join(folder, "pictures.npy"), np.stack(xs))
    return path


def read_picture(path, about):
    """The middle of a picture as the model's numbers."""
    from PIL import Image
    w, h, scale = about["width"], about["height"], about["scale"]
    image = Image.open(path).convert("RGB")
    by = max(w * scale / image.width, h * scale / image.height)
    image = image.resize((round(image.width * by), round(image.height * by)),
                         Image.BILINEAR)
    x, y = (image.width - w) // 2, (image.height - h) // 2
    rows = np.asarray(image.crop((x, y, x + w, y + h)), np.float32) / 255
    rows = rows[..., ::-1] if about["colour"] == "bgr" else rows
    rows = (rows - np.float32(about["mean"])) / np.float32(about["std"])
    return np.ascontiguousarray(np.moveaxis(rows, -1, 0), np.float32)


def start(a, model, others, folder):
    """What there is to measure of a model; convtt comes first."""
    text = write_graph(a, model, folder)
    running = ours(a, model, others)
    for name in a.runtimes.split(","):
        absent = missing(name)
        try:
            if absent:
                raise RuntimeError("not installed: " + ", ".join(absent))
            running.append(Peer(a, name, text, folder))
        except RuntimeError as e:
            print(f"{pathlib.Path(model).stem}: no {name}: {e}", flush=True)
    return running


def off(reference, answers):
    """The root mean square of the difference, relative; of the last answer,
    to which all frames before it have come."""
    if not reference or not answers:
        return ""
    x, y = np.array(reference[-1]), np.array(answers[-1])
    if x.shape != y.shape:
        return "shape"
    return f"{np.sqrt(np.mean((x - y) ** 2) / np.mean(x ** 2)):.2g}"


def agrees(reference, r):
    """The share of pictures of which another runtime in fp32 says the same."""
    if not reference or not r.first["classes"]:
        return ""
    return f"{np.mean(np.equal(reference, r.first['classes'])):.3f}"


def table(a, model, others):
    with tempfile.TemporaryDirectory() as folder:
        running = start(a, model, others, folder)
        for _ in range(a.turns):
            for r in running:
                r.turn(a.runs)
                time.sleep(0.1)    # threads that wait come to rest
        for r in running:
            r.close()
    reference, classes = next(
        ((r.first["answers"], r.first["classes"]) for r in running
         if r.name in ("ort", "torch", "openvino")), (None, None))
    base = min(running[0].rows)[0]
    for r in running:
        ms, p99, *_ = min(r.rows)
        print(f"| {pathlib.Path(model).stem} | {r.name} | {ms:.3f} | {p99:.3f} "
              f"| {ms / base:.2f} | {max(row[2] for row in r.rows):.0f} "
              f"| {off(reference, r.first['answers'])} | {agrees(classes, r)} "
              f"| {r.first['version']} |", flush=True)


def arguments():
    p = argparse.ArgumentParser(
        description="the time of a frame, convtt and other runtimes")
    p.add_argument("--models", default=MODELS,
                   help="names of models/, texts, or model files of pictures, "
                   "with their weights; A+B.h5 also runs B.h5 with convtt, "
                   "beside A")
    p.add_argument("--pictures", default="", help="a folder: of a model file "
                   "the first 500 are compared and timed, the last 100 "
                   "calibrate the peers' int8 [random numbers]")
    p.add_argument("--runtimes", default=",".join(engines.ENGINES))
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--streams", type=int, default=1, help="as one batch; a "
                   "time is then that of a frame of each")
    p.add_argument("--runs", type=int, default=100, help="frames a turn")
    p.add_argument("--turns", type=int, default=5)
    p.add_argument("--zeros", type=float, default=0,
                   help="share of the weights of convs that are zeros, for the "
                   "peers at random positions; convtt also without")
    p.add_argument("--build", default=os.environ.get("BUILD", "."),
                   help="where convtt-infer and convtt-info are [BUILD or .]")
    p.add_argument("--mask-avx512", action="store_true",
                   help="no AVX-512 in convtt's oneDNN and in PyTorch")
    for name in ("engine", "path", "text"):    # of a process it starts
        p.add_argument("--" + name, help=argparse.SUPPRESS)
    p.add_argument("--prepare", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    unknown = set(a.runtimes.split(",")) - set(engines.ENGINES)
    if unknown:
        p.error("no runtime " + ", ".join(sorted(unknown)))
    if not a.engine and not os.path.exists(os.path.join(a.build,
                                                        "convtt-infer")):
        p.error(f"no convtt-infer in {a.build}: name the build folder, --build")
    return a


def part(a):
    engine = engines.ENGINES[a.engine]
    if a.text.endswith(".onnx"):
        net = netir.Exported(a.text)
    else:
        with open(a.text) as f:
            net = netir.Net(f.read().splitlines(), streams=a.streams)
    net.prune(a.zeros)
    if a.text.endswith(".onnx") and a.pictures:
        os.environ["PEERS_PICTURES"] = os.path.join(
            os.path.dirname(a.text), "pictures.npy")
    if a.prepare:
        engine.prepare(net, a.path)
        return
    io = engines.with_pictures(net.io(engine.last))
    del net
    serve(a.engine, a.path, io, a.threads)


def every(a):
    print("| model | runtime | median ms | p99 ms | times convtt | peak MB "
          "| off | agrees | version |\n|---|---|---|---|---|---|---|---|---|",
          flush=True)
    for model in a.models.split(","):
        model, *others = model.split("+")
        path = TOP / "models" / f"{model}.net"
        table(a, str(path) if path.exists() else model, others)


def main():
    a = arguments()
    try:
        part(a) if a.engine else every(a)
    except RuntimeError as e:
        if a.engine:
            raise    # the last line of this is printed by who started it
        sys.exit(f"runtime.py: {e}")


if __name__ == "__main__":
    main()
