/* SPDX-License-Identifier: Apache-2.0
 * stats.c: what a test on so many clips says of accuracy. */
#include "compress/report.h"

#include <math.h>

/* The 97.5% quantile of the normal distribution. */
static const double z = 1.959963984540054;

void ctt_wilson(double share, int64_t of, double interval[2])
{
    double n = (double)of, d = 1 + z * z / n;
    double middle = (share + z * z / (2 * n)) / d;
    double half = z / d * sqrt(share * (1 - share) / n + z * z / (4 * n * n));

    interval[0] = of > 0 ? fmax(0, middle - half) : 0;
    interval[1] = of > 0 ? fmin(1, middle + half) : 1;
}

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
