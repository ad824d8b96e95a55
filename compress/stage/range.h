/* SPDX-License-Identifier: Apache-2.0
 * range.h: the step and the zero byte with which values are rounded to bytes
 * (base/byte.h), chosen from many of them. */
#ifndef CTT_RANGE_H
#define CTT_RANGE_H

#include "base/ctt.h"

/* Clipping of values far from 0: none; a share of the values at each end; of
 * least information (Migacz, "8-bit inference with TensorRT", GTC 2017); or of
 * the least sum of all squared errors. */
enum ctt_range_method { CTT_RANGE_MINMAX, CTT_RANGE_PERCENTILE,
                        CTT_RANGE_ENTROPY, CTT_RANGE_MSE, CTT_RANGE_METHODS };

enum { CTT_RANGE_BINS = 2048 };

/* Histogram of the values so far.  Bin k of bins[0] counts the values from k to
 * below k + 1 times 2^width, that of bins[1] the negative ones by their
 * absolute value.  The width is the least that has a bin for every value, so
 * that it depends on the largest of them only: everything but the sum, which is
 * rounded, is the same in whatever order and parts the values are added. */
struct ctt_range {
    float   least, most;           /* of the values and 0 */
    int     width;                 /* of a bin: the exponent of 2 */
    int     broken;                /* a value was not finite */
    int64_t count, zeros;
    double  sum;
    int64_t bins[2][CTT_RANGE_BINS];
};

void ctt_range_begin(struct ctt_range *r);

/* Adds n values.  Allocates nothing. */
void ctt_range_add(struct ctt_range *r, const float *x, int64_t n);

/* Chooses the step and the zero byte.  A method chooses ends lo <= 0 <= hi
 * beyond which values are clipped; then
 *
 *     zero = rint(-255 lo / (hi - lo)), but 1..254 if lo < 0 < hi,
 *     scale = max(hi / (255 - zero), -lo / zero)
 *
 * so that the bytes 0 and 255 stand for both ends or for values just beyond.
 * lo = 0 gives zero 0 and hi = 0 zero 255, with scale the 255th part of the
 * other end; values that are never negative or never positive are always of
 * these kinds.  MSE tries steps and all zero bytes themselves.
 *
 * percentile, 50 to 100: with CTT_RANGE_PERCENTILE, at most 100 - percentile
 * percent of the values are clipped at each end; not read otherwise.  If all
 * values are 0: scale 1, zero 0.  The scale is never less than 2^-66, near the
 * least that the op quant takes.
 *
 * CTT_ENAN if a value was not finite, CTT_EINVAL if there was none or if the
 * scale would be more than 2^66. */
int ctt_range_choose(const struct ctt_range *r, enum ctt_range_method method,
                     double percentile, float *scale, int *zero);

#endif
