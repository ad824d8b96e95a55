/* SPDX-License-Identifier: Apache-2.0
 * refuse.c: refuses limits that no assignment meets: by the strongest options
 * before anything is measured, and by plans before anything is trained. */
#include "compress/search/search.h"
#include "compress/trial.h"
#include "base/newfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Thinning changes several weights at a time, so that a model is thinned as a
 * whole; blocks and INT8 save time or memory. */
static void leave_out(struct ctt_budget_run *r)
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

/* Options of all weights alike, each the strongest value: by number, factors of
 * ladder `form` (below 0: none), single values pruned and shared or blocks and
 * INT8, thinned by half or not. */
struct strong { int form, bytes, thin; };

static int count_forms(void)
{
    int n = 0;

    for (int i = 0; ctt_ladder(i); i++)
        n += ctt_ladder(i)->kind == CTT_OPTION_FORM;
    return n;
}

/* Set k; 0: there are no more. */
static int strong_at(const struct ctt_budget_run *r, int k, struct strong *x)
{
    int forms = 1 + count_forms(), kinds = 1 + r->timed;

    *x = (struct strong){ k % forms, k / forms % kinds, k / forms / kinds };
    return x->thin < 2;
}

static void give(const struct strong *x, const struct ctt_sensitivity_point *p,
                 int form, struct ctt_assignment *a)
{
    const struct ctt_ladder *l = p->ladder;
    struct ctt_assigned *w = &a->weight[p->weight];

    if (ctt_sensitivity_step(p) != l->values - 1 || (p->done && p->why[0]))
        return;
    if (l->kind == CTT_OPTION_FORM && form == x->form)
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

/* Forms are numbered from 1. */
static int form_of(const struct ctt_ladder *l)
{
    int n = 0;

    for (int i = 0; ctt_ladder(i); i++) {
        n += ctt_ladder(i)->kind == CTT_OPTION_FORM;
        if (ctt_ladder(i) == l)
            break;
    }
    return n;
}

static int assign_strong(const struct ctt_budget_run *r, const struct strong *x,
                         struct ctt_assignment **out)
{
    int rc;

    CTT_TRY(ctt_assignment_new(r->s, out));
    (*out)->thin = x->thin ? 0.5 : 0;
    for (int i = 0; i < r->s->points; i++)
        give(x, &r->s->point[i], form_of(r->s->point[i].ladder), *out);
    for (int i = 0; i < r->s->weights; i++)
        (*out)->weight[i].pruned &= ctt_assignment_prunes(r->s, i);
out:
    return rc;
}

/* ---- reasons ---- */

/* The weight with the largest part of a cost of the model as given, which
 * options reduce about alike; memory may be that of values and states. */
static const char *largest(const struct ctt_sensitivity *s, enum ctt_cost cost,
                           double least)
{
    int by_macs = cost == CTT_COST_MS || cost == CTT_COST_MACS, at = 0;
    double all = 0;

    for (int i = 0; i < s->weights; i++) {
        const struct ctt_sensitivity_weight *w = &s->weight[i];
        const struct ctt_sensitivity_weight *most = &s->weight[at];

        all += (double)w->params;
        if (by_macs ? w->macs > most->macs : w->params > most->params)
            at = i;
    }
    return cost == CTT_COST_RAM && least > 2 * all
        ? "values and states, not weights" : s->weight[at].name;
}

static int cannot(const struct ctt_budget_run *r, enum ctt_cost cost,
                  double least)
{
    r->calls->refused(r->calls->arg);
    return ctt_error(CTT_EINVAL, "--budget: %s=%g cannot be met: the least "
                     "found is %.6g, most of it of %s", ctt_cost_words[cost],
                     r->b.most[cost], least, largest(r->s, cost, least));
}

int ctt_budget_refuse(struct ctt_budget_run *r, const struct ctt_budget_plan *p)
{
    char costs[192], over[64] = "";
    size_t n = 0;

    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(r->b.most[k]) && !(p->tried.cost[k] <= r->b.most[k]) &&
            n < sizeof(over))
            n += (size_t)snprintf(over + n, sizeof(over) - n, "%s%s",
                                  n ? " and " : "", ctt_cost_words[k]);
    r->calls->refused(r->calls->arg);
    return ctt_error(CTT_EINVAL, "--budget: no assignment was found that is "
                     "within the limits: the nearest has %s, and exceeds %s",
                     ctt_costs_print(p->tried.cost, costs, sizeof(costs)),
                     over);
}

/* ---- before anything is measured ---- */

/* Weights by themselves may come to less than all alike, and times vary: limits
 * above this share are left to plans. */
#define FAR 0.7

/* A thinned model may be impossible. */
static int is_impossible(const struct ctt_assignment *a, int rc)
{
    return a->thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL);
}

/* Without the log, which is not open yet. */
static int try_strong(struct ctt_budget_run *r, const struct strong *x,
                      double least[CTT_COSTS])
{
    const struct ctt_recipe_calls *calls = r->calls->recipe;
    int timed = calls->compare && ctt_budget_has_time(&r->b), rc;
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_trial t = { .file = NULL };
    struct ctt_assignment *a = NULL;
    struct ctt_speed speed;
    struct ctt_costs is;

    CTT_TRY(assign_strong(r, x, &a));
    CTT_TRY(ctt_budget_plan_recipe(r, a, &o));
    rc = ctt_trial_recipe(r->m, ctt_stages, NULL, ctt_assignment_settings(o),
                          r->out, &t);
    if (is_impossible(a, rc)) {
        rc = 0;
        goto out;
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_trial_costs(&t, &is));
    if (timed) {
        CTT_TRY(calls->compare(calls->arg, r->path, ctt_newfile_temp(t.file),
                               &speed));
        is.cost[CTT_COST_MS] = speed.ms;
        is.cost[CTT_COST_RAM] = (double)speed.ram;
    }
    for (int k = 0; k < CTT_COSTS; k++)
        least[k] = fmin(least[k], is.cost[k]);
out:
    ctt_trial_drop(&t);
    ctt_assignment_recipe_free(&o);
    ctt_free(a);
    return rc;
}

int ctt_budget_begin(struct ctt_budget_run *r)
{
    double least[CTT_COSTS] = { INFINITY, INFINITY, INFINITY, INFINITY };
    struct strong x;
    int rc = 0;

    leave_out(r);
    if (!ctt_budget_has_cost(&r->b))
        goto out;
    for (int k = 0; strong_at(r, k, &x); k++) {
        CTT_TRY(r->calls->progress(r->calls->arg,
                                   "measuring the strongest options"));
        CTT_TRY(try_strong(r, &x, least));
    }
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(r->b.most[k]) && r->b.most[k] < FAR * least[k])
            CTT_TRY(cannot(r, (enum ctt_cost)k, least[k]));
out:
    return rc;
}

/* ---- before anything is trained ---- */

int ctt_budget_strongest(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                         struct ctt_budget_plan **out)
{
    struct ctt_assignment *is = NULL;
    struct ctt_budget_plan *p = NULL;
    struct strong x;
    int rc = 0;

    for (int k = 0; strong_at(r, k, &x) && !*out; k++) {
        CTT_TRY(assign_strong(r, &x, &is));
        rc = ctt_budget_plan_of(r, a, &is, &p);
        CTT_TRY(x.thin && (rc == CTT_EUNSUP || rc == CTT_EINVAL) ? 0 : rc);
        rc = 0;
        if (p && p->meets) {
            *out = p;
            p = NULL;
        }
        ctt_budget_plan_free(&p);
    }
out:
    ctt_free(is);
    ctt_budget_plan_free(&p);
    return rc;
}

/* The least of a cost that anything tried has. */
static double least_tried(const struct ctt_budget_run *r, enum ctt_cost cost)
{
    double least = INFINITY;

    for (int i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].how == r->how &&
            r->rows.row[i].kind == CTT_BUDGET_TRIED)
            least = fmin(least, r->rows.row[i].costs.cost[cost]);
    return least;
}

/* Tries the assignment that is expected to have the least of a cost. */
static int check_least(struct ctt_budget_run *r, enum ctt_cost cost)
{
    struct ctt_aim_at a = { .harm = 1e-12, .most_harm = INFINITY,
        .most = { INFINITY, INFINITY, INFINITY, INFINITY } };
    struct ctt_budget_plan *p = NULL;
    double least;
    int rc;

    a.price[cost] = 1;
    CTT_TRY(ctt_budget_plan(r, &ctt_candidates[0], &a, &p));
    least = least_tried(r, cost);
    if (!(least <= r->b.most[cost]))
        rc = cannot(r, cost, least);
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* A plan that meets the limits; *out NULL: none was found, and *near is the
 * nearest. */
static int find(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                struct ctt_budget_plan **out, struct ctt_budget_plan **near)
{
    struct ctt_budget_plan *p = NULL;
    int rc = 0;

    for (int i = 0; i < CTT_CANDIDATES && !*out; i++) {
        CTT_TRY(ctt_budget_plan(r, &ctt_candidates[i], a, &p));
        if (p && p->meets) {
            *out = p;
            p = NULL;
        } else if (p && (!*near || ctt_budget_plan_excess(a, p) <
                                   ctt_budget_plan_excess(a, *near))) {
            ctt_budget_plan_free(near);
            *near = p;
            p = NULL;
        }
        ctt_budget_plan_free(&p);
    }
    if (!*out)
        CTT_TRY(ctt_budget_strongest(r, a, out));
out:
    return rc;
}

int ctt_budget_possible(struct ctt_budget_run *r)
{
    struct ctt_aim_at a = { .harm = 1, .most_harm = INFINITY };
    struct ctt_budget_plan *p = NULL, *near = NULL;
    int rc = 0;

    memcpy(a.most, r->b.most, sizeof(a.most));
    if (!ctt_budget_has_cost(&r->b))
        goto out;
    r->rough = 1;
    CTT_TRY(find(r, &a, &p, &near));
    for (int k = 0; k < CTT_COSTS && !p; k++)
        if (!isinf(r->b.most[k]))
            CTT_TRY(check_least(r, (enum ctt_cost)k));
    if (!p)
        rc = ctt_budget_refuse(r, near);
out:
    r->rough = 0;
    ctt_budget_plan_free(&p);
    ctt_budget_plan_free(&near);
    return rc;
}
