#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""backend.py: the backend tests of the package onnx, imported by convtt.

    python3 bench/peers/backend.py [--all] [--only WORDS] CONVTT-INFO

Each test that reads and answers floats is a model and arrays.  convtt-info
imports it and compares the answer (--verify): passed, refused with a reason,
or WRONG, which must not occur.  Inputs of a node test that a model has as
weights become constants: first as the test has them, then all but the first.
Prints a table by operator and the counts for values of 4 or 5 axes.
"""
import argparse
import collections
import glob
import os
import subprocess
import tempfile

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

SUITE = 1e-3    # the suite's own tolerance: some answers have four digits


def arrays(folder, kind):
    files = sorted(glob.glob(os.path.join(folder, kind + '_*.pb')))
    return [numpy_helper.to_array(onnx.load_tensor(f)) for f in files]


def node_tests():
    for case in collect_testcases(''):
        for data in case.data_sets or []:
            yield 'node', case.name, case.model, data[0], data[1]


def folder_tests(kind):
    top = os.path.join(os.path.dirname(onnx.__file__), 'backend', 'test',
                       'data', kind)
    for folder in sorted(glob.glob(os.path.join(top, '*'))):
        model = onnx.load(os.path.join(folder, 'model.onnx'))
        for data in sorted(glob.glob(os.path.join(folder, 'test_data_set_*'))):
            yield (kind, os.path.basename(folder), model,
                   arrays(data, 'input'), arrays(data, 'output'))


def floats(values):
    return values and all(isinstance(v, numpy.ndarray) and
                          v.dtype == numpy.float32 for v in values)


def with_constants(model, values, keep):
    """The model with the inputs from the keep-th on as constants."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    names = [i.name for i in model.graph.input]
    for name, value in list(zip(names, values))[keep:]:
        model.graph.initializer.append(numpy_helper.from_array(value, name))
        del model.graph.input[[i.name for i in
                               model.graph.input].index(name)]
    return model


def key(name):
    return 'in_' + ''.join(c if c.isascii() and c.isalnum() else '_'
                           for c in name)


def run(tool, folder, model, values, answer):
    path, saved = os.path.join(folder, 'm.onnx'), os.path.join(folder, 'v.npz')
    onnx.save(model, path)
    inputs = {key(i.name): v for i, v in zip(model.graph.input, values)}
    numpy.savez(saved, out_0=answer, **inputs)
    shapes = ' '.join('%s=%s' % (i.name, ','.join(map(str, v.shape)))
                      for i, v in zip(model.graph.input, values) if v.ndim)
    command = [tool, '--import', path, '--verify', saved, '--answer',
               model.graph.output[0].name]
    if shapes:
        command += ['--input-shape', shapes]
    done = subprocess.run(command, capture_output=True, text=True)
    said = (done.stderr.strip().splitlines() or [''])[-1]
    if done.returncode == 0:
        return 'passed', done.stdout
    if done.returncode < 0:
        return 'WRONG', 'signal %d' % -done.returncode
    if 'differs by more' in said and \
            float(said.split()[-1].rstrip(')')) <= SUITE:
        return 'passed', said
    if 'differs by more' in said or ' numbers; the ' in said:
        return 'WRONG', said
    rows = done.stdout.strip().splitlines()[1:]
    return 'refused', rows[0] if rows else said


def try_test(tool, folder, test):
    """Inputs that are no floats are always constants."""
    kind, _, model, values, answers = test
    live = 0
    while live < len(values) and values[live].dtype == numpy.float32:
        live += 1
    for keep in dict.fromkeys([live, 1]):
        result = run(tool, folder, with_constants(model, values, keep),
                     values[:keep], answers[0])
        if result[0] != 'refused':
            break
    return result


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument('tool')
    parse.add_argument('--only', default='')
    parse.add_argument('--all', action='store_true',
                       help='print each refused test too')
    args = parse.parse_args()
    count = collections.Counter()
    tests = list(node_tests())
    for kind in 'pytorch-converted', 'pytorch-operator', 'simple':
        tests += folder_tests(kind)
    with tempfile.TemporaryDirectory() as folder:
        for test in tests:
            kind, name, model, values, answers = test
            if args.only not in name or not values or \
                    not floats(values[:1]) or not floats(answers[:1]):
                continue
            result, why = try_test(args.tool, folder, test)
            image = values[0].ndim in (4, 5)
            count[kind, image, result] += 1
            if result == 'WRONG' or args.all:
                print('%-8s %-18s %-55s %s' % (result, kind, name, '' if
                      result == 'passed' else why), flush=True)
    print('%-18s %-12s %7s %7s %7s' % ('tests', 'axes', 'passed', 'refused',
                                       'WRONG'))
    for kind in sorted({k[0] for k in count}):
        for image in True, False:
            print('%-18s %-12s %7d %7d %7d' % (
                kind, '4 or 5' if image else 'others',
                *(count[kind, image, r] for r in
                  ('passed', 'refused', 'WRONG'))))


main()
