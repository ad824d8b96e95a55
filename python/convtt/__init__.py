# SPDX-License-Identifier: Apache-2.0
"""convtt: recognises what a video shows while it is still running, or predicts
its next frames, by libconvtt-infer.

    with convtt.Model("model.h5") as model, model.session() as session:
        session.push(frames)        # uint8, h x w x c or n x h x w x c
        print(session.top(3))

The library is the file of CONVTT_LIBRARY, or one beside this package, or that
of the system; library() says which.  Its failures are Error, its warnings go
to the logger "convtt"; wrong shapes, types and numbers are ValueError."""
from ._library import Error, Library, library
from ._model import Input, Model
from ._stream import Batch, Decision, Session

__all__ = ["Batch", "Decision", "Error", "Input", "Library", "Model",
           "Session", "library"]
