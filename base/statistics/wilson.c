/* SPDX-License-Identifier: Apache-2.0
 * wilson.c: the confidence interval of an accuracy. */
#include "base/statistics/wilson.h"

#include <math.h>
#include <stdio.h>

static const double z = CTT_WILSON_Z;

void ctt_wilson(double share, int64_t of, double interval[2])
{
    double n = (double)of, d = 1 + z * z / n;
    double middle = (share + z * z / (2 * n)) / d;
    double half = z / d * sqrt(share * (1 - share) / n + z * z / (4 * n * n));

    interval[0] = of > 0 ? fmax(0, middle - half) : 0;
    interval[1] = of > 0 ? fmin(1, middle + half) : 1;
}

const char *ctt_wilson_text(double share, int64_t of, char *text, size_t size)
{
    double x[2];

    ctt_wilson(share, of, x);
    snprintf(text, size, "%.1f-%.1f", 100 * x[0], 100 * x[1]);
    return text;
}
