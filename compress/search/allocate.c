/* SPDX-License-Identifier: Apache-2.0
 * allocate.c: picks a way for each weight under limits, by prices that are
 * bisected. */
#include "compress/search/budget.h"

#include <math.h>
#include <string.h>

/* What can have a limit: harm first, then the costs. */
enum { LIMITS = 1 + CTT_COSTS, BISECT = 60, ROUNDS = 24 };

struct search {
    const struct ctt_savings   *m;
    const struct ctt_aim_at *a;
    double scale[LIMITS];     /* of each over all ways: prices are of it */
    double price[LIMITS];
    int   *pick, *best;
};

static double part_of(const struct ctt_way *w, int k)
{
    return k == 0 ? w->harm : w->cost[k - 1];
}

static int ways(const struct ctt_savings *m, int weight)
{
    return m->first[weight + 1] - m->first[weight];
}

static const struct ctt_way *way_at(const struct ctt_savings *m, int weight,
                                    int k)
{
    return &m->way[m->first[weight] + k];
}

struct ctt_way ctt_savings_sum(const struct ctt_savings *m, const int *pick)
{
    struct ctt_way sum = { .harm = 0 };

    for (int k = 0; k < CTT_COSTS; k++)
        sum.cost[k] = m->rest[k];
    for (int i = 0; i < m->weights; i++) {
        const struct ctt_way *w = way_at(m, i, pick[i]);

        sum.harm += w->harm;
        for (int k = 0; k < CTT_COSTS; k++)
            sum.cost[k] += w->cost[k];
    }
    return sum;
}

static double value_of(const struct ctt_aim_at *a, const struct ctt_way *w)
{
    double sum = a->harm * w->harm;

    for (int k = 0; k < CTT_COSTS; k++)
        sum += a->price[k] * w->cost[k];
    return sum;
}

static double most_of(const struct ctt_aim_at *a, int k)
{
    return k == 0 ? a->most_harm : a->most[k - 1];
}

static double priced(const struct search *s, const struct ctt_way *w)
{
    double sum = value_of(s->a, w);

    for (int k = 0; k < LIMITS; k++)
        sum += s->price[k] * part_of(w, k) / s->scale[k];
    return sum;
}

/* Each weight by itself; of ways that are equal, the first. */
static struct ctt_way pick_each(struct search *s)
{
    for (int i = 0; i < s->m->weights; i++) {
        double least = INFINITY;

        for (int k = 0; k < ways(s->m, i); k++) {
            double x = priced(s, way_at(s->m, i, k));

            if (x < least) {
                least = x;
                s->pick[i] = k;
            }
        }
    }
    return ctt_savings_sum(s->m, s->pick);
}

double ctt_aim_excess(const struct ctt_aim_at *a, const struct ctt_way *sum)
{
    double most = 0;

    for (int k = 0; k < LIMITS; k++) {
        double x = part_of(sum, k), limit = most_of(a, k);

        if (!isinf(limit) && x > limit)
            most = fmax(most, limit > 0 ? x / limit : INFINITY);
    }
    return most > 0 ? most : 1;
}

int ctt_aim_better(const struct ctt_aim_at *a, const struct ctt_way *x,
                   const struct ctt_way *y)
{
    double p = ctt_aim_excess(a, x), q = ctt_aim_excess(a, y);

    return p < q || (p <= q && p <= 1 && value_of(a, x) < value_of(a, y));
}

static void keep_best(struct search *s, const struct ctt_way *sum)
{
    struct ctt_way best = ctt_savings_sum(s->m, s->best);

    if (ctt_aim_better(s->a, sum, &best))
        memcpy(s->best, s->pick, (size_t)s->m->weights * sizeof(*s->pick));
}

/* What limit k is of at a price. */
static double at_price(struct search *s, int k, double price)
{
    struct ctt_way sum;

    s->price[k] = price;
    sum = pick_each(s);
    keep_best(s, &sum);
    return part_of(&sum, k);
}

/* The price at which limit k just holds, the others unchanged; whether that
 * changed it. */
static int set_price(struct search *s, int k)
{
    double was = s->price[k], low = -40, high = 40;

    if (at_price(s, k, 0) <= most_of(s->a, k))
        return was > 0;
    for (int i = 0; i < BISECT; i++) {
        double mid = (low + high) / 2;

        if (at_price(s, k, exp(mid)) > most_of(s->a, k))
            low = mid;
        else
            high = mid;
    }
    at_price(s, k, exp(high));
    return fabs(s->price[k] - was) > 1e-6 * was;
}

/* The single change that helps most; 0: none does. */
static int improve(struct search *s)
{
    struct ctt_way now = ctt_savings_sum(s->m, s->best), best = now;
    int at = -1, to = 0;

    for (int i = 0; i < s->m->weights; i++) {
        int was = s->best[i];

        for (int k = 0; k < ways(s->m, i); k++) {
            struct ctt_way sum;

            s->best[i] = k;
            sum = ctt_savings_sum(s->m, s->best);
            if (ctt_aim_better(s->a, &sum, &best)) {
                best = sum;
                at = i;
                to = k;
            }
        }
        s->best[i] = was;
    }
    if (at >= 0)
        s->best[at] = to;
    return at >= 0;
}

static void start(struct search *s)
{
    const struct ctt_savings *m = s->m;

    for (int k = 0; k < LIMITS; k++) {
        s->price[k] = 0;
        for (int i = 0; i < m->first[m->weights]; i++)
            s->scale[k] = fmax(s->scale[k], fabs(part_of(&m->way[i], k)));
        if (!(s->scale[k] > 0))
            s->scale[k] = 1;
    }
}

int ctt_allocate(const struct ctt_savings *m, const struct ctt_aim_at *a,
                 int *pick)
{
    struct search s = { .m = m, .a = a, .best = pick };
    struct ctt_way sum;
    int more = 1, rc = 0;

    s.pick = ctt_calloc((size_t)m->weights + 1, sizeof(*s.pick));
    CTT_TRY(s.pick ? 0 : CTT_ENOMEM);
    start(&s);
    memset(pick, 0, (size_t)m->weights * sizeof(*pick));
    sum = pick_each(&s);
    keep_best(&s, &sum);
    for (int i = 0; i < ROUNDS && more; i++) {
        more = 0;
        for (int k = 0; k < LIMITS; k++)
            if (!isinf(most_of(a, k)))
                more |= set_price(&s, k);
    }
    while (improve(&s))
        ;
    sum = ctt_savings_sum(m, pick);
    rc = ctt_aim_excess(a, &sum) > 1;
out:
    ctt_free(s.pick);
    return rc;
}
