/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_fit.c: a rising sequence for each weight and ladder, and how far
 * up a weight may go. */
#include "compress/search/sensitivity.h"

#include <math.h>
#include <stddef.h>

double ctt_change_mean(const struct ctt_change *c)
{
    double sum = 0;

    for (int k = 0; k < CTT_ACCURACIES; k++)
        sum += c->kl[k];
    return sum / CTT_ACCURACIES;
}

/* Points of one value in the fit: their sum and number. */
struct pool { double sum; int count; };

enum { STEPS = 16 };

/* Neighbours that fall are pooled until none does: "pool adjacent
 * violators". */
static void rise(struct ctt_sensitivity_point *const *p, int n)
{
    struct pool pool[STEPS];
    int pools = 0, i = 0;

    for (int k = 0; k < n; k++) {
        pool[pools++] = (struct pool){ p[k]->fit, 1 };
        while (pools > 1 && pool[pools - 2].sum * pool[pools - 1].count >
                            pool[pools - 1].sum * pool[pools - 2].count) {
            pool[pools - 2].sum += pool[pools - 1].sum;
            pool[pools - 2].count += pool[pools - 1].count;
            pools--;
        }
    }
    for (int k = 0; k < pools; k++)
        for (int j = 0; j < pool[k].count; j++)
            p[i++]->fit = pool[k].sum / pool[k].count;
}

/* The points of a weight on a ladder are neighbours; what was not measured is
 * left out. */
void ctt_sensitivity_rise(struct ctt_sensitivity *s)
{
    for (int i = 0; i < s->points;) {
        const struct ctt_ladder *l = s->point[i].ladder;
        struct ctt_sensitivity_point *p[STEPS];
        int n = 0;

        for (int k = 0; k < l->values; k++, i++)
            if (s->point[i].done && !s->point[i].why[0] && n < STEPS)
                p[n++] = &s->point[i];
        rise(p, n);
    }
}

void ctt_sensitivity_fit(struct ctt_sensitivity *s)
{
    for (int i = 0; i < s->points; i++)
        if (s->point[i].done && !s->point[i].why[0])
            s->point[i].fit = ctt_change_mean(&s->point[i].change);
    ctt_sensitivity_rise(s);
}

const struct ctt_sensitivity_point *
ctt_sensitivity_bears(const struct ctt_sensitivity *s, int weight,
                      const struct ctt_ladder *l, double kl)
{
    const struct ctt_sensitivity_point *best = NULL;

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight == weight && p->ladder == l && p->fit <= kl)
            best = p;
    }
    return best;
}

double ctt_sensitivity_fit_at(const struct ctt_sensitivity *s,
                              const struct ctt_sensitivity_point *of,
                              double kept)
{
    const struct ctt_sensitivity_point *low = NULL, *high = NULL;
    double t;

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight != of->weight || p->ladder != of->ladder || !p->done ||
            p->why[0])
            continue;
        if (1 - p->value >= kept && (!low || p->value > low->value))
            low = p;
        if (1 - p->value <= kept && (!high || p->value < high->value))
            high = p;
    }
    if (!low || !high || low == high)
        return low ? low->fit : high ? high->fit : of->fit;
    t = log((1 - low->value) / kept) /
        log((1 - low->value) / (1 - high->value));
    return low->fit + t * (high->fit - low->fit);
}

double ctt_sensitivity_left(const struct ctt_sensitivity *s,
                            const struct ctt_sensitivity_point *p)
{
    double all = 4.0 * (double)s->weight[p->weight].params;

    return fmin(1, fmax(0.001, 1 - (double)(s->bytes - p->bytes) / all));
}
