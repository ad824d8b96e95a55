/* SPDX-License-Identifier: Apache-2.0
 * budget_plan.c: the mix that a budget asks for, tried before it is
 * retrained. */
#include "compress/search/budget_run.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What limits are aimed at, as retraining and the next measurement move the
 * bytes and the time a little; and how near to a limit is near enough. */
#define AIM 0.985
#define NEAR 0.955

const char *const ctt_budget_forms[] = { "prune any", "prune block" };

void ctt_budget_plan_free(struct ctt_budget_plan **p)
{
    if (!*p)
        return;
    ctt_free((*p)->part);
    ctt_free((*p)->fine);
    ctt_free((*p)->origin);
    ctt_free((*p)->mix);
    ctt_free(*p);
    *p = NULL;
}

int ctt_budget_plan_new(const struct ctt_budget_run *r,
                        struct ctt_budget_plan **out)
{
    struct ctt_budget_plan *p = ctt_calloc(1, sizeof(*p));
    int rc = 0;

    CTT_TRY(p ? 0 : CTT_ENOMEM);
    p->bytes = NAN;
    p->part = ctt_calloc((size_t)r->s->weights, sizeof(*p->part));
    p->mix = ctt_calloc(CTT_ASSIGNMENT_TEXT, 1);
    CTT_TRY(p->part && p->mix ? 0 : CTT_ENOMEM);
    *out = p;
    p = NULL;
out:
    ctt_budget_plan_free(&p);
    return rc;
}

int ctt_budget_meets(const double most[CTT_COSTS], const double *cost)
{
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(most[k]) && !(cost[k] <= most[k]))
            return 0;
    return 1;
}

/* ---- trying ---- */

int ctt_budget_recipe(const struct ctt_budget_run *r, double thin,
                      const struct ctt_part *part,
                      const struct ctt_recipe *base,
                      struct ctt_assignment_recipe **out)
{
    struct ctt_recipe o = *base;

    o.thin.share = (float)thin;
    return ctt_assignment_recipe(r->s, part, &o, out);
}

/* Tries what the parts say, and times it, unless the log has that. */
static int try_mix(struct ctt_budget_run *r, int timed, double thin,
                   const struct ctt_part *part, const char *mix,
                   struct ctt_costs *out)
{
    struct ctt_recipe_calls calls = ctt_compress_calls(r->j);
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_TRIED,
                                  .loss = NAN };
    const struct ctt_budget_row *known;
    struct ctt_assignment_recipe *o = NULL;
    char text[CTT_ASSIGNMENT_TEXT];
    int rc = 0;

    snprintf(text, sizeof(text), "%s", mix);
    row.mix = text;
    known = ctt_budget_row_find(&r->rows, &row);
    if (!timed)
        calls.compare = NULL;
    if (known && (!calls.compare || !isnan(known->costs.faster))) {
        *out = known->costs;
        goto out;
    }
    CTT_TRY(ctt_budget_recipe(r, thin, part, &r->j->c.recipe, &o));
    CTT_TRY(ctt_assignment_try(r->j->m, ctt_assignment_settings(o), &calls,
                               r->j->path, r->j->c.out, &row.costs));
    if (!isnan(r->ms) && calls.compare)
        row.costs.cost[CTT_COST_MS] = r->ms / row.costs.faster;
    CTT_TRY(ctt_budget_row_add(&r->rows, r->log, &row));
    *out = row.costs;
out:
    ctt_assignment_recipe_free(&o);
    return rc;
}

int ctt_budget_given(struct ctt_budget_run *r, struct ctt_costs *out)
{
    struct ctt_budget_plan *p = NULL;
    int rc;

    r->ms = NAN;
    CTT_TRY(ctt_budget_plan_new(r, &p));
    ctt_assignment_print(r->s, 0, p->part, p->mix, CTT_ASSIGNMENT_TEXT);
    CTT_TRY(try_mix(r, 1, 0, p->part, p->mix, out));
    r->ms = out->cost[CTT_COST_MS] * out->faster;
    r->given = *out;
out:
    ctt_budget_plan_free(&p);
    return rc;
}

int ctt_budget_untimed(struct ctt_budget_run *r)
{
    struct ctt_budget_plan *p = NULL;
    int rc;

    CTT_TRY(ctt_budget_plan_new(r, &p));
    ctt_assignment_print(r->s, 0, p->part, p->mix, CTT_ASSIGNMENT_TEXT);
    CTT_TRY(try_mix(r, 0, 0, p->part, p->mix, &r->given));
out:
    ctt_budget_plan_free(&p);
    return rc;
}

int ctt_budget_time(struct ctt_budget_run *r, struct ctt_budget_plan *p)
{
    return try_mix(r, 1, p->thin, p->part, p->mix, &p->tried);
}

/* The share of each cost that thinning alone leaves. */
static int left_by(struct ctt_budget_run *r, double thin,
                   double left[CTT_COSTS])
{
    struct ctt_budget_plan *p = NULL;
    struct ctt_costs is;
    int rc;

    CTT_TRY(ctt_budget_plan_new(r, &p));
    ctt_assignment_print(r->s, thin, p->part, p->mix, CTT_ASSIGNMENT_TEXT);
    CTT_TRY(try_mix(r, r->timed, thin, p->part, p->mix, &is));
    for (int k = 0; k < CTT_COSTS; k++)
        left[k] = is.cost[k] / r->given.cost[k];
    CTT_CHECK(is.cost[CTT_COST_MACS] < r->given.cost[CTT_COST_MACS],
              CTT_EUNSUP, "thinning changes nothing");
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* ---- choosing ---- */

static int allot(const struct ctt_budget_run *r, const struct ctt_offer *f,
                 const struct ctt_aim_at *a, struct ctt_part *part,
                 struct ctt_way *sum)
{
    const struct ctt_budget_style *o = &r->style;

    return o->alike ? ctt_allocate_uniform(f, r->s, o->form, a, part, sum)
                    : ctt_allocate_each(f, a, part, sum);
}

int ctt_budget_has_form(const struct ctt_budget_run *r, int form)
{
    return r->timed || strcmp(ctt_budget_forms[form], "prune block") != 0;
}

/* The better of both forms of pruning. */
static int choose(const struct ctt_budget_run *r, const struct ctt_aim_at *a,
                  struct ctt_budget_plan *p)
{
    size_t size = (size_t)r->s->weights * sizeof(*p->part);
    struct ctt_part *part = ctt_calloc(1, size);
    int rc = part ? 0 : CTT_ENOMEM, some = 0;
    struct ctt_way best, sum;

    CTT_TRY(rc);
    for (int f = 0; f < CTT_BUDGET_FORMS; f++) {
        if (!ctt_budget_has_form(r, f) || (r->style.prune &&
            strcmp(r->style.prune, ctt_budget_forms[f]) != 0))
            continue;
        CTT_TRY(allot(r, r->offer[f], a, part, &sum));
        if (some++ && !ctt_aim_better(a, &sum, &best))
            continue;
        best = sum;
        memcpy(p->part, part, size);
    }
    p->harm = best.harm;
    memcpy(p->expected, best.cost, sizeof(best.cost));
    p->thin = r->style.thin;
out:
    ctt_free(part);
    return rc < 0 ? rc : 0;
}

/* ---- correcting ---- */

/* The next limit of the choice: through the last two points, or in
 * proportion. */
static double next_limit(double most, const double x[2], const double y[2],
                         int points)
{
    double to = AIM * most, slope;

    if (points < 2 || fabs(x[1] - x[0]) < 1e-9 * fabs(x[0]))
        return x[0] * to / y[0];
    slope = (y[0] - y[1]) / (x[0] - x[1]);
    if (!(slope > 0))
        return x[0] * to / y[0];
    return fmin(x[0] * 3, fmax(x[0] / 3, x[0] + (to - y[0]) / slope));
}

/* What limits came to, newest first. */
struct past { double x[CTT_COSTS][2], y[CTT_COSTS][2]; int points; };

static void remember(struct past *h, const struct ctt_budget_plan *p)
{
    for (int k = 0; k < CTT_COSTS; k++) {
        h->x[k][1] = h->x[k][0];
        h->y[k][1] = h->y[k][0];
        h->x[k][0] = p->expected[k];
        h->y[k][0] = p->tried.cost[k];
    }
    h->points++;
}

/* Whether a limit that holds is nearly reached, or nothing is to gain. */
static int is_near(const struct ctt_aim_at *a, const struct ctt_budget_plan *p)
{
    if (!p->meets)
        return 0;
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(a->most[k]) && p->tried.cost[k] > NEAR * a->most[k])
            return 1;
    return p->harm <= 0;
}

double ctt_budget_excess(const struct ctt_aim_at *a,
                         const struct ctt_budget_plan *p)
{
    struct ctt_way is = { .harm = 0 };

    memcpy(is.cost, p->tried.cost, sizeof(is.cost));
    return ctt_aim_excess(a, &is);
}

/* Whether p is better than the best so far: it meets, and harms less; or it is
 * nearer. */
static int is_better(const struct ctt_aim_at *a,
                     const struct ctt_budget_plan *p,
                     const struct ctt_budget_plan *best)
{
    if (!best || p->meets != best->meets)
        return !best || p->meets;
    return p->meets ? p->harm < best->harm : ctt_budget_excess(a, p) <
                                              ctt_budget_excess(a, best);
}

static int has_limit(const struct ctt_aim_at *a)
{
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(a->most[k]))
            return 1;
    return 0;
}

int ctt_budget_plan_try(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                        struct ctt_budget_plan *p)
{
    int rc;

    ctt_assignment_print(r->s, p->thin, p->part, p->mix, CTT_ASSIGNMENT_TEXT);
    CTT_TRY(try_mix(r, r->timed, p->thin, p->part, p->mix, &p->tried));
    p->meets = ctt_budget_meets(a->most, p->tried.cost);
out:
    return rc;
}

/* What the choice starts with.  It knows weights that are whole, so that what
 * thinning leaves of a cost is what its limit is of. */
static int first_limits(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                        double left[CTT_COSTS], struct ctt_aim_at *now)
{
    int rc = 0;

    if (r->style.thin > 0)
        CTT_TRY(left_by(r, r->style.thin, left));
    *now = *a;
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(a->most[k]))
            now->most[k] *= AIM / left[k];
out:
    return rc;
}

int ctt_budget_plan(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    struct ctt_budget_plan **out)
{
    struct ctt_budget_plan *p = NULL, *best = NULL;
    double left[CTT_COSTS] = { 1, 1, 1, 1 };
    struct ctt_aim_at now;
    struct past h = { .points = 0 };
    int rc;

    CTT_TRY(first_limits(r, a, left, &now));
    for (int i = 0, near = 0; i < CTT_BUDGET_ROUNDS && !near; i++) {
        CTT_TRY(ctt_budget_plan_new(r, &p));
        memcpy(p->left, left, sizeof(left));
        CTT_TRY(choose(r, &now, p));
        CTT_TRY(ctt_budget_plan_try(r, a, p));
        remember(&h, p);
        if (h.points > 1 && !(r->rough && p->meets))
            CTT_TRY(ctt_budget_near(r, a, AIM, NEAR, &p));
        near = is_near(a, p) || !has_limit(a) || (r->rough && p->meets);
        for (int k = 0; k < CTT_COSTS; k++)
            if (!isinf(a->most[k]))
                now.most[k] = next_limit(a->most[k], h.x[k], h.y[k],
                                         h.points);
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
    return rc < 0 ? rc : 0;
}
