#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# agree.py: how often a network quantised by ONNX Runtime or by OpenVINO (NNCF)
# has the top-1 of its floats, and the divergence of their probabilities, on
# pictures of no class.  convtt's figures are those of convtt-compress --int8
# mse --data CALIBRATE --val PICTURES.  See README.md.
import argparse
import pathlib
import tempfile

import numpy as np
import onnxruntime
from PIL import Image


def args():
    p = argparse.ArgumentParser()
    p.add_argument("model", help="an ONNX file (convtt-info --export)")
    p.add_argument("calibrate", help="pictures that give the ranges")
    p.add_argument("pictures", help="other pictures, which are compared")
    p.add_argument("--resize", type=int, default=256, help="the shorter side")
    p.add_argument("--bgr", action="store_true", help="blue comes first")
    p.add_argument("--mean", default="0.485,0.456,0.406")
    p.add_argument("--std", default="0.229,0.224,0.225")
    return p.parse_args()


def numbers(text):
    return np.array([float(v) for v in text.split(",")], np.float32)


class Pictures(list):
    """Frames of a folder as the model reads them."""
    def __init__(self, folder, shape, a):
        h, w = shape[-2:]
        for path in sorted(pathlib.Path(folder).iterdir()):
            x = Image.open(path).convert("RGB")
            k = a.resize / min(x.size)
            x = x.resize([round(n * k) for n in x.size], Image.BILINEAR)
            left, top = (x.size[0] - w) // 2, (x.size[1] - h) // 2
            x = np.asarray(x.crop((left, top, left + w, top + h)), np.float32)
            x = x[..., ::-1] if a.bgr else x
            x = (x / 255 - numbers(a.mean)) / numbers(a.std)
            self.append(x.transpose(2, 0, 1).reshape(shape))


def probabilities(answers):
    y = np.stack(answers)
    e = np.exp(y - y.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def tell(name, p, q):
    same = np.mean(p.argmax(1) == q.argmax(1))
    kl = np.sum(p * (np.log(p + 1e-12) - np.log(q + 1e-12)), 1).mean()
    print(f"{name:32} agrees {100 * same:5.1f}%  KL {kl:.3f} nats", flush=True)


def session(path):
    return onnxruntime.InferenceSession(str(path),
                                        providers=["CPUExecutionProvider"])


def run(path, name, frames):
    s = session(path)
    return probabilities([s.run(None, {name: x})[0].ravel() for x in frames])


def of_onnxruntime(model, name, given, frames, p):
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.rest = iter(given)

        def get_next(self):
            x = next(self.rest, None)
            return None if x is None else {name: x}

    for how in ("MinMax", "Percentile"):
        for ops in (["Conv", "Gemm", "MatMul"], None):
            with tempfile.NamedTemporaryFile(suffix=".onnx") as out:
                q.quantize_static(
                    model, out.name, Reader(), per_channel=True,
                    quant_format=q.QuantFormat.QDQ,
                    activation_type=q.QuantType.QUInt8,
                    weight_type=q.QuantType.QInt8, op_types_to_quantize=ops,
                    calibrate_method=getattr(q.CalibrationMethod, how))
                tell(f"onnxruntime, {how}, {'convs' if ops else 'all'}", p,
                     run(out.name, name, frames))


def of_openvino(model, name, given, frames, p):
    import nncf
    import openvino

    core = openvino.Core()
    data = nncf.Dataset(given, lambda x: {name: x})
    for preset in nncf.QuantizationPreset:
        quantised = nncf.quantize(core.read_model(model), data, preset=preset,
                                  subset_size=len(given))
        ask = core.compile_model(quantised, "CPU")
        tell(f"OpenVINO, NNCF {preset.name.lower()}", p,
             probabilities([ask([x])[0].ravel() for x in frames]))


def main():
    a = args()
    x = session(a.model).get_inputs()[0]
    given = Pictures(a.calibrate, x.shape, a)
    frames = Pictures(a.pictures, x.shape, a)
    p = run(a.model, x.name, frames)
    for peer in (of_onnxruntime, of_openvino):
        try:
            peer(a.model, x.name, given, frames, p)
        except ImportError as e:
            print(f"{peer.__name__}: {e}")


if __name__ == "__main__":
    main()
