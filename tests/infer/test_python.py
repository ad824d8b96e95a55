# SPDX-License-Identifier: Apache-2.0
"""test_python.py: the package convtt with the models of test_python.sh: answers
of the programs, wrong use, and what is saved and restored."""
import contextlib
import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest

import numpy as np

import convtt


def model(path="m.h5", **settings):
    return convtt.Model(path, threads=1, **settings)


RAW = np.fromfile("raw", np.uint8).reshape(-1, 16, 16, 3)


class Case(unittest.TestCase):
    def fails(self, kind, pattern, call, *arguments, **named):
        with self.assertRaisesRegex(kind, pattern) as caught:
            call(*arguments, **named)
        self.assertNotIn("\n", str(caught.exception))


class Answers(Case):
    def test_library(self):
        lib = convtt.library()
        self.assertTrue(os.path.samefile(lib.path,
                                         os.environ["CONVTT_LIBRARY"]))
        self.assertIn("ref", lib.devices)
        text = pathlib.Path(convtt.__file__).parents[1] / "pyproject.toml"
        version = re.search('^version = "(.*)"$', text.read_text(), re.M)
        self.assertEqual(lib.version, version[1])

    def test_model(self):
        with model() as m:
            self.assertEqual(m.input, convtt.Input(
                16, 16, 3, 6.0, m.input.mean, m.input.std, m.input.scale,
                "crop", "rgb", "set", 1.0))
            self.assertEqual(m.input.shape, (16, 16, 3))
            np.testing.assert_allclose(m.input.mean, [.45] * 3, rtol=1e-6)
            np.testing.assert_allclose(m.input.std, [.25] * 3, rtol=1e-6)
            self.assertEqual(len(m.classes), 12)
            self.assertFalse(m.predicts)
        with model("next.h5") as m:
            self.assertEqual((m.input.shape, m.input.colour, m.classes,
                              m.predicts), ((16, 16, 1), "gray", (), True))

    def test_pipe(self):
        """Each answer is that of examples/pipe, to its digits."""
        lines = pathlib.Path("pipe.out").read_text().splitlines()
        self.assertEqual(len(lines), len(RAW))
        with model() as m, m.session() as s:
            for frame, line in zip(RAW, lines):
                s.push(frame)
                name, p = s.top(1)[0]
                self.assertEqual(f"{s.frames}\t{name}\t{p:.3f}", line)

    def test_infer(self):
        """Each answer is that of convtt-infer."""
        with open("infer.json") as f:
            answers = [a for a in map(json.loads, f) if "frame" in a]
        self.assertEqual(len(answers), len(RAW))
        with model() as m, m.session() as s:
            for frame, a in zip(RAW, answers):
                s.push(frame)
                top = s.top(3)
                self.assertEqual([n for n, _ in top],
                                 [t["class"] for t in a["top"]])
                np.testing.assert_allclose(
                    [p for _, p in top],
                    [t["probability"] for t in a["top"]], atol=1e-6)

    def test_frames(self):
        """Bytes, floats, parts and layouts of the same frames."""
        with model() as m:
            floats = ((RAW / np.float32(255) - np.float32(m.input.mean)) /
                      np.float32(m.input.std)).astype(np.float32)
            odd = np.zeros(RAW.nbytes * 4 + 1, np.uint8)[1:].view(np.float32)
            odd = odd.reshape(RAW.shape)
            odd[:] = floats
            self.assertFalse(odd.flags.aligned)
            spread = np.repeat(RAW, 2, axis=2)[:, :, ::2]
            self.assertFalse(spread.flags.c_contiguous)
            all_p = []
            for parts in ([RAW], list(RAW), [spread], [floats], [odd]):
                with m.session() as s:
                    for part in parts:
                        s.push(part)
                    self.assertEqual(s.frames, len(RAW))
                    all_p.append(s.probabilities())
            self.assertEqual((all_p[0].dtype, all_p[0].shape),
                             (np.float32, (12,)))
            self.assertAlmostEqual(float(all_p[0].sum()), 1, 5)
            for p in all_p[1:]:
                np.testing.assert_allclose(p, all_p[0], atol=1e-5)

    def test_reset(self):
        with model() as m, m.session() as s:
            s.push(RAW[:3])
            first = s.probabilities()
            s.push(RAW[3:])
            self.assertFalse((s.probabilities() == first).all())
            s.reset()
            self.assertEqual(s.frames, 0)
            s.push(RAW[:3])
            np.testing.assert_array_equal(s.probabilities(), first)
            self.assertEqual(len(s.top(99)), 12)
            self.assertEqual(s.top(2), sorted(
                zip(m.classes, map(float, first)), key=lambda t: -t[1])[:2])

    def test_saved(self):
        with model() as m, m.session() as s, m.session() as t:
            s.push(RAW[:4])
            s.save(pathlib.Path("a.stream"))
            s.push(RAW[4:])
            t.push(RAW[7:])
            t.restore("a.stream")
            self.assertEqual(t.frames, 4)
            t.push(RAW[4:])
            np.testing.assert_array_equal(t.probabilities(), s.probabilities())
            pathlib.Path("bad.stream").write_bytes(b"no stream")
            self.fails(convtt.Error, "^bad.stream: ", t.restore, "bad.stream")
            self.fails(convtt.Error, "^raw: ", t.save, "raw")
            np.testing.assert_array_equal(t.probabilities(), s.probabilities())

    def test_batch(self):
        """Streams that join, push and leave apart are as sessions."""
        with model() as m, m.batch(3) as b, contextlib.ExitStack() as stack:
            s = [stack.enter_context(m.session()) for _ in range(3)]
            self.assertEqual([b.join() for _ in range(3)], [0, 1, 2])
            self.fails(convtt.Error, "", b.join)
            for i in range(len(RAW)):
                some = {k: RAW[(i + k) % len(RAW)] for k in range(3)
                        if i % (k + 1) == 0}
                b.push(some)
                for k, frame in some.items():
                    s[k].push(frame)
            p = b.probabilities()
            self.assertEqual(sorted(p), [0, 1, 2])
            for k in range(3):
                self.assertEqual(b.frames(k), s[k].frames)
                np.testing.assert_allclose(p[k], s[k].probabilities(),
                                           atol=1e-5)
                self.assertEqual(b.top(k, 1)[0][0], s[k].top(1)[0][0])
            b.save(1, "b.stream")
            b.leave(1)
            self.assertEqual(sorted(b.probabilities()), [0, 2])
            self.assertEqual(b.join(), 1)
            b.restore(1, "b.stream")
            np.testing.assert_array_equal(b.probabilities([1])[1], p[1])
            s[0].restore("b.stream")
            np.testing.assert_allclose(s[0].probabilities(), p[1], atol=1e-5)
            b.reset(1)
            self.assertEqual(b.frames(1), 0)
            self.fails(convtt.Error, "", b.probabilities, [1])
            self.assertEqual(sorted(b.probabilities()), [0, 2])

    def test_predict(self):
        gray = RAW[..., :1]
        with model("next.h5") as m, m.session() as s, m.batch(2) as b:
            s.push(gray)
            frames = s.predict(2)
            self.assertEqual((frames.shape, frames.dtype),
                             ((2, 16, 16, 1), np.float32))
            self.assertTrue(np.isfinite(frames).all() and frames.any())
            b.join()
            for frame in gray:
                b.push({0: frame})
            np.testing.assert_allclose(b.predict(2, [0])[0], frames, atol=1e-5)
            self.fails(convtt.Error, "", s.probabilities)
            self.fails(convtt.Error, "", s.top)
            self.fails(ValueError, "^count: ", s.predict, 0)
            self.fails(ValueError, "^count: ", s.predict, 2 ** 32 + 1)
        with model() as m, m.session() as s:
            s.push(RAW)
            self.fails(convtt.Error, "", s.predict, 1)

    def test_settings(self):
        """Other code for the convs: nearly the same answers; a warning where
        the processor has no products of bfloat16."""
        with open("/proc/cpuinfo") as f:
            warns = "avx512_bf16" not in f.read()
        all_p = []
        for settings in {}, {"tune": "tuned"}, {"products": "bf16"}:
            says = warns and "products" in settings
            with self.assertLogs("convtt") if says else \
                    contextlib.nullcontext(), \
                    model(**settings) as m, m.session() as s:
                s.push(RAW)
                all_p.append(s.probabilities())
        np.testing.assert_allclose(all_p[1], all_p[0], atol=1e-5)
        np.testing.assert_allclose(all_p[2], all_p[0], atol=1e-2)
        self.assertGreater(os.path.getsize("tuned"), 0)

    def test_decisions(self):
        with model("d.h5", decide=True) as m, m.session() as s, \
                m.batch(1) as b:
            self.assertIsNone(s.decided())
            s.push(RAW)
            d = s.decided()
            self.assertTrue(d.early and 0 < d.frame <= len(RAW))
            self.assertTrue(d.answer == m.classes[d.number] and
                            0 < d.confidence < 1)
            self.assertEqual(s.end(), d)
            b.join()
            self.assertIsNone(b.decided(0))
            for frame in RAW:
                b.push({0: frame})
            e = b.decided(0)
            self.assertEqual((e.number, e.frame), (d.number, d.frame))
            self.assertEqual(b.end(0), e)
            s.reset()
            self.fails(convtt.Error, "", s.end)
        self.fails(convtt.Error, "thresholds", model, decide=True)
        with model() as m, m.session() as s:
            s.push(RAW)
            self.fails(convtt.Error, "", s.decided)
            self.fails(convtt.Error, "", s.end)


class WrongUse(Case):
    def test_open(self):
        self.fails(convtt.Error, "^nothere.h5: ", model, "nothere.h5")
        self.fails(convtt.Error, "^raw: ", model, "raw")
        self.fails(convtt.Error, "tpu", model, device="tpu")
        self.fails(convtt.Error, "fp8", model, products="fp8")
        self.fails(ValueError, "^threads: ", convtt.Model, "m.h5", threads=-1)
        self.fails(ValueError, "^threads: ", convtt.Model, "m.h5",
                   threads=2 ** 32)
        self.fails(ValueError, "^threads: ", convtt.Model, "m.h5", threads="1")
        self.fails(ValueError, "^path: .* NUL", model, "m.h5\0x")
        self.assertRaises(TypeError, model, None)

    def test_frames(self):
        with model() as m, m.session() as s, m.batch(2) as b:
            b.join()
            self.fails(ValueError, "^frames: uint8 or float32 of 16 x 16 x 3 "
                       "or n x 16 x 16 x 3 values, not float64 of 16 x 16 x 3$",
                       s.push, np.zeros((16, 16, 3)))
            for wrong in (RAW[0, :, :, 0], RAW[:0], RAW[0].T, RAW[None],
                          RAW.astype(np.int8), RAW.astype(">f4"), 7, None,
                          RAW[0].tolist(), b"frame", RAW[:, :15]):
                self.fails(ValueError, "^frames: ", s.push, wrong)
                self.fails(ValueError, "^frames: ", b.push, {0: wrong})
            self.fails(ValueError, "^frames: ", b.push, {0: RAW})
            b.join()
            self.fails(ValueError, "^frames: all", b.push,
                       {0: RAW[0], 1: RAW[0].astype(np.float32)})
            self.assertEqual((s.frames, b.frames(0)), (0, 0))
            for bad in np.nan, np.inf:
                floats = np.zeros((2, 16, 16, 3), np.float32)
                floats[1, 3, 4, 1] = bad
                self.fails(convtt.Error, "finite", s.push, floats)
                self.assertEqual(s.frames, 0)
            self.fails(convtt.Error, "", s.probabilities)
            s.push(RAW)
            self.fails(ValueError, "^k: ", s.top, 0)

    def test_streams(self):
        with model() as m, m.batch(2) as b:
            for wrong in -1, 2, 2 ** 32, "0":
                self.fails(ValueError, "^stream: ", b.frames, wrong)
                self.fails(ValueError, "^stream: ", b.leave, wrong)
                self.fails(ValueError, "^stream: ", b.push, {wrong: RAW[0]})
                self.fails(ValueError, "^stream: ", b.probabilities, [wrong])
            self.fails(convtt.Error, "", b.push, {0: RAW[0]})
            self.fails(convtt.Error, "", b.leave, 0)
            self.fails(convtt.Error, "", b.restore, 0, "nothere")
            self.assertEqual(b.probabilities(), {})
            self.fails(ValueError, "^streams: ", m.batch, 0)
            self.fails(ValueError, "^streams: ", m.batch, 2 ** 32 + 1)
            self.fails(convtt.Error, "", m.batch, 5000)

    def test_closed(self):
        m = model()
        s, t, b = m.session(), m.session(), m.batch(1)
        s.close()
        s.close()
        for call in (s.probabilities, s.reset, s.top, lambda: s.frames, s.end,
                     s.decided, lambda: s.push(RAW), lambda: s.save("x"),
                     lambda: s.restore("a.stream"), lambda: s.predict(1)):
            self.fails(convtt.Error, "^session: closed$", call)
        t.push(RAW)
        m.close()
        self.fails(convtt.Error, "^session: closed$", t.probabilities)
        self.fails(convtt.Error, "^batch: closed$", b.join)
        self.fails(convtt.Error, "^model: closed$", m.session)
        self.fails(convtt.Error, "^model: closed$", m.batch, 1)
        self.assertEqual(len(m.classes), 12)

    def test_forgotten(self):
        """A session keeps its model; a cycle of both is freed."""
        s = model().session()
        gc.collect()
        s.push(RAW)
        s._model.mine = s
        ends = [s._handle.free, s._model._handle.free]
        del s
        gc.collect()
        self.assertEqual([e.alive for e in ends], [False, False])

    def test_threads(self):
        """Threads that share a session, and one that closes the model."""
        m = model()
        s, said = m.session(), []

        def push():
            try:
                while True:
                    s.push(RAW)
                    s.probabilities()
            except convtt.Error as e:
                said.append(str(e))

        threads = [threading.Thread(target=push) for _ in range(3)]
        for t in threads:
            t.start()
        while s.frames < 20 * len(RAW):
            pass
        m.close()
        for t in threads:
            t.join()
        self.assertEqual(said, ["session: closed"] * 3)

    def test_fork(self):
        with model() as m, m.session() as s:
            s.push(RAW)
            child = os.fork()
            if child == 0:
                try:
                    self.fails(convtt.Error, "fork", s.push, RAW)
                    os._exit(0)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_exit(self):
        """Nothing is closed, and a thread still pushes."""
        code = ("import convtt, numpy, threading\n"
                "m = convtt.Model('m.h5', threads=1)\n"
                "s, b = m.session(), m.batch(2)\n"
                "f = numpy.zeros((9, 16, 16, 3), numpy.uint8)\n"
                "def push():\n"
                "    try:\n"
                "        while True: s.push(f)\n"
                "    except convtt.Error: pass\n"
                "threading.Thread(target=push, daemon=True).start()\n"
                "while s.frames < 90: pass\n")
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_no_library(self):
        for library, pattern in (("nothere.so", "CONVTT_LIBRARY"),
                                 ("libm.so.6", "^libm.so.6: has no ctt_")):
            said = subprocess.run(
                [sys.executable, "-c", "import convtt\n"
                 "try: convtt.Model('m.h5')\n"
                 "except convtt.Error as e: print(e)"], check=True, text=True,
                stdout=subprocess.PIPE,
                env={**os.environ, "CONVTT_LIBRARY": library}).stdout
            self.assertRegex(said, pattern)


if __name__ == "__main__":
    unittest.main()
