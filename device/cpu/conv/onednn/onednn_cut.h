/* SPDX-License-Identifier: Apache-2.0
 * onednn_cut.h: division of a convolution into shares, each computed by oneDNN
 * on one thread. */
#ifndef CTT_ONEDNN_CUT_H
#define CTT_ONEDNN_CUT_H

#include "device/fold.h"

/* units: samples or, with a 1x1 kernel, pixels (line = 1), contiguous in the
 * large and in the small tensor.  A share has `each` units, the last one the
 * remainder. */
struct ctt_cut { int64_t units, each, shares; int line; };

/* A single share. */
struct ctt_cut ctt_cut_none(const struct ctt_fold *f);

/* Shares that follow from the shape alone, because oneDNN's order of additions
 * depends on the number of threads in some codes and versions (sgemm divides
 * the sum, a gradient of weights the samples, and block sizes vary).  A share
 * has one thread, and no bit depends on which one. */
struct ctt_cut ctt_cut_exact(const struct ctt_fold *f);

/* Folded shape of a share of `units` units. */
struct ctt_fold ctt_cut_fold(const struct ctt_cut *cut,
                             const struct ctt_fold *f, int64_t units);

/* Units of share i. */
static inline int64_t ctt_cut_units(const struct ctt_cut *cut, int64_t i)
{
    return i + 1 < cut->shares ? cut->each
                               : cut->units - cut->each * (cut->shares - 1);
}

#endif
