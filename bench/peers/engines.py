# SPDX-License-Identifier: Apache-2.0
# engines.py: the runtimes that runtime.py measures: each writes its files of a
# graph of netir.py (prepare), in a process of its own so that what that needs
# does not count, and runs them (open, run).
import os

import numpy as np


CALIBRATION = 100    # pictures


class Carried:
    """The former values that a runtime reads, before the first frame zero, or
    that frame."""
    def __init__(self, io):
        self.io, self.first = io, io["first"]
        self.frame = io["inputs"][0][0]
        self.past = {}
        for _, shape, of, k in io["inputs"][1:]:
            most = max(k, len(self.past.get(of, [])))
            self.past[of] = [np.zeros(shape, np.float32)] * most

    def inputs(self, x):
        if self.first and self.frame in self.past:
            self.past[self.frame] = [x] * len(self.past[self.frame])
        self.first = False
        return [x] + [self.past[of][k - 1]
                      for _, _, of, k in self.io["inputs"][1:]]

    def take(self, x, outputs):
        now = dict(zip(self.io["outputs"], outputs))
        now[self.frame] = x
        for of, past in self.past.items():
            past.insert(0, now[of])
            past.pop()


def frames(io, last, count, seed=5):
    """Random numbers, the same with channels first and last, or pictures: of
    seed 5 the first ones, of others the last."""
    random = np.random.default_rng(seed)
    shape = io["inputs"][0][1]
    if io.get("pictures"):
        all_of = np.load(io["pictures"], mmap_mode="r")
        xs = all_of[:count] if seed == 5 else all_of[-count:]
        return [np.array(x[None]) for x in xs]
    shape = [shape[0], shape[-1]] + shape[1:-1] if last else shape
    xs = [random.standard_normal(shape).astype(np.float32)
          for _ in range(count)]
    return [np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x
            for x in xs]


def recorded(engine, io, count=24):
    """What an engine's inputs are on random frames, to calibrate with."""
    carried, seen = Carried(io), []
    count = CALIBRATION if io.get("pictures") else count
    for x in frames(io, engine.last, count, 7):
        inputs = carried.inputs(x)
        seen.append([np.array(i) for i in inputs])
        carried.take(x, engine.run(inputs))
    return seen


class Engine:
    last = False    # channels last
    needs = ()      # modules

    def __init__(self, path, io, threads):
        self.io, self.threads = io, threads
        self.names = [i[0] for i in io["inputs"]]
        self.open(path)


class Ort(Engine):
    """ONNX Runtime's CPU provider."""
    needs = ("onnx", "onnxruntime")

    @staticmethod
    def prepare(net, path):
        import onnx
        import shutil
        from emit import Onnx
        if hasattr(net, "onnx"):
            shutil.copyfile(net.onnx, path)
        else:
            onnx.save(Onnx(net).model(), path)

    def open(self, path):
        import onnxruntime as ort
        o = ort.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = self.threads, 1
        o.log_severity_level = 3
        self.session = ort.InferenceSession(path, o, ["CPUExecutionProvider"])
        self.version = ort.__version__
        self.binding = self.session.io_binding()
        self.y = [np.zeros(y.shape, np.float32) for y in
                  self.session.get_outputs()]
        for y, to in zip(self.session.get_outputs(), self.y):
            self.binding.bind_output(y.name, "cpu", 0, np.float32, to.shape,
                                     to.ctypes.data)

    def run(self, inputs):
        """Inputs and outputs are bound where they lie; what is carried is
        copied, as the next frame is written to the same place."""
        for name, x in zip(self.names, inputs):
            self.binding.bind_input(name, "cpu", 0, np.float32, x.shape,
                                    x.ctypes.data)
        self.session.run_with_iobinding(self.binding)
        return self.y[:1] + [y.copy() for y in self.y[1:]]


class OrtInt8(Ort):
    """Only the convs are quantised: what is carried stays fp32.  Weights have
    7 bits where the processor adds pairs of products in 16."""
    ops = ["Conv"]

    @classmethod
    def prepare(cls, net, path):
        from onnxruntime.quantization import (
            CalibrationDataReader, QuantFormat, QuantType, quantize_static)
        Ort.prepare(net, path + ".fp32")
        io = with_pictures(net.io())
        seen = recorded(Ort(path + ".fp32", io, 1), io)

        class Reader(CalibrationDataReader):
            rows = iter([dict(zip([i[0] for i in io["inputs"]], row))
                         for row in seen])

            def get_next(self):
                return next(self.rows, None)
        quantize_static(path + ".fp32", path, Reader(),
                        quant_format=QuantFormat.QDQ, per_channel=True,
                        reduce_range=not has_vnni(),
                        activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8,
                        op_types_to_quantize=cls.ops)


class OrtInt8All(OrtInt8):
    """All operators that its quantiser knows."""
    ops = None


def with_pictures(io):
    return dict(io, pictures=os.environ.get("PEERS_PICTURES"))


def has_vnni():
    with open("/proc/cpuinfo") as f:
        return "vnni" in f.read()


class OpenVino(Engine):
    needs = ("onnx", "openvino")
    prepare = staticmethod(Ort.prepare)
    precision = "f32"

    def open(self, path):
        import openvino as ov
        core = ov.Core()
        model = core.compile_model(core.read_model(path), "CPU", {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": self.precision,
            "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False})    # the core may be busy
        self.request, self.tensor = model.create_infer_request(), ov.Tensor
        self.version = ov.__version__.split("-")[0]
        self.outs = len(self.io["outputs"])

    def run(self, inputs):
        for k, x in enumerate(inputs):
            self.request.set_input_tensor(k, self.tensor(x, True))
        self.request.infer()
        # the request writes to the same memory next time
        y = [self.request.get_output_tensor(k).data
             for k in range(self.outs)]
        return y[:1] + [v.copy() for v in y[1:]]


class OpenVinoBf16(OpenVino):
    precision = "bf16"


class OpenVinoInt8(OpenVino):
    """Post-training quantisation of NNCF."""
    needs = OpenVino.needs + ("nncf",)

    @staticmethod
    def prepare(net, path):
        import nncf
        import openvino as ov
        fp32, io = path + ".onnx", with_pictures(net.io())
        Ort.prepare(net, fp32)
        names = [i[0] for i in io["inputs"]]
        seen = [dict(zip(names, row))
                for row in recorded(OpenVino(fp32, io, 1), io)]
        model = nncf.quantize(ov.Core().read_model(fp32), nncf.Dataset(seen),
                              subset_size=len(seen))
        ov.save_model(model, path + ".xml", compress_to_fp16=False)

    def open(self, path):
        super().open(path + ".xml")


class OpenVinoQdq(OpenVino):
    """The quantised model of ONNX Runtime, all operators."""
    prepare = OrtInt8All.prepare


class Torch(Engine):
    """torch.jit, frozen, channels last."""
    needs = ("torch",)

    @staticmethod
    def form(torch, x):
        return x.contiguous(memory_format=torch.channels_last if x.dim() == 4
                            else torch.channels_last_3d)

    @classmethod
    def module(cls, net):
        import torch
        from emit import torch_module
        if hasattr(net, "onnx"):
            raise RuntimeError("is made of a text, not of a model file")
        m = torch_module(net)
        for p in m.parameters():
            if p.dim() >= 4:
                p.data = cls.form(torch, p.data)
        args = tuple(cls.form(torch, torch.zeros(i[1]))
                     for i in net.io()["inputs"])
        return m, args

    @classmethod
    def prepare(cls, net, path):
        import torch
        m, args = cls.module(net)
        with torch.no_grad():
            m = torch.jit.freeze(torch.jit.trace(m, args))
        torch.jit.save(m, path)

    def open(self, path):
        import torch
        torch.set_num_threads(self.threads)
        torch.set_grad_enabled(False)
        self.torch, self.version = torch, torch.__version__.split("+")[0]
        self.model = torch.jit.load(path)

    def run(self, inputs):
        t = self.torch
        inputs = [self.form(t, x if isinstance(x, t.Tensor)
                            else t.from_numpy(x)) for x in inputs]
        return self.model(*inputs)


class TorchCompile(Torch):
    """torch.compile; the compiler's memory counts."""
    @classmethod
    def prepare(cls, net, path):
        import pickle
        with open(path, "wb") as f:
            pickle.dump(net, f)

    def open(self, path):
        import pickle
        import torch
        torch.set_num_threads(self.threads)
        torch.set_grad_enabled(False)
        self.torch, self.version = torch, torch.__version__.split("+")[0]
        with open(path, "rb") as f:
            self.model = torch.compile(self.module(pickle.load(f))[0])


class LiteRt(Engine):
    """LiteRT with XNNPACK, converted from PyTorch."""
    last = True
    needs = ("torch", "litert_torch", "ai_edge_litert")

    @staticmethod
    def prepare(net, path):
        import litert_torch
        import torch
        from emit import torch_module
        if hasattr(net, "onnx"):
            raise RuntimeError("is made of a text, not of a model file")
        io = net.io(True)
        m = litert_torch.to_channel_last_io(
            torch_module(net), list(range(len(io["inputs"]))),
            list(range(len(io["outputs"])))).eval()
        args = tuple(torch.zeros(i[1]) for i in io["inputs"])
        litert_torch.convert(m, args).export(path)

    def open(self, path):
        import ai_edge_litert
        from ai_edge_litert.interpreter import Interpreter
        self.model = Interpreter(path, num_threads=self.threads)
        self.model.allocate_tensors()
        signature = self.model.get_signature_list()["serving_default"]
        runner = self.model.get_signature_runner("serving_default")
        ins, outs = runner.get_input_details(), runner.get_output_details()
        number = lambda name: int(name.rsplit("_", 1)[1])
        self.ins = [ins[k]["index"] for k in
                    sorted(signature["inputs"], key=number)]
        self.outs = [outs[k]["index"] for k in
                     sorted(signature["outputs"], key=number)]
        self.version = getattr(ai_edge_litert, "__version__", "")

    def run(self, inputs):
        for k, x in zip(self.ins, inputs):
            self.model.set_tensor(k, x)
        self.model.invoke()
        return [self.model.get_tensor(k) for k in self.outs]


class LiteRtInt8(LiteRt):
    """Static quantisation of weights and values, fp32 in and out."""
    needs = LiteRt.needs + ("ai_edge_quantizer",)

    @staticmethod
    def prepare(net, path):
        from ai_edge_quantizer import algorithm_manager, qtyping
        from ai_edge_quantizer import quantizer, recipe
        LiteRt.prepare(net, path + ".fp32")
        io = net.io(True)
        q = quantizer.Quantizer(path + ".fp32", recipe.static_wi8_ai8())
        whole = algorithm_manager.AlgorithmName.NO_QUANTIZE
        for end in (qtyping.TFLOperationName.INPUT,
                    qtyping.TFLOperationName.OUTPUT):
            q.update_quantization_recipe(".*", end, algorithm_key=whole)
        rows = [{f"args_{k}": x for k, x in enumerate(row)}
                for row in recorded(LiteRt(path + ".fp32", io, 1), io)]
        result = q.calibrate({"serving_default": rows})
        if os.path.exists(path):
            os.remove(path)
        q.quantize(result).export_model(path)


class DeepSparse(Engine):
    """Neural Magic's, which skips weights that are zero.  It knows operators
    of version 11; what it does not know it leaves to ONNX Runtime, which the
    version then says."""
    needs = ("onnx", "deepsparse")

    @staticmethod
    def prepare(net, path):
        import onnx
        from emit import Onnx
        m = Onnx(net).model()
        m.opset_import[0].version, m.ir_version = 11, 6
        for n in m.graph.node:
            if n.op_type == "Split":
                each = net.shape_of(n.output[0].split("~")[0])[-1]
                n.attribute.append(onnx.helper.make_attribute(
                    "split", [each] * len(n.output)))
        onnx.checker.check_model(m)
        onnx.save(m, path)

    def open(self, path):
        import deepsparse
        self.model = deepsparse.compile_model(path, batch_size=1,
                                              num_cores=self.threads)
        known = self.model.fraction_of_supported_ops
        self.version = deepsparse.__version__
        if known < 1:
            self.version += f" ({known:.0%} of the operators)"

    def run(self, inputs):
        return self.model.run(inputs)


ENGINES = {"ort": Ort, "ort-int8": OrtInt8, "ort-int8-all": OrtInt8All,
           "openvino": OpenVino,
           "openvino-bf16": OpenVinoBf16, "openvino-int8": OpenVinoInt8,
           "openvino-qdq": OpenVinoQdq,
           "torch": Torch, "torch-compile": TorchCompile, "litert": LiteRt,
           "litert-int8": LiteRtInt8, "deepsparse": DeepSparse}
