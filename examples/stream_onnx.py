#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stream_onnx.py MODEL.onnx < FRAMES: what is seen in raw frames, by ONNX
Runtime; convtt-info --export wrote the model, --with-softmax for
probabilities."""
import json
import sys

import numpy as np
import onnxruntime as ort

options = ort.SessionOptions()    # of a model with bytes: exact products
options.add_session_config_entry("session.x64quantprecision", "1")
session = ort.InferenceSession(sys.argv[1], options)
shapes = {i.name: i.shape for i in session.get_inputs()}
outputs = [o.name for o in session.get_outputs()]
about = session.get_modelmeta().custom_metadata_map
frame, states = json.loads(about["input"]), json.loads(about["states"])
labels = json.loads(about["labels"])
past = {name: np.zeros(shapes[name], np.float32) for name in states}
if frame["normalise"] != "set":
    sys.exit("stream_onnx.py: frames are normalised by those before them")
_, channels, height, width = shapes[frame["name"]]
count, size = 0, channels * height * width
while len(raw := sys.stdin.buffer.read(size)) == size:
    x = np.frombuffer(raw, np.uint8).reshape(1, height, width, channels)
    x = ((x / 255) ** frame["gamma"] - frame["mean"]) / frame["std"]
    inputs = {frame["name"]: x.transpose(0, 3, 1, 2).astype(np.float32), **past}
    if "start" in shapes:
        inputs["start"] = np.array([count == 0])
    got = dict(zip(outputs, session.run(None, inputs)))
    past = {name: got[after] for name, after in states.items()}
    answer = got[json.loads(about["answer"])["name"]].ravel()
    count, best = count + 1, int(answer.argmax())
    print(count, labels[best] if labels else best, answer[best], sep="\t",
          flush=True)
