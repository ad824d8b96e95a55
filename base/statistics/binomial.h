/* SPDX-License-Identifier: Apache-2.0
 * binomial.h: the lower tail of the binomial distribution, and how many clips
 * a test by it needs. */
#ifndef CTT_BINOMIAL_H
#define CTT_BINOMIAL_H

#include <stdint.h>

/* The probability of at most k successes in n trials (0 to 1e6 and more), each
 * a success with probability p, 0 < p < 1; 0 for k < 0.  Sums of terms, the
 * largest by lgamma(), the others by ratios: the relative error is below 1e-8
 * for n up to 1e6. */
double ctt_binomial_tail(int64_t k, int64_t n, double p);

/* least: the least n for which 0 successes reject p at level delta.  bound: the
 * least p that 0 successes of n >= 1 reject. */
int64_t ctt_binomial_least(double p, double delta);
double  ctt_binomial_bound(int64_t n, double delta);

#endif
