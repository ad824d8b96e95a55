/* SPDX-License-Identifier: Apache-2.0
 * quantiles.h: quantiles of any number of times in fixed memory. */
#ifndef CTT_QUANTILES_H
#define CTT_QUANTILES_H

#include <stdint.h>

/* Counts by logarithmic classes, as DDSketch (Masson, Rim and Lee 2019): a
 * quantile is at most 1% too large, from a microsecond to a quarter of an
 * hour; shorter times count as one, longer ones as the longest.  Starts as
 * zeros. */
enum { CTT_QUANTILES = 2100 };
struct ctt_quantiles {
    int64_t in[CTT_QUANTILES], count;
    double  max;
};

void   ctt_quantiles_add(struct ctt_quantiles *t, double ms);

/* By nearest rank; share in 0..1.  0 if nothing was counted. */
double ctt_quantiles_at(const struct ctt_quantiles *t, double share);

#endif
