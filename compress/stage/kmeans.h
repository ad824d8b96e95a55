/* SPDX-License-Identifier: Apache-2.0
 * kmeans.h: few values for many numbers. */
#ifndef CTT_KMEANS_H
#define CTT_KMEANS_H

#include "net/constraint.h"

/* Initial values: in equal steps between the smallest and the largest number,
 * at equal counts of numbers, or numbers drawn far from those drawn before
 * (Arthur and Vassilvitskii 2007).  Han and others (2016) found the first best:
 * large weights are few and matter most. */
enum ctt_kmeans_init { CTT_INIT_LINEAR, CTT_INIT_DENSITY, CTT_INIT_PLUSPLUS };

struct ctt_kmeans {
    int   codes;      /* values at most, 1 to CTT_MOST_CODES */
    int   init;       /* enum ctt_kmeans_init */
    float lambda;     /* price of a bit; 0: the nearest value is taken */
};

struct ctt_clusters {
    int     count;                       /* values that are used */
    float   value[CTT_MOST_CODES];       /* ascending, none of them 0 */
    int64_t members[CTT_MOST_CODES];
    double  from[CTT_MOST_CODES];        /* value k is of numbers from here on;
                                            from[0] is minus infinity */
    double  error;                       /* relative, root mean square */
    double  entropy;                     /* bits per number */
};

/* Finds values for n > 0 finite numbers: k-means in one dimension (Lloyd 1982),
 * in which number x takes the value c of least (x - c)^2 / variance + lambda
 * bits, where a value's bits are minus the logarithm of its share of the
 * numbers (entropy-constrained quantisation: Chou, Lookabaugh and Gray 1989;
 * of weights: Choi and others 2017).  Values that no number takes are dropped.
 * CTT_EINVAL for a count of codes out of range. */
int ctt_kmeans(const float *x, int64_t n, const struct ctt_kmeans *o,
               struct ctt_clusters *out);

/* The value, 0 to count - 1, that number x takes. */
int ctt_kmeans_find(const struct ctt_clusters *c, float x);

#endif
