/* SPDX-License-Identifier: Apache-2.0
 * precision.h: how well scores tell clips of a class from others. */
#ifndef CTT_PRECISION_H
#define CTT_PRECISION_H

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
