/* SPDX-License-Identifier: Apache-2.0
 * refuse.c: refuses limits that no assignment meets: by the strongest options
 * before anything is measured, and by plans before anything is trained. */
#include "compress/search/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Thinning changes several weights at a time, so that a model is thinned as a
 * whole; blocks and INT8 save time or memory. */
static void leave_out_points(struct ctt_budget_run *r)
{
    for (int i = 0; i < r->s->points; i++) {
        struct ctt_sensitivity_point *p = &r->s->point[i];
        int timed = p->ladder->kind == CTT_OPTION_INT8 ||
                    p->ladder->form == CTT_PRUNE_BLOCK;

        if (p->ladder->kind != CTT_OPTION_THIN && (!timed || r->timed))
            continue;
        p->done = 1;
        snprintf(p->why, CTT_REASON, "%s", timed
                 ? "saves time and memory alone" : "of all weights at once");
    }
}

/* ---- the strongest options ---- */

/* Options of all weights alike, each of the strongest value: factors or none
 * (NULL), single values pruned and shared or blocks and INT8, thinned by half
 * or not. */
struct strong { const struct ctt_ladder *form; int bytes, thin; };

/* Set k; 0: there are no more. */
enum { FORMS = 8 };
static int strong_at(const struct ctt_budget_run *r, int k, struct strong *x)
{
    const struct ctt_ladder *form[FORMS] = { NULL }, *l;
    int forms = 1, kinds = 1 + r->timed;

    for (int i = 0; (l = ctt_ladder(i)) && forms < FORMS; i++)
        if (l->kind == CTT_OPTION_FORM)
            form[forms++] = l;
    *x = (struct strong){ form[k % forms], k / forms % kinds,
                          k / forms / kinds };
    return x->thin < 2;
}

static void assign_option(const struct strong *x,
                          const struct ctt_sensitivity_point *p,
                          struct ctt_assignment *a)
{
    const struct ctt_ladder *l = p->ladder;
    struct ctt_assigned *w = &a->weight[p->weight];

    if (ctt_sensitivity_step(p) != l->values - 1 || p->why[0])
        return;
    if (l == x->form)
        w->form = p;
    else if (l->kind == CTT_OPTION_SHARE && !x->bytes)
        w->share = p;
    else if (l->kind == CTT_OPTION_INT8 && x->bytes)
        w->int8 = 1;
    else if (l->kind == CTT_OPTION_PRUNE &&
             x->bytes == (l->form == CTT_PRUNE_BLOCK)) {
        w->pruned = 1;
        a->pruning = l;
        a->prune = p->value;
    }
}

static int assign_strong(const struct ctt_budget_run *r, const struct strong *x,
                         struct ctt_assignment **out)
{
    int rc;

    CTT_TRY(ctt_assignment_new(r->s, out));
    (*out)->thin = x->thin ? 0.5 : 0;
    for (int i = 0; i < r->s->points; i++)
        assign_option(x, &r->s->point[i], *out);
    for (int i = 0; i < r->s->weights; i++)
        (*out)->weight[i].pruned &= ctt_assignment_prunes(r->s, i);
out:
    return rc;
}

int ctt_budget_strongest(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                         struct ctt_budget_plan **out)
{
    struct ctt_assignment *is = NULL;
    struct strong x;
    int rc = 0;

    for (int k = 0; strong_at(r, k, &x) && !*out; k++) {
        CTT_TRY(assign_strong(r, &x, &is));
        rc = ctt_budget_plan_of(r, a, &is, out);
        CTT_TRY(ctt_budget_thins_none(x.thin, rc) ? 0 : rc);
        if (*out && !(*out)->meets)
            ctt_budget_plan_free(out);
    }
    rc = 0;
out:
    ctt_free(is);
    return rc;
}

/* ---- messages ---- */

static int refuse_cost(const struct ctt_budget_run *r, enum ctt_cost cost,
                       double least)
{
    r->calls->refused(r->calls->arg);
    return ctt_error(CTT_EINVAL, "--budget: %s=%g cannot be met: the least "
                     "found is %.6g", ctt_cost_words[cost], r->b.most[cost],
                     least);
}

int ctt_budget_refuse(struct ctt_budget_run *r, const struct ctt_budget_plan *p)
{
    char costs[192];

    r->calls->refused(r->calls->arg);
    return ctt_error(CTT_EINVAL, "--budget: no assignment was found that is "
                     "within the limits: the nearest has %s",
                     ctt_costs_print(p->tried.cost, costs, sizeof(costs)));
}

/* ---- before anything is measured ---- */

/* The least costs of all that was tried, and an assignment that has for each
 * weight the factors, or none, with the fewest bytes. */
struct least {
    double cost[CTT_COSTS], *stored, *fewest;
    struct ctt_assignment *mixed;
};

/* Without the log, which is not open yet. */
static int try_strong(struct ctt_budget_run *r, const struct ctt_assignment *a,
                      struct least *l)
{
    struct ctt_costs is;
    int rc;

    CTT_TRY(r->calls->progress(r->calls->arg,
                               "measuring the strongest options"));
    rc = ctt_budget_plan_costs(r, a, ctt_budget_has_time(&r->b), &is,
                               l->stored);
    if (ctt_budget_thins_none(a->thin, rc))
        return 0;
    CTT_TRY(rc);
    for (int k = 0; k < CTT_COSTS; k++)
        l->cost[k] = fmin(l->cost[k], is.cost[k]);
out:
    return rc;
}

static void mix_fewest(const struct ctt_assignment *a, struct least *l)
{
    for (int i = 0; i < a->weights; i++)
        if (l->stored[i] < l->fewest[i]) {
            l->fewest[i] = l->stored[i];
            l->mixed->weight[i] = a->weight[i];
        }
    l->mixed->pruning = a->pruning;
    l->mixed->prune = a->prune;
}

static int find_least(struct ctt_budget_run *r, struct least *l)
{
    struct ctt_assignment *a = NULL;
    struct strong x;
    int rc = 0;

    for (int k = 0; strong_at(r, k, &x); k++) {
        CTT_TRY(assign_strong(r, &x, &a));
        CTT_TRY(try_strong(r, a, l));
        if (!x.bytes && !x.thin)
            mix_fewest(a, l);
        ctt_free(a);
        a = NULL;
    }
    for (int k = 0; k < 2; k++) {
        l->mixed->thin = 0.5 * k;
        CTT_TRY(try_strong(r, l->mixed, l));
    }
out:
    ctt_free(a);
    return rc;
}

/* The share of the least below which a limit is surely impossible: bytes of
 * other assignments are hardly fewer; times vary, and options of each weight
 * alone may save more of them and of multiplications. */
static const double sure[CTT_COSTS] = { 0.95, 0.7, 0.7, 0.7 };

int ctt_budget_begin(struct ctt_budget_run *r)
{
    struct least l = { .cost = { INFINITY, INFINITY, INFINITY, INFINITY } };
    size_t n = (size_t)r->s->weights;
    int rc = 0;

    r->given = (struct ctt_costs){ { NAN, NAN, NAN, NAN }, NAN };
    leave_out_points(r);
    if (!ctt_budget_has_cost(&r->b))
        goto out;
    l.stored = ctt_calloc(n, sizeof(*l.stored));
    l.fewest = ctt_calloc(n, sizeof(*l.fewest));
    CTT_TRY(l.stored && l.fewest ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < n; i++)
        l.fewest[i] = INFINITY;
    CTT_TRY(ctt_assignment_new(r->s, &l.mixed));
    CTT_TRY(find_least(r, &l));
    for (int k = 0; k < CTT_COSTS; k++)
        if (r->b.most[k] < sure[k] * l.cost[k])
            CTT_TRY(refuse_cost(r, (enum ctt_cost)k, l.cost[k]));
out:
    ctt_free(l.stored);
    ctt_free(l.fewest);
    ctt_free(l.mixed);
    return rc;
}

/* ---- before anything is trained ---- */

int ctt_budget_possible(struct ctt_budget_run *r)
{
    struct ctt_aim_at a = { .harm = 1, .most_harm = INFINITY };
    struct ctt_budget_plan *p = NULL, *strong = NULL;
    int rc = 0;

    memcpy(a.most, r->b.most, sizeof(a.most));
    if (!ctt_budget_has_cost(&r->b))
        goto out;
    CTT_TRY(ctt_budget_plan(r, &ctt_candidates[0], &a, &p));
    if (!p->meets)
        CTT_TRY(ctt_budget_strongest(r, &a, &strong));
    if (!p->meets && !strong)
        rc = ctt_budget_refuse(r, p);
out:
    ctt_budget_plan_free(&p);
    ctt_budget_plan_free(&strong);
    return rc;
}
