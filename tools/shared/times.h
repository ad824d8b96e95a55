/* SPDX-License-Identifier: Apache-2.0
 * times.h: measured times, how they spread, and the memory of this process. */
#ifndef CTT_TIMES_H
#define CTT_TIMES_H

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

#endif
