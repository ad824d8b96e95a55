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

/* Quantiles by nearest rank, so each is a measured time.  q1, q3: quartiles. */
struct ctt_spread {
    int    count;
    double mean, q1, median, q3, p90, p99, max;
};

/* Sorts the times.  Zeros if there are none. */
struct ctt_spread ctt_times_spread(struct ctt_times *t);

/* Number of measurements: at least `least`, then up to `most` or until
 * `seconds` have passed. */
struct ctt_pace { int least, most; double seconds; };

/* Returns 1 if another measurement is due after `done` of them since `start`
 * (ctt_seconds()). */
int ctt_pace_goes_on(const struct ctt_pace *p, int done, double start);

/* Memory of this process in MB of 2^20 bytes: resident now (the peak, if the
 * system does not report it), and the peak. */
double ctt_resident_mb(void);
double ctt_peak_mb(void);

/* ---- quantiles.c ---- */

/* Quantiles of any number of times in fixed memory: counts in logarithmic
 * buckets (DDSketch: Masson, Rim and Lee 2019).  Quantiles are at most 1% too
 * large, from a microsecond to a quarter of an hour; other times are clamped.
 * Zeros at first. */
enum { CTT_QUANTILES = 2100 };
struct ctt_quantiles {
    int64_t in[CTT_QUANTILES], count;
    double  max;
};

void   ctt_quantiles_add(struct ctt_quantiles *t, double ms);

/* Quantile by nearest rank; share in 0..1.  Returns 0 without times. */
double ctt_quantiles_at(const struct ctt_quantiles *t, double share);

/* ---- top.c ---- */

/* Writes the indices of the k largest of n numbers to order, largest first;
 * equal numbers by index; NaN last.  k <= n. */
void ctt_top(const float *x, int n, int *order, int k);

#endif
