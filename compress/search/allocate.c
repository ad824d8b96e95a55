/* SPDX-License-Identifier: Apache-2.0
 * allocate.c: picks a way for each weight under limits, by the changes that
 * cost least for what they save. */
#include "compress/search/ways.h"

#include <math.h>

/* Limits: of harm first, then of the costs. */
enum { LIMITS = 1 + CTT_COSTS };

static double part_of(const struct ctt_way *w, int k)
{
    return k == 0 ? w->harm : w->cost[k - 1];
}

static double most_of(const struct ctt_aim_at *a, int k)
{
    return k == 0 ? a->most_harm : a->most[k - 1];
}

static double value_of(const struct ctt_aim_at *a, const struct ctt_way *w)
{
    double sum = a->harm * w->harm;

    for (int k = 0; k < CTT_COSTS; k++)
        sum += a->price[k] > 0 ? a->price[k] * w->cost[k] : 0;
    return sum;
}

/* Adds `sign` times w. */
static void add_costs(struct ctt_way *sum, const struct ctt_way *w, double sign)
{
    sum->harm += sign * w->harm;
    for (int k = 0; k < CTT_COSTS; k++)
        sum->cost[k] += sign * w->cost[k];
}

struct ctt_way ctt_ways_sum(const struct ctt_ways *m, const int *pick)
{
    struct ctt_way sum = { .harm = 0 };

    for (int k = 0; k < CTT_COSTS; k++)
        sum.cost[k] = m->rest[k];
    for (int i = 0; i < m->weights; i++)
        add_costs(&sum, &m->way[m->first[i] + pick[i]], 1);
    return sum;
}

double ctt_aim_excess(const struct ctt_aim_at *a, const struct ctt_way *sum)
{
    double most = 1;

    for (int k = 0; k < LIMITS; k++) {
        double x = part_of(sum, k), limit = most_of(a, k);

        if (x > limit) {
            double ratio = limit > 0 ? x / limit : INFINITY;

            most = ratio > most ? ratio : most;
        }
    }
    return most;
}

/* A sum that others are compared with: its excess and its value. */
struct rival {
    double excess, value;
};

static struct rival rival_of(const struct ctt_aim_at *a,
                             const struct ctt_way *sum)
{
    return (struct rival){ ctt_aim_excess(a, sum), value_of(a, sum) };
}

/* The value first: most sums fail by it, and it takes no division. */
static int beats(const struct ctt_aim_at *a, const struct ctt_way *x,
                 const struct rival *y)
{
    int less = value_of(a, x) < y->value;
    double p;

    if (!less && y->excess <= 1)
        return 0;
    p = ctt_aim_excess(a, x);
    return p < y->excess || (p <= y->excess && p <= 1 && less);
}

int ctt_aim_better(const struct ctt_aim_at *a, const struct ctt_way *x,
                   const struct ctt_way *y)
{
    struct rival other = rival_of(a, y);

    return beats(a, x, &other);
}

/* By how much the sum exceeds the limits, as the sum of ratios. */
static double over(const struct ctt_aim_at *a, const struct ctt_way *sum)
{
    double all = 0;

    for (int k = 0; k < LIMITS; k++)
        if (!isinf(most_of(a, k)))
            all += fmax(0, part_of(sum, k) / fmax(most_of(a, k), 1e-12) - 1);
    return all;
}

/* The rank of a change from `was` to `now`, less is better: the rise of the
 * objective for what it takes off the excess; INFINITY: it takes off
 * nothing. */
static double rank_of(const struct ctt_aim_at *a, const struct ctt_way *was,
                      const struct ctt_way *now)
{
    double off = over(a, was) - over(a, now);

    return off > 1e-12 ? (value_of(a, now) - value_of(a, was)) / off
                       : INFINITY;
}

/* Makes the best change of one weight: by rank while limits are exceeded, else
 * what gains most.  0: there is none. */
static int change_one(const struct ctt_ways *m, const struct ctt_aim_at *a,
                      int by_rank, int *pick, struct ctt_way *sum)
{
    struct rival best = rival_of(a, sum);
    double least = INFINITY;
    int at = -1, to = 0;

    for (int i = 0; i < m->weights; i++) {
        struct ctt_way without = *sum;

        add_costs(&without, &m->way[m->first[i] + pick[i]], -1);
        for (int k = m->first[i]; k < m->first[i + 1]; k++) {
            struct ctt_way now = without;
            double rank = 0;

            add_costs(&now, &m->way[k], 1);
            if (by_rank)
                rank = rank_of(a, sum, &now);
            if (by_rank ? rank >= least : !beats(a, &now, &best))
                continue;
            least = rank;
            best = rival_of(a, &now);
            at = i;
            to = k - m->first[i];
        }
    }
    if (at < 0)
        return 0;
    pick[at] = to;
    *sum = ctt_ways_sum(m, pick);
    return 1;
}

static void pick_best(const struct ctt_ways *m, const struct ctt_aim_at *a,
                      int *pick)
{
    for (int i = 0; i < m->weights; i++) {
        double least = INFINITY;

        pick[i] = 0;
        for (int k = m->first[i]; k < m->first[i + 1]; k++)
            if (value_of(a, &m->way[k]) < least) {
                least = value_of(a, &m->way[k]);
                pick[i] = k - m->first[i];
            }
    }
}

/* Changes that gain are few; rounding may let them go round. */
enum { MOST = 1000 };

int ctt_allocate(const struct ctt_ways *m, const struct ctt_aim_at *a,
                 int *pick)
{
    struct ctt_way sum;
    int n = 0;

    pick_best(m, a, pick);
    sum = ctt_ways_sum(m, pick);
    while (over(a, &sum) > 0 && n++ < MOST && change_one(m, a, 1, pick, &sum))
        ;
    while (n++ < 2 * MOST && change_one(m, a, 0, pick, &sum))
        ;
    return ctt_aim_excess(a, &sum) > 1;
}
