# SPDX-License-Identifier: Apache-2.0
"""_library.py: finds libconvtt-infer, calls it, and frees what it opened."""
from __future__ import annotations

import contextlib
import ctypes as c
import ctypes.util
import functools
import logging
import os
import pathlib
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Tuple, TypeVar

_P, _I, _S, _L = c.c_void_p, c.c_int, c.c_char_p, c.c_int64
_Self = TypeVar("_Self", bound="Closing")


class Error(Exception):
    """A failure of libconvtt-infer, with its message of one line."""


class CInput(c.Structure):
    """struct ctt_infer_input"""
    _fields_ = [("h", _I), ("w", _I), ("c", _I), ("fps", c.c_float),
                ("mean", c.c_float * 3), ("std", c.c_float * 3),
                ("scale", c.c_float), ("fit", _I), ("colour", _I),
                ("normalise", _I), ("gamma", c.c_float)]


class COptions(c.Structure):
    """struct ctt_infer_options"""
    _fields_ = [("size", c.c_size_t), ("device", _S), ("threads", _I),
                ("type", _S), ("tune", _I), ("tune_file", _S),
                ("memory", _L)]


class CDecision(c.Structure):
    """struct ctt_infer_decision"""
    _fields_ = [("answer", _I), ("early", _I), ("frame", _L),
                ("confidence", c.c_float)]


# The functions of infer.h that are called here: what they return and take.
_FUNCTIONS = {
    "ctt_infer_version": (_S, ()),
    "ctt_infer_device": (_S, (_I,)),
    "ctt_infer_error": (_S, ()),
    "ctt_infer_log": (None, (_P, _P)),
    "ctt_infer_open_with": (_I, (_S, _P, _P)),
    "ctt_infer_close": (None, (_P,)),
    "ctt_infer_decide": (_I, (_P,)),
    "ctt_infer_wants": (c.POINTER(CInput), (_P,)),
    "ctt_infer_predicts": (_I, (_P,)),
    "ctt_infer_classes": (_I, (_P,)),
    "ctt_infer_class": (_S, (_P, _I)),
    "ctt_session_open": (_I, (_P, _P)),
    "ctt_session_close": (None, (_P,)),
    "ctt_session_reset": (None, (_P,)),
    "ctt_session_push": (_I, (_P, _P, _I)),
    "ctt_session_push_float": (_I, (_P, _P, _I)),
    "ctt_session_frames": (_L, (_P,)),
    "ctt_session_read": (_I, (_P, _P)),
    "ctt_session_decided": (_I, (_P, _P)),
    "ctt_session_end": (_I, (_P,)),
    "ctt_session_predict": (_I, (_P, _I, _P)),
    "ctt_session_save": (_I, (_P, _S)),
    "ctt_session_restore": (_I, (_P, _S)),
    "ctt_batch_open": (_I, (_P, _I, _P)),
    "ctt_batch_close": (None, (_P,)),
    "ctt_batch_join": (_I, (_P, _P)),
    "ctt_batch_leave": (_I, (_P, _I)),
    "ctt_batch_reset": (_I, (_P, _I)),
    "ctt_batch_frames": (_L, (_P, _I)),
    "ctt_batch_push": (_I, (_P, _P)),
    "ctt_batch_push_float": (_I, (_P, _P)),
    "ctt_batch_read": (_I, (_P, _P)),
    "ctt_batch_decided": (_I, (_P, _I, _P)),
    "ctt_batch_end": (_I, (_P, _I)),
    "ctt_batch_predict": (_I, (_P, _I, _P)),
    "ctt_batch_save": (_I, (_P, _I, _S)),
    "ctt_batch_restore": (_I, (_P, _I, _S)),
}


def _warn(_: Any, message: bytes) -> None:
    logging.getLogger("convtt").warning(message.decode(errors="replace"))


_say = c.CFUNCTYPE(None, _P, _S)(_warn)     # kept while the library calls it


def _candidate() -> str:
    """The file to load: of CONVTT_LIBRARY, beside this one, of the system."""
    given = os.environ.get("CONVTT_LIBRARY")
    beside = sorted(pathlib.Path(__file__).parent.glob("libconvtt-infer*"))
    return (given or (str(beside[0]) if beside else None) or
            ctypes.util.find_library("convtt-infer") or
            "libconvtt-infer.so.0")


@functools.lru_cache(maxsize=None)
def load() -> c.CDLL:
    """The library, loaded at its first use."""
    name = _candidate()
    try:
        lib = c.CDLL(name)
    except OSError as e:
        raise Error(f"{e}: install libconvtt-infer and run ldconfig, or name "
                    "its file in CONVTT_LIBRARY") from None
    for function, (returns, takes) in _FUNCTIONS.items():
        try:
            f = getattr(lib, function)
        except AttributeError:
            raise Error(f"{name}: has no {function}(): libconvtt-infer 0.2 or "
                        "newer is needed") from None
        f.restype, f.argtypes = returns, takes
    lib.ctt_infer_log(_say, None)
    return lib


class _Place(c.Structure):
    """Dl_info of dladdr()"""
    _fields_ = [("file", _S), ("base", _P), ("name", _S), ("address", _P)]


@dataclass(frozen=True)
class Library:
    """The loaded libconvtt-infer: its file, its version, and the names that
    device= knows; "cuda" opens where the library was built with it and a GPU
    is there."""
    path: str
    version: str
    devices: Tuple[str, ...]


def library() -> Library:
    """Which library was found; Error if there is none."""
    lib, place = load(), _Place()
    devices: List[str] = []
    c.CDLL(None).dladdr(c.cast(lib.ctt_infer_version, _P), c.byref(place))
    while (name := lib.ctt_infer_device(len(devices))) is not None:
        devices.append(name.decode())
    return Library(os.fsdecode(place.file or b""),
                   lib.ctt_infer_version().decode(), tuple(devices))


def call(function: str, *arguments: Any) -> Any:
    """Calls a function; what it returns, or Error with its message."""
    lib = load()
    result = getattr(lib, function)(*arguments)
    if _FUNCTIONS[function][0] is _I and result < 0:
        raise Error(lib.ctt_infer_error().decode(errors="replace"))
    return result


def text(what: str, value: Any) -> bytes:
    """A path or word as the library takes it."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"{what}: has a NUL character")
    return encoded


def number(what: str, value: Any, least: int) -> int:
    """An int as the library takes it, from least on."""
    if not hasattr(value, "__index__"):
        raise ValueError(f"{what}: an int, not {value!r}")
    if not least <= value < 2 ** 31:
        raise ValueError(f"{what}: {value} is not at least {least} and less "
                         "than 2^31")
    return int(value)


def _free(close: Any, pointer: c.c_void_p, lock: Any, process: int,
          _: Any) -> None:
    if process == os.getpid():      # a fork has none of the library's threads
        with lock:
            close(c.byref(pointer))


class Handle:
    """A pointer of the library with a lock, closed once: by close(), when
    nothing refers to it, or at exit; always after the handles that were opened
    from it, as their finalizers refer to it."""

    def __init__(self, kind: str, parent: Optional[Handle] = None) -> None:
        self.kind, self.lock = kind, threading.RLock()
        self.pointer, self.process = c.c_void_p(), os.getpid()
        self.children: weakref.WeakSet[Handle] = weakref.WeakSet()
        self.free = weakref.finalize(
            self, _free, getattr(load(), f"ctt_{kind}_close"), self.pointer,
            self.lock, self.process, parent)
        if parent is not None:
            parent.children.add(self)

    def call(self, function: str, *arguments: Any) -> Any:
        """Calls ctt_KIND_FUNCTION, by one thread at a time."""
        with self.opened():
            return call(f"ctt_{self.kind}_{function}", self.pointer, *arguments)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Holds the lock; Error if it is closed or cannot be used here."""
        kind = "model" if self.kind == "infer" else self.kind
        if self.process != os.getpid():
            raise Error(f"{kind}: open it in the process that uses it, after "
                        "the fork")
        with self.lock:
            if not self.pointer:
                raise Error(f"{kind}: closed")
            yield

    def close(self) -> None:
        """Closes what was opened from it, then itself."""
        with self.lock:
            for child in list(self.children):
                child.close()
            self.free()


class Closing:
    """What has a handle: closed by close(), or at the end of a with block."""
    _handle: Handle

    def close(self) -> None:
        """Frees its memory; what is called after that is an Error."""
        self._handle.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
