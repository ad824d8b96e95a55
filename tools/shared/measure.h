/* SPDX-License-Identifier: Apache-2.0
 * measure.h: measured times, quantiles, ranks of numbers, memory of the
 * process. */
#ifndef CTT_TOOL_MEASURE_H
#define CTT_TOOL_MEASURE_H


#include <stdint.h>

/* ---- times.c ---- */

/* Measured times, or ratios of times; free ms with ctt_free(). */
struct ctt_times { double *ms; int count, room; };
int ctt_times_add(struct ctt_times *t, double ms);

/* Quantiles are by nearest rank: the q-quantile is the least of the times that
 * at least the share q of them does not exceed; so each is a time that was
 * measured.  q1 and q3 are the quartiles. */
struct ctt_spread {
    int    count;
    double mean, q1, median, q3, p90, p99, max;
};

/* Sorts the times.  All is 0 if there is none. */
struct ctt_spread ctt_times_spread(struct ctt_times *t);

/* How long to measure: `least` times, and then until `most`, or until `seconds`
 * have passed. */
struct ctt_pace { int least, most; double seconds; };

/* 1 if another one is due after `done` times since `start` (ctt_seconds()). */
int ctt_pace_goes_on(const struct ctt_pace *p, int done, double start);

/* Memory of this process in MB of 2^20 bytes: resident now (where the system
 * does not tell, the peak), and the peak. */
double ctt_resident_mb(void);
double ctt_peak_mb(void);

/* ---- quantiles.c ---- */

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

/* ---- top.c ---- */

/* Writes the indices of the k largest of n numbers to order, the largest first;
 * of equal ones the smaller index first; a NaN ranks last.  k <= n. */
void ctt_top(const float *x, int n, int *order, int k);

#endif
