/* SPDX-License-Identifier: Apache-2.0
 * divergence.c: how far two answers are apart. */
#include "compress/search/sensitivity.h"

#include <math.h>

/* The logarithms of the probabilities (softmax). */
static void log_softmax(int c, const float *x, double *to)
{
    double most = -INFINITY, sum = 0;

    for (int i = 0; i < c; i++)
        most = fmax(most, (double)x[i]);
    for (int i = 0; i < c; i++)
        sum += exp((double)x[i] - most);
    for (int i = 0; i < c; i++)
        to[i] = (double)x[i] - most - log(sum);
}

double ctt_divergence(int c, const float *was, const float *now, double *p,
                      double *q)
{
    double sum = 0;

    log_softmax(c, was, p);
    log_softmax(c, now, q);
    for (int i = 0; i < c; i++)
        sum += exp(p[i]) * (p[i] - q[i]);
    return sum;
}
