/* SPDX-License-Identifier: Apache-2.0
 * recovery_shared.c: how much more shared values harm factors than whole
 * weights, by a few factors that were retrained and then shared. */
#include "compress/search/budget.h"
#include "compress/stage.h"

#include <math.h>
#include <string.h>

/* Nats: less can't be told from nothing on a few hundred clips; and the most
 * that factors are taken to bear worse. */
#define LEAST 5e-4
#define MOST  300

/* Bits above these harm too little to be told from chance. */
#define BITS 4

static const struct ctt_ladder *sharing(void)
{
    const struct ctt_ladder *l = ctt_ladders;

    while (l->stage != &ctt_stage_share)
        l++;
    return l;
}

int ctt_is_level_shared(const struct ctt_ladder *l, int value)
{
    const struct ctt_ladder *bits = sharing();

    return (l->stage == &ctt_stage_svd || l->stage == &ctt_stage_tt) &&
           value < bits->values && bits->value[value] <= BITS;
}

/* The point of a weight with that value of sharing; NULL: it can't have it. */
static const struct ctt_sensitivity_point *
share_of(const struct ctt_sensitivity *s, int weight, int value)
{
    const struct ctt_ladder *bits = sharing();

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight == weight && p->ladder == bits && p->done &&
            !p->why[0] && ctt_sensitivity_step(p) == value)
            return p;
    }
    return NULL;
}

int ctt_level_share(const struct ctt_sensitivity *s, const struct ctt_level *l,
                    int value, struct ctt_part *part)
{
    int some = 0;

    if (!ctt_is_level_shared(l->ladder, value))
        return 0;
    ctt_level_parts(s, l, part);
    for (int i = 0; i < s->weights; i++) {
        part[i].share = part[i].form ? share_of(s, i, value) : NULL;
        some |= part[i].share != NULL;
    }
    return some;
}

/* What sharing the weights of a level costs while they are whole: the sum of
 * their fits. */
static double whole(const struct ctt_sensitivity *s, const struct ctt_level *l,
                    int value)
{
    double sum = 0;

    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->ladder == l->ladder && ctt_sensitivity_step(p) == l->value &&
            p->done && !p->why[0] && ctt_is_large(s, p->weight)) {
            const struct ctt_sensitivity_point *q =
                share_of(s, p->weight, value);

            sum += q ? q->fit : 0;
        }
    }
    return sum;
}

/* The logarithm of how many times as much; NAN: not measured. */
static double times(const struct ctt_sensitivity *s, const struct ctt_level *l,
                    int value)
{
    double before, x;

    for (; value < CTT_LADDER_MOST && isnan(l->shared[value]); value++)
        ;
    if (value == CTT_LADDER_MOST)
        return NAN;
    before = whole(s, l, value);
    x = fmax(l->shared[value], LEAST) / fmax(before, LEAST);
    return log(fmin(MOST, fmax(1, x)));
}

/* The measured levels of a ladder at or below a value, and at or above it. */
static void neighbours(const struct ctt_level *level, int levels, int ladder,
                       int value, const struct ctt_level *at[2])
{
    at[0] = at[1] = NULL;
    for (int i = 0; i < levels; i++) {
        const struct ctt_level *x = &level[i];

        if (x->ladder != &ctt_ladders[ladder] || isnan(x->left))
            continue;
        if (x->value <= value && (!at[0] || x->value > at[0]->value))
            at[0] = x;
        if (x->value >= value && (!at[1] || x->value < at[1]->value))
            at[1] = x;
    }
}

/* Of any factors of a ladder: interpolated, or as those that are nearest. */
static double times_at(const struct ctt_sensitivity *s,
                       const struct ctt_level *level, int levels, int ladder,
                       int value, int bits)
{
    const struct ctt_level *at[2];
    double y[2], t;

    neighbours(level, levels, ladder, value, at);
    if (!at[0] && !at[1])
        return NAN;
    for (int k = 0; k < 2; k++)
        y[k] = times(s, at[k] ? at[k] : at[!k], bits);
    if (!at[0] || !at[1] || at[0] == at[1])
        return y[0];
    t = (double)(value - at[0]->value) / (at[1]->value - at[0]->value);
    return y[0] + (y[1] - y[0]) * t;
}

void ctt_recovery_shared(struct ctt_sensitivity *s,
                         const struct ctt_level *level, int levels)
{
    const struct ctt_ladder *bits = sharing();

    memset(s->on_factors, 0, sizeof(s->on_factors));
    for (int l = 0; ctt_ladders[l].name; l++)
        for (int k = 0; k < ctt_ladders[l].values; k++)
            for (int b = 0; b < bits->values; b++) {
                double y = times_at(s, level, levels, l, k, b);

                s->on_factors[l][k][b] = isnan(y) ? 0 : exp(y);
            }
}

double ctt_shared_left(const struct ctt_sensitivity *s,
                       const struct ctt_level *level, int levels)
{
    double before = 0, after = 0;

    for (int i = 0; i < levels; i++)
        if (level[i].ladder == sharing() && !isnan(level[i].left)) {
            before += ctt_level_harm(s, &level[i]);
            after += fmax(level[i].left, 0);
        }
    return before > LEAST ? fmin(1, fmax(0.1, after / before)) : 1;
}
