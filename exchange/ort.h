/* SPDX-License-Identifier: Apache-2.0
 * ort.h: ONNX Runtime where it is installed, to compare with.  Its library is
 * loaded when it is asked for, and never linked. */
#ifndef CTT_ORT_H
#define CTT_ORT_H

#include "base/ctt.h"

struct ctt_ort;

/* Loads the library (a path, or a name that the system's loader finds) and
 * opens the ONNX file at path, with optimisations off, so that each value is
 * that of its node.  outputs: names of values to compute, which need not be
 * outputs of the file.  CTT_EUNSUP: no such library, or it refuses the file. */
int  ctt_ort_open(const char *library, const char *path,
                  const char *const *outputs, int count, struct ctt_ort **out);
void ctt_ort_close(struct ctt_ort **o);

/* An input: its name, shape and numbers. */
struct ctt_ort_input { const char *name; int rank; const int64_t *dim;
                       const float *x; int64_t count; };

/* Computes the outputs: take(arg, i, x) gets the numbers of each, which stay
 * until it returns. */
int  ctt_ort_run(struct ctt_ort *o, const struct ctt_ort_input *in, int inputs,
                 int (*take)(void *arg, int i, const float *x), void *arg);

#endif
