/* SPDX-License-Identifier: Apache-2.0
 * binomial.c: the lower tail of the binomial distribution. */
#include "base/statistics/binomial.h"

#include <math.h>

/* Terms that are this much smaller than the sum do not matter. */
static const double tiny = 1e-18;

static double term(int64_t k, int64_t n, double p)
{
    double a = (double)k, b = (double)(n - k);

    return exp(lgamma(a + b + 1) - lgamma(a + 1) - lgamma(b + 1) +
               a * log(p) + b * log1p(-p));
}

/* Terms only fall away from the largest one, or from k if that is below it. */
double ctt_binomial_tail(int64_t k, int64_t n, double p)
{
    double odds = p / (1 - p), sum, t;
    int64_t top = (int64_t)((double)(n + 1) * p);
    double first;

    if (k < 0)
        return 0;
    if (k >= n)
        return 1;
    top = top < k ? top : k;
    first = sum = term(top, n, p);
    t = first;
    for (int64_t i = top; i > 0 && t > tiny * sum; i--) {
        t *= (double)i / ((double)(n - i + 1) * odds);
        sum += t;
    }
    t = first;
    for (int64_t i = top + 1; i <= k && t > tiny * sum; i++) {
        t *= (double)(n - i + 1) * odds / (double)i;
        sum += t;
    }
    return sum < 1 ? sum : 1;
}

int64_t ctt_binomial_least(double p, double delta)
{
    int64_t n = (int64_t)floor(log(delta) / log1p(-p));

    n = n > 1 ? n - 1 : 1;
    while (ctt_binomial_tail(0, n, p) > delta)
        n++;
    return n;
}

double ctt_binomial_bound(int64_t n, double delta)
{
    return -expm1(log(delta) / (double)n);
}
