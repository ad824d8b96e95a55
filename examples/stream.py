#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stream.py MODEL < FRAMES: what is seen in raw frames, by ctypes and numpy.

FRAMES are bytes, rows x columns x channels a frame, of the size and rate that
convtt-info MODEL says, and no video file; python/README.md has one:

    ffmpeg -i CLIP -vf fps=6,scale=48:48 -f rawvideo -pix_fmt rgb24 - |
        stream.py MODEL

CONVTT_LIBRARY names the library if it is not installed."""
import ctypes as c
import os
import sys

import numpy as np

lib = c.CDLL(os.environ.get("CONVTT_LIBRARY", "libconvtt-infer.so.0"))
lib.ctt_infer_error.restype = lib.ctt_infer_class.restype = c.c_char_p
lib.ctt_infer_wants.restype = c.POINTER(c.c_int)
lib.ctt_infer_wants.argtypes = lib.ctt_infer_classes.argtypes = [c.c_void_p]
lib.ctt_infer_class.argtypes = [c.c_void_p, c.c_int]
lib.ctt_infer_open.argtypes = [c.c_char_p, c.c_char_p, c.c_int, c.c_void_p]
lib.ctt_session_open.argtypes = [c.c_void_p, c.c_void_p]
lib.ctt_session_push.argtypes = [c.c_void_p, c.c_void_p, c.c_int]
lib.ctt_session_read.argtypes = [c.c_void_p, c.c_void_p]
lib.ctt_session_close.argtypes = lib.ctt_infer_close.argtypes = [c.c_void_p]


def check(rc):
    if rc < 0:
        sys.exit("stream.py: " + lib.ctt_infer_error().decode())


if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    sys.exit(__doc__)
model, session = c.c_void_p(), c.c_void_p()
check(lib.ctt_infer_open(os.fsencode(sys.argv[1]), b"cpu", 1, c.byref(model)))
check(lib.ctt_session_open(model, c.byref(session)))
height, width, channels = lib.ctt_infer_wants(model)[:3]
probs = np.zeros(lib.ctt_infer_classes(model), np.float32)
count = 0
size = height * width * channels
while len(raw := sys.stdin.buffer.read(size)) == size:
    frame = np.frombuffer(raw, np.uint8).reshape(height, width, channels)
    check(lib.ctt_session_push(session, frame.ctypes.data, 1))
    check(lib.ctt_session_read(session, probs.ctypes.data))
    count += 1
    best = int(probs.argmax())
    name = lib.ctt_infer_class(model, best).decode()
    print(f"{count}\t{name}\t{probs[best]:.3f}", flush=True)
lib.ctt_session_close(c.byref(session))
lib.ctt_infer_close(c.byref(model))
