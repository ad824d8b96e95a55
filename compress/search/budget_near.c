/* SPDX-License-Identifier: Apache-2.0
 * budget_near.c: a mix that is changed a little, to come near the limits or
 * below them. */
#include "compress/search/budget_run.h"

#include <math.h>
#include <string.h>

/* ---- the share that is pruned ---- */

/* All weights that are pruned have the same share, which may lie between the
 * values that were measured: bytes then reach a limit that those values leave
 * far below.  kept: the share of values that is not pruned. */

/* How many times as many values are kept at most, or as few: further away there
 * is another value. */
#define FURTHEST 2.5
#define STEP 1e-5    /* of what is kept */

static const struct ctt_sensitivity_point *
pruned(const struct ctt_budget_run *r, const struct ctt_budget_plan *p)
{
    const struct ctt_sensitivity_point *most = NULL;

    for (int i = 0; i < r->s->weights; i++)
        if (p->part[i].prune &&
            (!most || p->part[i].prune->value > most->value))
            most = p->part[i].prune;
    return most;
}

static double kept_by(const struct ctt_budget_run *r,
                      const struct ctt_budget_plan *p)
{
    const struct ctt_sensitivity_point *most = pruned(r, p);

    return most ? 1 - most->value : 1;
}

static int own_points(const struct ctt_budget_run *r,
                      struct ctt_budget_plan *q)
{
    if (!q->fine)
        q->fine = ctt_calloc((size_t)r->s->weights, sizeof(*q->fine));
    return q->fine ? 0 : CTT_ENOMEM;
}

/* A plan of the same parts, with points of its own where p has such. */
static int copy(const struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                struct ctt_budget_plan **out)
{
    size_t n = (size_t)r->s->weights;
    struct ctt_budget_plan *q = NULL;
    int rc;

    CTT_TRY(ctt_budget_plan_new(r, &q));
    memcpy(q->part, p->part, n * sizeof(*p->part));
    memcpy(q->left, p->left, sizeof(p->left));
    memcpy(q->expected, p->expected, sizeof(p->expected));
    q->thin = p->thin;
    q->harm = p->harm;
    if (p->fine)
        CTT_TRY(own_points(r, q));
    for (size_t i = 0; p->fine && i < n; i++)
        if (q->part[i].prune) {
            q->fine[i] = *q->part[i].prune;
            q->part[i].prune = &q->fine[i];
        }
    *out = q;
    q = NULL;
out:
    ctt_budget_plan_free(&q);
    return rc;
}

static const struct ctt_offer *offer_of(const struct ctt_budget_run *r,
                                        const struct ctt_budget_plan *p)
{
    int first = ctt_budget_has_form(r, 0) ? 0 : 1;
    const struct ctt_sensitivity_point *most = pruned(r, p);

    for (int f = 0; most && f < CTT_BUDGET_FORMS; f++)
        if (strcmp(most->ladder->name, ctt_budget_forms[f]) == 0)
            return r->offer[f];
    return r->offer[first];
}

/* p with another share of pruning, tried.  What the table says is of another
 * share. */
static int with_kept(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                     const struct ctt_budget_plan *p, double kept,
                     struct ctt_budget_plan **out)
{
    struct ctt_budget_plan *q = NULL;
    int rc;

    CTT_TRY(copy(r, p, &q));
    CTT_TRY(own_points(r, q));
    q->harm = 0;
    for (int i = 0; i < r->s->weights; i++) {
        struct ctt_part *part = &q->part[i];

        if (part->prune) {
            q->fine[i] = *part->prune;
            q->fine[i].fit = ctt_sensitivity_fit_at(r->s, part->prune, kept);
            q->fine[i].value = 1 - kept;
            part->prune = &q->fine[i];
        }
        q->harm += ctt_offer_harm(offer_of(r, q), r->s, part);
    }
    for (int k = 0; k < CTT_COSTS; k++)
        q->expected[k] = NAN;
    CTT_TRY(ctt_budget_plan_try(r, a, q));
    *out = q;
    q = NULL;
out:
    ctt_budget_plan_free(&q);
    return rc;
}

/* Whether less pruning costs more of it: of time and memory in blocks only. */
static int is_moved(const struct ctt_budget_run *r,
                    const struct ctt_budget_plan *p, int cost)
{
    const struct ctt_sensitivity_point *most = pruned(r, p);

    if (cost == CTT_COST_MS || cost == CTT_COST_RAM)
        return most && strcmp(most->ladder->name, "prune block") == 0;
    return 1;
}

/* The largest share of a limit that such costs have; 0: none is limited. */
static double used(const struct ctt_budget_run *r, const struct ctt_aim_at *a,
                   const struct ctt_budget_plan *p)
{
    double most = 0;

    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(a->most[k]) && is_moved(r, p, k))
            most = fmax(most, p->tried.cost[k] / a->most[k]);
    return most;
}

static int exceeds_others(const struct ctt_budget_run *r,
                          const struct ctt_aim_at *a,
                          const struct ctt_budget_plan *p)
{
    int some = 0;

    for (int k = 0; k < CTT_COSTS; k++)
        some |= !isinf(a->most[k]) && !is_moved(r, p, k) &&
                !(p->tried.cost[k] <= a->most[k]);
    return some;
}

/* Not beyond the values that were measured. */
static double bounded(const struct ctt_ladder *l, double kept, double first)
{
    kept = fmin(fmax(kept, first / FURTHEST), first * FURTHEST);
    kept = fmin(fmax(kept, 1 - l->value[l->values - 1]), 1 - l->value[0]);
    return round(kept / STEP) * STEP;
}

/* What is kept next: through the last two points, or in proportion. */
static double next_kept(const double x[2], const double y[2], int points,
                        double aim)
{
    double slope = 1;

    if (points > 1 && fabs(x[0] - x[1]) > 1e-6)
        slope = (y[0] - y[1]) / (x[0] - x[1]);
    slope = fmin(1, fmax(0.1, slope));
    return exp(x[0] + (log(aim) - y[0]) / slope);
}

/* Whether q, of the same mix, is nearer to the limits from below. */
static int is_nearer(const struct ctt_budget_run *r,
                     const struct ctt_aim_at *a,
                     const struct ctt_budget_plan *q,
                     const struct ctt_budget_plan *best)
{
    if (q->meets != best->meets)
        return q->meets;
    return q->meets == (used(r, a, q) > used(r, a, best));
}

/* Replaces *p by the nearest of its mix, until that uses `enough` of a
 * limit. */
static int prune_to(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    double aim, double enough, struct ctt_budget_plan **p)
{
    const struct ctt_ladder *l = pruned(r, *p)->ladder;
    double first = kept_by(r, *p), kept = first, x[2] = { 0 }, y[2] = { 0 };
    struct ctt_budget_plan *q = NULL;
    int rc = 0;

    x[0] = log(kept);
    y[0] = log(used(r, a, *p));
    for (int i = 1; i < CTT_BUDGET_ROUNDS; i++) {
        double was = kept;

        kept = bounded(l, next_kept(x, y, i, aim), first);
        if (((*p)->meets && used(r, a, *p) > enough) || fabs(kept - was) < STEP)
            break;
        CTT_TRY(with_kept(r, a, *p, kept, &q));
        x[1] = x[0];
        y[1] = y[0];
        x[0] = log(kept);
        y[0] = log(used(r, a, q));
        if (is_nearer(r, a, q, *p)) {
            ctt_budget_plan_free(p);
            *p = q;
            q = NULL;
        }
        ctt_budget_plan_free(&q);
    }
out:
    ctt_budget_plan_free(&q);
    return rc;
}

static int can_near(const struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    const struct ctt_budget_plan *p)
{
    double is = used(r, a, p);

    return pruned(r, p) && is > 1 / FURTHEST && is < FURTHEST &&
           !exceeds_others(r, a, p);
}

int ctt_budget_near(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    double aim, double enough, struct ctt_budget_plan **p)
{
    return can_near(r, a, *p) ? prune_to(r, a, aim, enough, p) : 0;
}

/* The same but for the share that is pruned, which is about as large: within so
 * much of what is kept. */
#define ALIKE 0.03
int ctt_budget_uniform(const struct ctt_budget_run *r,
                       const struct ctt_budget_plan *p,
                       const struct ctt_budget_plan *q)
{
    int same = fabs(p->thin - q->thin) < 1e-9 &&
               fabs(log(kept_by(r, p) / kept_by(r, q))) < ALIKE;

    for (int i = 0; i < r->s->weights; i++) {
        const struct ctt_part *x = &p->part[i], *y = &q->part[i];

        same &= x->form == y->form && x->share == y->share &&
                x->int8 == y->int8 && !x->prune == !y->prune &&
                (!x->prune || x->prune->ladder == y->prune->ladder);
    }
    return same;
}

/* ---- less of the same ---- */

/* p changed until the table says so many bytes, and tried. */
static int lessen_once(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                       const struct ctt_budget_plan *p, double bytes,
                       struct ctt_budget_plan *q)
{
    struct ctt_way sum;
    int rc;

    CTT_TRY(
        ctt_offer_trim(offer_of(r, p), CTT_COST_BYTES, bytes, q->part, &sum));
    q->harm = sum.harm;
    memcpy(q->expected, sum.cost, sizeof(sum.cost));
    CTT_TRY(ctt_budget_plan_try(r, a, q));
out:
    return rc;
}

/* What is aimed at, and what is enough, of the limit of a mix that was within
 * it. */
#define LESSEN_AIM 0.997
#define LESSEN_ENOUGH 0.99

static int lessen_pruned(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                         const struct ctt_budget_plan *p,
                         struct ctt_budget_plan **out)
{
    int rc;

    CTT_TRY(with_kept(r, a, p, kept_by(r, p), out));
    CTT_TRY(ctt_budget_near(r, a, LESSEN_AIM, LESSEN_ENOUGH, out));
out:
    return rc;
}

static int lessen_other(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                        const struct ctt_budget_plan *p,
                        struct ctt_budget_plan **out)
{
    double most = a->most[CTT_COST_BYTES], is = p->tried.cost[CTT_COST_BYTES];
    double bytes = p->expected[CTT_COST_BYTES] * most / is;
    struct ctt_budget_plan *q = NULL;
    int rc = 0;

    for (int i = 0; i < CTT_BUDGET_ROUNDS && !(q && q->meets); i++) {
        ctt_budget_plan_free(&q);
        CTT_TRY(copy(r, p, &q));
        CTT_TRY(lessen_once(r, a, p, bytes, q));
        bytes *= fmin(0.998, most / q->tried.cost[CTT_COST_BYTES]);
    }
    *out = q;
    q = NULL;
out:
    ctt_budget_plan_free(&q);
    return rc < 0 ? rc : 0;
}

int ctt_budget_trim(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    const struct ctt_budget_plan *p,
                    struct ctt_budget_plan **out)
{
    int rc = 0;

    if (pruned(r, p))
        CTT_TRY(lessen_pruned(r, a, p, out));
    if (!p->fine && !(*out && (*out)->meets)) {
        ctt_budget_plan_free(out);
        CTT_TRY(lessen_other(r, a, p, out));
    }
    if (!(*out)->meets)
        ctt_budget_plan_free(out);
out:
    return rc;
}
