/* SPDX-License-Identifier: Apache-2.0
 * plan.c: the assignment of least harm within limits, tried before it is
 * retrained. */
#include "compress/search/search.h"
#include "compress/trial.h"
#include "base/newfile.h"

#include <math.h>
#include <string.h>

/* The share of a limit that is aimed at, as the next measurement moves bytes
 * and time a little; and that is near enough. */
#define AIM 0.99
#define NEAR 0.98
enum { TRIES = 8 };

void ctt_budget_plan_free(struct ctt_budget_plan **p)
{
    if (!*p)
        return;
    ctt_free((*p)->a);
    ctt_free((*p)->mix);
    ctt_free(*p);
    *p = NULL;
}

/* ---- trying ---- */

/* Bytes that the file stores for each weight and its factors. */
static void count_stored(const struct ctt_budget_run *r,
                         const struct ctt_trial *t, double *stored)
{
    for (int i = 0; i < r->s->weights; i++)
        stored[i] = (double)ctt_trial_named(t, r->s->weight[i].name);
}

int ctt_budget_plan_costs(struct ctt_budget_run *r,
                          const struct ctt_assignment *a, int timed,
                          struct ctt_costs *out, double *stored)
{
    const struct ctt_recipe_calls *calls = r->calls->recipe;
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_trial t = { .file = NULL };
    struct ctt_speed speed;
    int rc;

    CTT_TRY(ctt_assignment_recipe(r->s, a, &r->o, &o));
    CTT_TRY(ctt_trial_recipe(r->m, ctt_stages, NULL,
                             ctt_assignment_settings(o), r->out, &t));
    CTT_TRY(ctt_trial_costs(&t, out));
    if (stored)
        count_stored(r, &t, stored);
    if (!timed || !calls->compare)
        goto out;
    CTT_TRY(calls->compare(calls->arg, r->path, ctt_newfile_temp(t.file),
                           &speed));
    out->faster = 1 / speed.slower;
    out->cost[CTT_COST_MS] = isnan(r->given.cost[CTT_COST_MS])
        ? speed.ms : r->given.cost[CTT_COST_MS] * speed.slower;
    out->cost[CTT_COST_RAM] = (double)speed.ram;
out:
    ctt_trial_drop(&t);
    ctt_assignment_recipe_free(&o);
    return rc;
}

int ctt_budget_plan_try(struct ctt_budget_run *r,
                        const struct ctt_assignment *a, int timed,
                        struct ctt_costs *out)
{
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_TRIED,
                                  .loss = NAN };
    const struct ctt_budget_row *known;
    char text[CTT_ASSIGNMENT_TEXT];
    int rc = 0;

    ctt_assignment_print(r->s, a, text, sizeof(text));
    row.mix = text;
    known = ctt_budget_rows_find(&r->rows, &row);
    if (known && (!timed || !r->calls->recipe->compare ||
                  !isnan(known->costs.faster))) {
        *out = known->costs;
        goto out;
    }
    CTT_TRY(r->calls->progress(r->calls->arg, "measuring an assignment"));
    CTT_TRY(ctt_budget_plan_costs(r, a, timed, &row.costs, NULL));
    CTT_TRY(ctt_budget_rows_add(&r->rows, &row));
    CTT_TRY(r->calls->log(r->calls->arg, &row));
    *out = row.costs;
out:
    return rc;
}

int ctt_budget_plan_given(struct ctt_budget_run *r)
{
    struct ctt_assignment *a = NULL;
    int rc;

    CTT_TRY(ctt_assignment_new(r->s, &a));
    CTT_TRY(ctt_budget_plan_try(r, a, 1, &r->given));
out:
    ctt_free(a);
    return rc;
}

static double plan_harm(const struct ctt_budget_run *r,
                        const struct ctt_assignment *a)
{
    double sum = 0;

    for (int i = 0; i < a->weights; i++)
        sum += ctt_assigned_harm(r->s, i, &a->weight[i], a->pruning, a->prune);
    return sum;
}

double ctt_budget_plan_excess(const struct ctt_aim_at *a,
                              const struct ctt_budget_plan *p)
{
    struct ctt_way is = { .harm = 0 };

    memcpy(is.cost, p->tried.cost, sizeof(is.cost));
    return ctt_aim_excess(a, &is);
}

int ctt_budget_plan_of(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                struct ctt_assignment **is, struct ctt_budget_plan **out)
{
    struct ctt_budget_plan *p = ctt_calloc(1, sizeof(*p));
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->bytes = NAN;
    p->a = *is;
    *is = NULL;
    for (int k = 0; k < CTT_COSTS; k++)
        p->expected[k] = NAN;
    p->mix = ctt_calloc(CTT_ASSIGNMENT_TEXT, 1);
    CTT_TRY(p->mix ? 0 : CTT_ENOMEM);
    ctt_assignment_print(r->s, p->a, p->mix, CTT_ASSIGNMENT_TEXT);
    CTT_TRY(ctt_budget_plan_try(r, p->a, r->timed, &p->tried));
    CTT_CHECK(!(p->a->thin > 0) || p->tried.cost[CTT_COST_MACS] <
              r->given.cost[CTT_COST_MACS], CTT_EUNSUP,
              "--thin removes no channel");
    p->meets = ctt_costs_meet(a->most, p->tried.cost);
    p->harm = plan_harm(r, p->a);
    *out = p;
    p = NULL;
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* ---- choosing ---- */

/* The best choice so far over all shares of pruning and uniform factors. */
struct choice {
    struct ctt_budget_run   *r;
    const struct ctt_style  *style;
    const struct ctt_aim_at *a;
    struct ctt_common        all;
    double                   step;    /* of its share of pruning */
    struct ctt_way           sum;
    struct ctt_assignment   *is;
    int                     *pick, some;
};

static void take_choice(struct choice *c, const struct ctt_ways *w)
{
    int pruned = 0;

    for (int i = 0; i < w->weights; i++) {
        c->is->weight[i] = w->way[w->first[i] + c->pick[i]].is;
        pruned |= c->is->weight[i].pruned;
    }
    c->is->thin = c->style->thin;
    c->is->pruning = pruned ? c->all.pruning : NULL;
    c->is->prune = pruned ? c->all.prune : 0;
}

static int consider_common(struct choice *c, const struct ctt_common *all,
                           double step)
{
    struct ctt_ways *w = NULL;
    struct ctt_way sum;
    int rc;

    CTT_TRY(ctt_ways_new(c->r->s, &c->r->given, c->style, all, &w));
    ctt_allocate(w, c->a, c->pick);
    sum = ctt_ways_sum(w, c->pick);
    if (!c->some || ctt_aim_better(c->a, &sum, &c->sum)) {
        c->all = *all;
        c->step = step;
        c->sum = sum;
        take_choice(c, w);
    }
    c->some = 1;
out:
    ctt_ways_free(&w);
    return rc;
}

/* Shares of pruning: STEPS equal ratios of the values that are kept, from the
 * least to the most of a ladder, then quarters of one around the best. */
enum { STEPS = 20 };
#define ROUND 1e-4

static int consider_shares(struct choice *c, struct ctt_common all, double from,
                           double to, double by)
{
    const struct ctt_ladder *l = all.pruning;
    double most = 1 - l->value[0], least = 1 - l->value[l->values - 1];
    int rc = 0;

    for (double step = from; step <= to; step += by) {
        double kept = most * pow(least / most, step / STEPS);

        all.prune = 1 - round(fmin(most, fmax(least, kept)) / ROUND) * ROUND;
        CTT_TRY(consider_common(c, &all, step));
    }
out:
    return rc;
}

/* Without pruning, and all shares; blocks are for time. */
static int consider_pruning(struct choice *c, struct ctt_common all)
{
    const struct ctt_ladder *l;
    int rc;

    CTT_TRY(consider_common(c, &all, 0));
    for (int i = 0; (l = ctt_ladder(i)); i++) {
        all.pruning = l;
        if (l->kind == CTT_OPTION_PRUNE &&
            (l->form != CTT_PRUNE_BLOCK || c->r->timed))
            CTT_TRY(consider_shares(c, all, 0, STEPS, 1));
    }
    rc = 0;
out:
    return rc;
}

static int consider_all(struct choice *c)
{
    const struct ctt_ladder *l;
    int rc = 0;

    if (!c->style->uniform)
        CTT_TRY(consider_pruning(c, (struct ctt_common){ NULL, 0, NULL, 0 }));
    for (int i = 0; c->style->uniform && (l = ctt_ladder(i)); i++)
        for (int k = 0; l->kind == CTT_OPTION_FORM && k < l->values; k++)
            CTT_TRY(consider_pruning(c, (struct ctt_common){ NULL, 0, l, k }));
    if (c->all.pruning)
        CTT_TRY(consider_shares(c, c->all, c->step - 0.75, c->step + 0.75,
                                0.25));
out:
    return rc;
}

static int choose_plan(struct ctt_budget_run *r, const struct ctt_style *style,
                       const struct ctt_aim_at *a, struct ctt_budget_plan **out)
{
    struct choice c = { .r = r, .style = style, .a = a };
    int rc;

    CTT_TRY(ctt_assignment_new(r->s, &c.is));
    c.pick = ctt_calloc((size_t)r->s->weights, sizeof(*c.pick));
    CTT_TRY(c.pick ? 0 : CTT_ENOMEM);
    CTT_TRY(consider_all(&c));
    CTT_TRY(ctt_budget_plan_of(r, a, &c.is, out));
    memcpy((*out)->expected, c.sum.cost, sizeof(c.sum.cost));
out:
    ctt_free(c.is);
    ctt_free(c.pick);
    return rc;
}

/* ---- correcting ---- */

/* Whether a limit that holds is nearly reached, or nothing is to gain. */
static int is_near(const struct ctt_aim_at *a, const struct ctt_budget_plan *p)
{
    int near = p->harm <= 0;

    for (int k = 0; k < CTT_COSTS; k++)
        near |= !isinf(a->most[k]) && p->tried.cost[k] > NEAR * a->most[k];
    return p->meets && near;
}

static int is_better(const struct ctt_aim_at *a,
                     const struct ctt_budget_plan *p,
                     const struct ctt_budget_plan *best)
{
    if (!best || p->meets != best->meets)
        return !best || p->meets;
    return p->meets ? p->harm < best->harm
                    : ctt_budget_plan_excess(a, p) <
                      ctt_budget_plan_excess(a, best);
}

/* The limits of the choice, and those that were tried: of plans that met the
 * limits, and of plans that did not; 0: none. */
struct tries { struct ctt_aim_at now; double met[CTT_COSTS], not[CTT_COSTS]; };

/* In proportion to what p costs, or between the limits that were tried. */
static void correct_limits(const struct ctt_aim_at *a,
                           const struct ctt_budget_plan *p, struct tries *t)
{
    for (int k = 0; k < CTT_COSTS; k++) {
        double is = p->tried.cost[k], *most = &t->now.most[k], next;

        if (isinf(a->most[k]) || !(is > 0))
            continue;
        *(is <= a->most[k] ? &t->met[k] : &t->not[k]) = *most;
        next = p->expected[k] * AIM * a->most[k] / is;
        if (t->met[k] > 0 && t->not[k] > t->met[k] &&
            !(next > t->met[k] && next < t->not[k]))
            next = sqrt(t->met[k] * t->not[k]);
        *most = next;
    }
}

int ctt_budget_plan(struct ctt_budget_run *r, const struct ctt_style *style,
             const struct ctt_aim_at *a, struct ctt_budget_plan **out)
{
    struct ctt_budget_plan *p = NULL, *best = NULL;
    struct tries t = { *a, { 0 }, { 0 } };
    int rc = 0, end = 0;

    for (int k = 0; k < CTT_COSTS; k++)    /* a square: channels both ways */
        t.now.most[k] *= AIM / ((1 - style->thin) * (1 - style->thin));
    for (int i = 0; i < TRIES && !end; i++) {
        CTT_TRY(choose_plan(r, style, &t.now, &p));
        correct_limits(a, p, &t);
        p->meets = ctt_costs_meet(a->most, p->tried.cost);
        end = is_near(a, p) || !ctt_budget_has_cost(&r->b);
        if (is_better(a, p, best)) {
            ctt_budget_plan_free(&best);
            best = p;
            p = NULL;
        }
        ctt_budget_plan_free(&p);
    }
    *out = best;
    best = NULL;
out:
    ctt_budget_plan_free(&p);
    ctt_budget_plan_free(&best);
    return ctt_budget_thins_none(style->thin, rc) ? 0 : rc;
}
