/* SPDX-License-Identifier: Apache-2.0
 * onednn_cut.h: how a convolution is cut into shares, each of which oneDNN
 * computes with one thread. */
#ifndef CTT_ONEDNN_CUT_H
#define CTT_ONEDNN_CUT_H

#include "device/fold.h"

/* units: samples or, of a convolution of one pixel, pixels (line = 1), which
 * follow each other in the large and in the small tensor.  Each share has
 * `each` of them, the last one what is left. */
struct ctt_cut { int64_t units, each, shares; int line; };

/* All in one share. */
struct ctt_cut ctt_cut_none(const struct ctt_fold *f);

/* Shares that follow from the shape alone.  Why: the order in which oneDNN adds
 * depends on the number of threads (sgemm cuts the sum, a gradient of weights
 * the samples, and the sizes of blocks are chosen by it), for some of its codes
 * and versions.  With one thread it cannot, and who computes a share changes no
 * bit. */
struct ctt_cut ctt_cut_exact(const struct ctt_fold *f);

/* The folded shape of a share of `units` units. */
struct ctt_fold ctt_cut_fold(const struct ctt_cut *cut,
                             const struct ctt_fold *f, int64_t units);

/* Share i has this many units. */
static inline int64_t ctt_cut_units(const struct ctt_cut *cut, int64_t i)
{
    return i + 1 < cut->shares ? cut->each
                               : cut->units - cut->each * (cut->shares - 1);
}

#endif
