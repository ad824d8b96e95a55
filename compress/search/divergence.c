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

/* log(1 + exp(x)) without overflow. */
static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

double ctt_divergences(int c, const float *was, const float *now)
{
    double sum = 0;

    for (int i = 0; i < c; i++) {
        double x = (double)was[i], y = (double)now[i], p = 1 / (1 + exp(-x));

        sum += p * (softplus(-y) - softplus(-x)) +
               (1 - p) * (softplus(y) - softplus(x));
    }
    return sum;
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
