/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_ladder.c: the options that sensitivity is measured of: those of
 * all stages. */
#include "compress/search/sensitivity.h"
#include "compress/stage.h"

#include <math.h>

const struct ctt_ladder *ctt_ladder(int i)
{
    for (int k = 0; ctt_stages[k]; k++)
        for (const struct ctt_ladder *l = ctt_stages[k]->ladders;
             l && l->name; l++)
            if (i-- == 0)
                return l;
    return NULL;
}

int ctt_sensitivity_step(const struct ctt_sensitivity_point *p)
{
    const struct ctt_ladder *l = p->ladder;
    int k = 0;

    while (k + 1 < l->values && fabs(l->value[k] - p->value) > 1e-9)
        k++;
    return k;
}

int ctt_sensitivity_usable(const struct ctt_sensitivity_point *p)
{
    return p->done && !p->why[0];
}

double ctt_sensitivity_number(const struct ctt_sensitivity_point *p,
                              const struct ctt_sensitivity_weight *w)
{
    return p->ladder->of_rank ? fmax(1, round(p->value * w->rank)) : p->value;
}
