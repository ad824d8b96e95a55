/* SPDX-License-Identifier: Apache-2.0
 * accept.c: whether clips show that a compressed model is as right as a budget
 * says. */
#include "compress/search/budget.h"
#include "base/statistics/statistics.h"

#include <math.h>

double ctt_budget_tail(const struct ctt_budget *b, int share,
                       const struct ctt_paired *t)
{
    double least = 1;

    if (!isnan(b->loss[share])) {
        int64_t may = (int64_t)floor(b->loss[share] * (double)t->clips + 1e-9);
        int64_t lost = t->lost > may ? t->lost - may : 0;

        if (lost > t->won)
            least = ctt_binomial_tail(t->won, lost + t->won, 0.5);
    } else if (!isnan(b->floor[share]) && b->floor[share] < 1) {
        least = ctt_binomial_tail(t->is, t->clips, b->floor[share]);
    } else if (!isnan(b->floor[share])) {
        least = t->is < t->clips ? 0 : 1;
    }
    return least;
}

int ctt_budget_kept(const struct ctt_budget *b, int share,
                    const struct ctt_paired *t)
{
    double n = (double)t->clips;

    if (!isnan(b->loss[share]))
        return (double)(t->was - t->is) <= b->loss[share] * n + 1e-9;
    if (!isnan(b->floor[share]))
        return (double)t->is >= b->floor[share] * n - 1e-9;
    return 1;
}

void ctt_paired_interval(const struct ctt_paired *t, double *low, double *high)
{
    double won = (double)t->won + 0.5, lost = (double)t->lost + 0.5;
    double n = (double)t->clips + 2, d = (won - lost) / n;
    double half = CTT_WILSON_Z * sqrt((won + lost) / n - d * d) / sqrt(n);

    *low = fmax(-1, d - half);
    *high = fmin(1, d + half);
}
