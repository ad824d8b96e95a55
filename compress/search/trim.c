/* SPDX-License-Identifier: Apache-2.0
 * trim.c: takes a little off what a mix costs, by single changes that harm
 * least for what they save. */
#include "compress/search/budget.h"

#include <math.h>

/* The way of a weight that has these points; -1: there is none. */
static int way_of(const struct ctt_offer *f, int weight,
                  const struct ctt_part *p)
{
    for (int i = f->menu.first[weight]; i < f->menu.first[weight + 1]; i++) {
        const struct ctt_part *q = &f->part[i];

        if (q->form == p->form && q->prune == p->prune &&
            q->share == p->share && q->int8 == p->int8)
            return i - f->menu.first[weight];
    }
    return -1;
}

/* Whether only the rank of the same factors and the shared values differ: what
 * is pruned is of all weights together, and what reads bytes is for time. */
static int is_near(const struct ctt_part *p, const struct ctt_part *q)
{
    const struct ctt_ladder *of = p->form ? p->form->ladder : NULL;
    const struct ctt_ladder *to = q->form ? q->form->ladder : NULL;

    return of == to && p->prune == q->prune && p->int8 == q->int8;
}

/* Makes the best change, of what saves no more than `over` counted; 0: there
 * is none that saves anything. */
static int change_one(const struct ctt_offer *f, enum ctt_cost cost,
                      double over, int *pick)
{
    const struct ctt_savings *m = &f->menu;
    double least = INFINITY;
    int at = -1, to = 0;

    for (int i = 0; i < m->weights; i++) {
        int is = m->first[i] + pick[i];

        for (int k = m->first[i]; k < m->first[i + 1]; k++) {
            double saves = m->way[is].cost[cost] - m->way[k].cost[cost];
            double harms = m->way[k].harm - m->way[is].harm;

            if (!(saves > 0) || !is_near(&f->part[is], &f->part[k]) ||
                !(harms / fmin(saves, over) < least))
                continue;
            least = harms / fmin(saves, over);
            at = i;
            to = k - m->first[i];
        }
    }
    if (at >= 0)
        pick[at] = to;
    return at >= 0;
}

int ctt_offer_trim(const struct ctt_offer *f, enum ctt_cost cost, double most,
                   struct ctt_part *part, struct ctt_way *sum)
{
    int *pick = ctt_calloc((size_t)f->menu.weights + 1, sizeof(*pick));
    int rc = pick ? 0 : CTT_ENOMEM, some = 1;

    CTT_TRY(rc);
    for (int i = 0; i < f->menu.weights; i++) {
        pick[i] = way_of(f, i, &part[i]);
        CTT_CHECK(pick[i] >= 0, CTT_EINVAL, "the menu does not have the mix");
    }
    *sum = ctt_savings_sum(&f->menu, pick);
    while (sum->cost[cost] > most && some) {
        some = change_one(f, cost, sum->cost[cost] - most, pick);
        *sum = ctt_savings_sum(&f->menu, pick);
    }
    ctt_offer_take(f, pick, part);
    rc = sum->cost[cost] > most;
out:
    ctt_free(pick);
    return rc;
}
