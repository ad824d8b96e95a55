/* SPDX-License-Identifier: Apache-2.0
 * gpu.h: the parts of bench_gpu: texts of models, the rate of a GPU. */
#ifndef CTT_BENCH_GPU_H
#define CTT_BENCH_GPU_H

#include "device/memory.h"

/* The model of DIR/NAME.net for frames of size x size x channels (0: as it
 * is).  apart: each gate, product and sum of an lstm is a node of its own. */
int bench_graph(const char *dir, const char *name, int size, int channels,
                int apart, struct ctt_graph **out);

/* GFLOP/s of a product of two n x n matrices of that type by the device's own
 * kernels (as a conv of 1x1), the best of some. */
int bench_rate(struct ctt_dev *d, enum ctt_dtype type, int n, double *out);

#endif
