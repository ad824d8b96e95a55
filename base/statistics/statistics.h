/* SPDX-License-Identifier: Apache-2.0
 * statistics.h: tests, intervals and scores of answers. */
#ifndef CTT_STATISTICS_H
#define CTT_STATISTICS_H

#include <stdint.h>
#include <stddef.h>

/* The probability of at most k successes in n trials (0 to 1e6 and more), each
 * a success with probability p, 0 < p < 1; 0 for k < 0.  Sums of terms, the
 * largest by lgamma(), the others by ratios: the relative error is below 1e-8
 * for n up to 1e6. */
double ctt_binomial_tail(int64_t k, int64_t n, double p);

/* least: the least n for which 0 successes reject p at level delta.  bound: the
 * least p that 0 successes of n >= 1 reject. */
int64_t ctt_binomial_least(double p, double delta);
double  ctt_binomial_bound(int64_t n, double delta);

/* The exact test of McNemar (1947) of two models on the same clips: how
 * probable it is, if both err equally often, that at least as large a part of
 * the clips on which they differ is lost, or won.  Both sides; 1 if they do not
 * differ. */
double ctt_mcnemar(int64_t lost, int64_t won);

/* The least share of `clips` clips, 0..1, whose loss is not taken for chance:
 * with none won so many must be lost for a p below 5%. */
double ctt_mcnemar_least(int64_t clips);

/* ---- how far a measured accuracy can be from that on all clips ---- */

/* The 97.5% quantile of the normal distribution. */
#define CTT_WILSON_Z 1.959963984540054

/* The 95% confidence interval of an accuracy 0..1 measured on `of` clips
 * (Wilson 1927). */
void ctt_wilson(double share, int64_t of, double interval[2]);

/* The same in per cent as text: "71.2-83.0". */
const char *ctt_wilson_text(double share, int64_t of, char *text, size_t size);

/* ---- how well scores tell clips of a class from others ---- */

/* The score of a clip, and 1 if it is of the class. */
struct ctt_scored { float score; int there; };

/* The average precision of n scores: the area under the curve of precision
 * against recall, without interpolation, where a step is a distinct score, so
 * equal scores count together.  NaN is the lowest score.  Sorts s by falling
 * score.  NAN if no clip is of the class. */
double ctt_average_precision(struct ctt_scored *s, int n);

/* The threshold at which the harmonic mean of precision and recall of scores in
 * 0..1 is greatest, which becomes *f1 (van Rijsbergen 1979): the middle between
 * two scores, the highest of equally good ones.  Sorts s.  NAN if no clip is of
 * the class. */
float ctt_best_threshold(struct ctt_scored *s, int n, double *f1);

#endif
