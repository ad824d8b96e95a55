/* SPDX-License-Identifier: Apache-2.0
 * mcnemar.c: a test of two models on the same clips. */
#include "base/statistics/mcnemar.h"

#include <math.h>

/* The tail is summed from its largest term, whose logarithm does not
 * underflow. */
double ctt_mcnemar(int64_t lost, int64_t won)
{
    double n = (double)lost + (double)won, term = 1, sum = 1;
    double k = (double)(lost < won ? lost : won);
    double top = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) -
                 n * log(2);

    for (double i = k; i > 0 && term > 1e-20; i--) {
        term *= i / (n - i + 1);
        sum += term;
    }
    return fmin(1, 2 * exp(top) * sum);
}

/* p is 2 / 2^6 then, and 2 / 2^5 is above 5%. */
enum { LEAST_LOST = 6 };

double ctt_mcnemar_least(int64_t clips)
{
    return clips > LEAST_LOST ? (double)LEAST_LOST / (double)clips : 1;
}
