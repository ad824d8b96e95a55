# SPDX-License-Identifier: Apache-2.0
"""_model.py: a loaded model (Model), and the frames that it takes (Input)."""
from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Optional, Tuple, Union

from ._library import CInput, Closing, COptions, Handle, call, number, text
from ._stream import Batch, Path, Session


@dataclass(frozen=True)
class Input:
    """The frames that a model takes.

    h, w, c: rows, columns, channels.
    fps: frames per second; 0: every frame.
    mean, std: per channel, for values in 0..1.
    scale: with crop, resize a picture to cover scale * (w, h) first.
    fit: "crop", "stretch" or "pad", for pictures of another shape.
    colour: "rgb", "bgr" or "gray".
    normalise: "set"; "clip": by mean and deviation of the stream so far.
    gamma: exponent applied first to values in 0..1."""
    h: int
    w: int
    c: int
    fps: float
    mean: Tuple[float, ...]
    std: Tuple[float, ...]
    scale: float
    fit: str
    colour: str
    normalise: str
    gamma: float

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(h, w, c): the shape of a frame as an array"""
        return self.h, self.w, self.c


def _input(i: CInput) -> Input:
    return Input(
        h=i.h, w=i.w, c=i.c, fps=i.fps, mean=tuple(i.mean[:i.c]),
        std=tuple(i.std[:i.c]), scale=i.scale,
        fit=("crop", "stretch", "pad")[i.fit],
        colour=("rgb", "bgr", "gray")[i.colour],
        normalise=("set", "clip")[i.normalise], gamma=i.gamma)


class Model(Closing):
    """A model file, loaded once; any number of streams may use it.

    device: "cpu", "cuda" (an NVIDIA GPU) or "ref" (plain C, slow).
    threads: CPU threads per session; 0: one per processor.
    products: numbers that convs multiply, "fp32", "fp16" or "bf16"; on a GPU
    also "tf32".
    tune: True: use the fastest code on this machine, found by timing; a path:
    with the results in this file; None: choose by rule.
    decide: streams decide early, by thresholds of convtt-infer --calibrate.

    Error if the file, the device or a setting is not usable."""

    input: Input
    classes: Tuple[str, ...]
    predicts: bool

    def __init__(self, path: Path, device: str = "cpu", threads: int = 0, *,
                 products: str = "fp32", tune: Union[None, bool, Path] = None,
                 decide: bool = False) -> None:
        file: Optional[bytes] = None
        if tune is not None and not isinstance(tune, bool):
            file = text("tune", tune)
        options = COptions(c.sizeof(COptions), text("device", device),
                           number("threads", threads, 0),
                           text("products", products),
                           bool(tune) or file is not None, file, 0)
        self._handle = Handle("infer")
        call("ctt_infer_open_with", text("path", path), c.byref(options),
             c.byref(self._handle.pointer))
        if decide:
            self._handle.call("decide")
        #: the frames that it takes
        self.input = _input(self._handle.call("wants").contents)
        #: names of the classes; none if the model predicts frames
        self.classes = tuple(
            self._handle.call("class", i).decode(errors="replace")
            for i in range(self._handle.call("classes")))
        #: whether it predicts frames instead of recognising classes
        self.predicts = bool(self._handle.call("predicts"))

    def session(self) -> Session:
        """Starts a stream.  Error if the device cannot be used, or if memory
        is not enough."""
        return Session(self)

    def batch(self, streams: int) -> Batch:
        """Room for 1 to 4096 streams that are computed together; none has
        joined yet."""
        return Batch(self, streams)

    def close(self) -> None:
        """Closes its sessions and batches, then frees the model."""
        super().close()
