/* SPDX-License-Identifier: Apache-2.0
 * search.c: the rounds of the search: the winner of a race is retrained whole,
 * judged, and the limits are corrected. */
#include "compress/search/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- acceptance ---- */

static const char *const shares[] = { "25%", "50%", "100%" };

enum { REASON = 128 };

/* The share of the clips of the search by which top-1 is below the budget;
 * below 0: above it. */
static double points_below(const struct ctt_budget *b, int k,
                           const struct ctt_paired *t)
{
    double n = t->clips > 0 ? (double)t->clips : 1;

    if (!isnan(b->loss[k]))
        return (double)(t->was - t->is) / n - b->loss[k];
    return isnan(b->floor[k]) ? -INFINITY : b->floor[k] - (double)t->is / n;
}

/* Sets *why unless top-1 is accepted.  Where costs are limited a mix is the one
 * that harms least within them, and a few clips more or less are chance, so the
 * clips of the search are tested too.  Where harm is driven to the limit they
 * are counted: a test would be driven to its own limit. */
static void judge_top1(const struct ctt_budget *b, int k,
                       const struct ctt_budget_row *row, char why[REASON])
{
    double own = ctt_budget_tail(b, k, &row->seen[0][k]);
    double p = ctt_budget_tail(b, k, &row->seen[1][k]);

    if (!ctt_budget_has_cost(b) && !ctt_budget_kept(b, k, &row->seen[0][k]))
        snprintf(why, REASON, "%.1f points too many are lost at %s of the "
                 "clips of the search",
                 100 * points_below(b, k, &row->seen[0][k]), shares[k]);
    else if (ctt_budget_has_cost(b) && own <= CTT_BUDGET_DOUBTED)
        snprintf(why, REASON, "too much is lost at %s of the clips of the "
                 "search, p = %.3f", shares[k], own);
    else if (p <= CTT_BUDGET_REFUTED)
        snprintf(why, REASON, "the other clips refute it at %s, p = %.3f",
                 shares[k], p);
}

/* why: the reason that a row is not accepted, or "".  Returns how far it is
 * from the limits: the worst of its costs, as a share, and of its top-1. */
static double judge_row(const struct ctt_budget_run *r,
                        const struct ctt_budget_row *row, char why[REASON])
{
    double far = 0;

    why[0] = '\0';
    for (int k = 0; k < CTT_ACCURACIES; k++) {
        far = fmax(far, points_below(&r->b, k, &row->seen[0][k]));
        if (!why[0])
            judge_top1(&r->b, k, row, why);
    }
    for (int k = 0; k < CTT_COSTS; k++) {
        double is = row->costs.cost[k], most = r->b.most[k];

        if (isinf(most))
            continue;
        far = fmax(far, is / most - 1);
        if (!why[0] && !(is <= most))
            snprintf(why, REASON, "%s is %.6g, above the limit of %g",
                     ctt_cost_words[k], is, most);
    }
    return far;
}

/* ---- the search ---- */

/* The round that is accepted, and the one that came nearest. */
struct found {
    struct ctt_budget_plan *plan;
    struct ctt_budget_row   row;
    int                     round;
};

struct rounds {
    struct ctt_aim_at a;
    double low, high;     /* of log harm: accepted and refused; NAN: none */
    struct found best;
    char  nearest[256];
    double exceeds;       /* how far it is from the limits */
    char *past[CTT_BUDGET_ROUNDS];    /* the mixes of earlier rounds */
};

/* The objective if only top-1 is limited: costs as --for says, each relative to
 * the original. */
static void aim_small(const struct ctt_budget_run *r, struct rounds *x)
{
    const double *given = r->given.cost;
    int timed = !isnan(given[CTT_COST_MS]);

    x->a.harm = 1e-6;
    if (r->o.aim != CTT_AIM_MS || !timed)
        x->a.price[CTT_COST_BYTES] = 1 / given[CTT_COST_BYTES];
    if (r->o.aim != CTT_AIM_BYTES && timed)
        x->a.price[CTT_COST_MS] = 1 / given[CTT_COST_MS];
    x->a.most_harm = 0.05;
}

static void set_aim(const struct ctt_budget_run *r, struct rounds *x)
{
    *x = (struct rounds){ .low = NAN, .high = NAN, .exceeds = INFINITY };
    x->a.most_harm = INFINITY;
    memcpy(x->a.most, r->b.most, sizeof(x->a.most));
    if (ctt_budget_has_cost(&r->b))
        x->a.harm = 1;
    else
        aim_small(r, x);
}

/* With limits of costs those that are exceeded are lowered. */
static void lower_limits(const struct ctt_budget_run *r,
                         const double cost[CTT_COSTS], struct rounds *x)
{
    for (int k = 0; k < CTT_COSTS; k++)
        if (cost[k] > r->b.most[k])
            x->a.most[k] *= 0.995 * r->b.most[k] / cost[k];
}

/* Without them the limit of harm is corrected, by its logarithm: by bisection
 * once it is known from both sides.  Returns whether another round can help. */
static int bisect_harm(double far, int accepted, struct rounds *x)
{
    double at = log(x->a.most_harm);

    *(accepted ? &x->low : &x->high) = at;
    if (!isnan(x->low) && !isnan(x->high))
        x->a.most_harm = exp((x->low + x->high) / 2);
    else
        x->a.most_harm *= accepted ? 4 : far > 0.05 ? 1.0 / 8 : 1.0 / 3;
    return isnan(x->low) || isnan(x->high) || x->high - x->low > 0.1;
}

static double size_of(const struct rounds *x, const struct ctt_budget_row *row)
{
    double sum = 0;

    for (int k = 0; k < CTT_COSTS; k++)
        if (x->a.price[k] > 0)
            sum += x->a.price[k] * row->costs.cost[k];
    return sum;
}

/* Of two that are accepted the smaller one stays. */
static void keep_smaller(struct rounds *x, struct ctt_budget_plan **p,
                         int round, const struct ctt_budget_row *row)
{
    if (x->best.plan && size_of(x, row) >= size_of(x, &x->best.row))
        return;
    ctt_budget_plan_free(&x->best.plan);
    x->best = (struct found){ *p, *row, round };
    *p = NULL;
}

static void keep_nearest(struct rounds *x, const struct ctt_budget_row *row,
                         double far, const char *why)
{
    char text[192];

    if (far >= x->exceeds)
        return;
    x->exceeds = far;
    snprintf(x->nearest, sizeof(x->nearest), "%s; %s",
             ctt_costs_print(row->costs.cost, text, sizeof(text)), why);
}

/* Retrains the mix of round n, and keeps it if it is accepted; *more: whether
 * another round can help. */
static int retrain_plan(struct ctt_budget_run *r, struct rounds *x, int n,
                        struct ctt_budget_plan **p, int *more)
{
    int limited = ctt_budget_has_cost(&r->b), rc;
    struct ctt_budget_row row;
    char why[REASON];
    double far;

    CTT_TRY(ctt_budget_whole(r, *p, n, &row));
    far = judge_row(r, &row, why);
    CTT_TRY(ctt_budget_tell_round(r, n, *p, &row, why));
    if (limited)
        lower_limits(r, row.costs.cost, x);
    *more = limited ? why[0] != '\0' : bisect_harm(far, !why[0], x);
    if (why[0])
        keep_nearest(x, &row, far, why);
    else
        keep_smaller(x, p, n, &row);
out:
    return rc;
}

/* A round; *more: whether another one can help.  Bisection of the harm may come
 * back to a mix but for the last one. */
static int run_round(struct ctt_budget_run *r, struct rounds *x, int n,
                     int *more)
{
    int limited = ctt_budget_has_cost(&r->b), rc;
    int past = limited || n == 1 ? n - 1 : 1;
    struct ctt_budget_plan *p = NULL;

    *more = 0;
    CTT_TRY(ctt_budget_race(r, &x->a, x->past + n - 1 - past, past, &p));
    if (!p)
        goto out;
    CTT_TRY((x->past[n - 1] = ctt_strdup(p->mix)) ? 0 : CTT_ENOMEM);
    CTT_TRY(limited && n == 1 && !p->meets ? ctt_budget_refuse(r, p) : 0);
    if (limited && !p->meets) {
        ctt_budget_say(r, "\nround %d: no other assignment is within the "
                       "limits", n);
        goto out;
    }
    CTT_TRY(ctt_budget_plan_try(r, p->a, 1, &p->tried));
    CTT_TRY(ctt_budget_tell_plan(r, p));
    if (!r->dry_run)
        CTT_TRY(retrain_plan(r, x, n, &p, more));
out:
    ctt_budget_plan_free(&p);
    return rc < 0 ? rc : 0;
}

static void drop_tries(const struct ctt_budget_run *r)
{
    char path[4200];

    for (int n = 1; n <= CTT_BUDGET_ROUNDS; n++)
        unlink(ctt_budget_try_name(r, n, path, sizeof(path)));
}

static int write_best(struct ctt_budget_run *r, struct rounds *x)
{
    struct ctt_model *m = NULL;
    int there, rc = 0;

    CTT_CHECK(x->best.plan, CTT_EUNSUP, "--budget: not met, and nothing is "
              "written: %s", x->nearest);
    CTT_TRY(there = ctt_budget_model(r, x->best.plan, x->best.round,
                                     &x->best.row, &m));
    if (!there)
        CTT_TRY(ctt_model_save(r->out, m));
    CTT_TRY(r->calls->prove(r->calls->arg, m, &x->best.row));
    ctt_budget_say(r, there ? "\n%s is there already: round %d"
                   : "\n%s written: round %d", r->out,
          x->best.round);
out:
    ctt_model_free(&m);
    return rc;
}

static int run_rounds(struct ctt_budget_run *r, struct rounds *x)
{
    int rc = 0, more = 1;

    for (int n = 1; n <= CTT_BUDGET_ROUNDS && more; n++)
        CTT_TRY(run_round(r, x, n, &more));
    if (r->dry_run)
        goto out;
    rc = write_best(r, x);
    if (rc >= 0 || rc == CTT_EUNSUP)
        drop_tries(r);
out:
    return rc;
}

int ctt_budget_search(struct ctt_budget_run *r)
{
    struct rounds x = { .low = NAN };
    int rc;

    CTT_TRY(ctt_budget_plan_given(r));
    CTT_TRY(ctt_budget_possible(r));
    CTT_TRY(ctt_budget_recovery(r));
    set_aim(r, &x);
    CTT_TRY(run_rounds(r, &x));
out:
    for (int i = 0; i < CTT_BUDGET_ROUNDS; i++)
        ctt_free(x.past[i]);
    ctt_budget_plan_free(&x.best.plan);
    return rc;
}
