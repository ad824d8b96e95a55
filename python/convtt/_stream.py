# SPDX-License-Identifier: Apache-2.0
"""_stream.py: one stream of frames (Session), and many (Batch)."""
from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass
from typing import (TYPE_CHECKING, Any, Dict, Iterable, List, Mapping,
                    Optional, Tuple, Union)

import numpy as np
import numpy.typing as npt

from ._library import CDecision, Closing, Handle, call, number, text

if TYPE_CHECKING:
    from ._model import Model

Path = Union[str, bytes, "os.PathLike[str]"]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Decision:
    """Decision of a stream: the name of a class and its number.

    early: by a threshold, or else at the end of the stream.
    frame: frames of the stream before the decision.
    confidence: in 0..1, as struct ctt_infer_decision of infer.h says."""
    answer: str
    number: int
    early: bool
    frame: int
    confidence: float


class _Streams(Closing):
    """Common part of Session and Batch."""

    def __init__(self, kind: str, model: Model, *arguments: int) -> None:
        self._model, parent = model, model._handle
        with parent.opened():
            self._handle = Handle(kind, parent)
            call(f"ctt_{kind}_open", parent.pointer, *arguments,
                 c.byref(self._handle.pointer))

    def _frames(self, given: npt.ArrayLike, many: bool) -> npt.NDArray[Any]:
        """Frames n x h x w x c as the library takes them."""
        frames, shape = np.asarray(given), self._model.input.shape
        if (frames.dtype in (np.uint8, np.float32) and frames.size > 0 and
                (frames.shape == shape or many and frames.shape[1:] == shape)):
            frames = np.require(frames, requirements=["C", "A"])
            return frames.reshape((-1,) + shape)
        wanted = " x ".join(map(str, shape))
        raise ValueError(
            f"frames: uint8 or float32 of {wanted}"
            f"{f' or n x {wanted}' if many else ''} values, not "
            f"{frames.dtype} of {' x '.join(map(str, frames.shape)) or 1}")

    def _top(self, p: Floats, k: int) -> List[Tuple[str, float]]:
        best = np.argsort(-p, kind="stable")[:number("k", k, 1)]
        return [(self._model.classes[i], float(p[i])) for i in best]

    def _decided(self, *stream: int) -> Optional[Decision]:
        d = CDecision()
        if not self._handle.call("decided", *stream, c.byref(d)):
            return None
        return Decision(self._model.classes[d.answer], d.answer, bool(d.early),
                        d.frame, d.confidence)

    def _ended(self, *stream: int) -> Decision:
        with self._handle.opened():
            self._handle.call("end", *stream)
            decision = self._decided(*stream)
        assert decision is not None
        return decision


class Session(_Streams):
    """One stream of frames through a model; threads take turns."""

    def __init__(self, model: Model) -> None:
        super().__init__("session", model)

    def push(self, frames: npt.ArrayLike) -> None:
        """Pushes the next frame, h x w x c, or frames, n x h x w x c.

        uint8, or finite float32 ((byte / 255)^gamma - mean) / std.  Other
        types and shapes are a ValueError.  After an Error some of the frames
        may have been used: reset or close the session."""
        some = self._frames(frames, True)
        kind = "push" if some.dtype == np.uint8 else "push_float"
        self._handle.call(kind, some.ctypes.data, number("n", len(some), 1))

    @property
    def frames(self) -> int:
        """Frames pushed since the session was opened or reset."""
        return int(self._handle.call("frames"))

    def probabilities(self) -> Floats:
        """Probability of each class, given all frames so far.  Error without
        a frame, or if the model predicts frames."""
        p = np.zeros(len(self._model.classes), np.float32)
        self._handle.call("read", p.ctypes.data)
        return p

    def top(self, k: int = 5) -> List[Tuple[str, float]]:
        """The k most likely classes, best first: name and probability."""
        return self._top(self.probabilities(), k)

    def predict(self, count: int) -> Floats:
        """The next count frames, count x h x w x c, (value in 0..1 - mean) /
        std, not clamped.  Error without a frame, or if the model recognises
        classes."""
        count = number("count", count, 1)
        frames = np.zeros((count,) + self._model.input.shape, np.float32)
        self._handle.call("predict", count, frames.ctypes.data)
        return frames

    def decided(self) -> Optional[Decision]:
        """The stream's decision, if it has one; the model is to be opened
        with decide=True."""
        return self._decided()

    def end(self) -> Decision:
        """Ends the stream: undecided, it decides for the most likely class.
        Push no more frames before a reset."""
        return self._ended()

    def reset(self) -> None:
        """Begins a new stream: the next frame is its first."""
        self._handle.call("reset")

    def save(self, path: Path) -> None:
        """Writes the stream's state to a file."""
        self._handle.call("save", text("path", path))

    def restore(self, path: Path) -> None:
        """Goes on with a saved stream of the same model, of a session or of a
        batch.  After an Error the session is as it was."""
        self._handle.call("restore", text("path", path))


class Batch(_Streams):
    """Many streams through a model, computed together; threads take turns.

    streams: how many have room.  A stream is a number from 0 on, which join()
    gives.  Each has the answers of a session of its own, but for rounding."""

    def __init__(self, model: Model, streams: int) -> None:
        self.streams = number("streams", streams, 1)
        super().__init__("batch", model, self.streams)

    def _stream(self, stream: int) -> int:
        if number("stream", stream, 0) >= self.streams:
            raise ValueError(f"stream: {stream} of a batch of {self.streams}")
        return int(stream)

    def _call(self, function: str, of: Mapping[int, npt.NDArray[Any]],
              *arguments: int) -> None:
        """Calls a function with a pointer for each stream."""
        pointers = (c.c_void_p * self.streams)()
        for stream, values in of.items():
            pointers[stream] = values.ctypes.data
        self._handle.call(function, *arguments, pointers)

    def join(self) -> int:
        """Lets a stream join: the least free number.  Error if full."""
        stream = c.c_int()
        self._handle.call("join", c.byref(stream))
        return stream.value

    def leave(self, stream: int) -> None:
        """The stream leaves, and its number is free."""
        self._handle.call("leave", self._stream(stream))

    def reset(self, stream: int) -> None:
        """Begins a new stream under the same number."""
        self._handle.call("reset", self._stream(stream))

    def frames(self, stream: int) -> int:
        """Frames of the stream since it joined or was reset; 0: not there."""
        return int(self._handle.call("frames", self._stream(stream)))

    def push(self, frames: Mapping[int, npt.ArrayLike]) -> None:
        """Pushes the next frame, h x w x c, of some streams, by number: all
        uint8, or all float32, as Session.push() takes them.  After an Error
        the batch can only be closed, but if a stream has not joined."""
        some = {self._stream(i): self._frames(f, False)
                for i, f in frames.items()}
        types = {f.dtype for f in some.values()}
        if len(types) > 1:
            raise ValueError("frames: all uint8 or all float32")
        self._call("push_float" if np.dtype("f4") in types else "push", some)

    def probabilities(self, streams: Optional[Iterable[int]] = None
                      ) -> Dict[int, Floats]:
        """Probability of each class, by stream; streams None: of all that
        have had a frame."""
        with self._handle.opened():
            if streams is None:
                streams = filter(self.frames, range(self.streams))
            p = {self._stream(i): np.zeros(len(self._model.classes), np.float32)
                 for i in streams}
            self._call("read", p)
        return p

    def top(self, stream: int, k: int = 5) -> List[Tuple[str, float]]:
        """The k most likely classes of a stream, as Session.top()."""
        return self._top(self.probabilities([stream])[stream], k)

    def predict(self, count: int, streams: Iterable[int]) -> Dict[int, Floats]:
        """The next frames of some streams, as Session.predict()."""
        count = number("count", count, 1)
        shape = (count,) + self._model.input.shape
        frames = {self._stream(i): np.zeros(shape, np.float32) for i in streams}
        self._call("predict", frames, count)
        return frames

    def decided(self, stream: int) -> Optional[Decision]:
        """As Session.decided(), of one stream."""
        return self._decided(self._stream(stream))

    def end(self, stream: int) -> Decision:
        """As Session.end(), of one stream."""
        return self._ended(self._stream(stream))

    def save(self, stream: int, path: Path) -> None:
        """As Session.save(), of one stream."""
        self._handle.call("save", self._stream(stream), text("path", path))

    def restore(self, stream: int, path: Path) -> None:
        """As Session.restore(), into one stream that has joined."""
        self._handle.call("restore", self._stream(stream), text("path", path))
