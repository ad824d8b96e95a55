/* SPDX-License-Identifier: Apache-2.0
 * quantiles.c: quantiles of any number of times in fixed memory. */
#include "tools/shared/measure.h"

#include <math.h>

/* Class i holds times above LEAST * RATIO^(i-1) up to LEAST * RATIO^i. */
#define LEAST 1e-3    /* ms */
#define RATIO 1.01

void ctt_quantiles_add(struct ctt_quantiles *t, double ms)
{
    double i = ms > LEAST ? ceil(log(ms / LEAST) / log(RATIO)) : 0;

    t->in[i < CTT_QUANTILES ? (int)i : CTT_QUANTILES - 1]++;
    t->count++;
    t->max = fmax(t->max, ms);
}

double ctt_quantiles_at(const struct ctt_quantiles *t, double share)
{
    int64_t rank = (int64_t)ceil(share * (double)t->count), seen = 0;

    if (!t->count)
        return 0;
    for (int i = 0; i < CTT_QUANTILES; i++) {
        seen += t->in[i];
        if (seen > 0 && seen >= rank)
            return fmin(t->max, LEAST * pow(RATIO, i));
    }
    return t->max;
}
