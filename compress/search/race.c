/* SPDX-License-Identifier: Apache-2.0
 * race.c: of several plans within the limits, the one that short retrainings
 * show to be best. */
#include "compress/search/search.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ctt_style ctt_candidates[CTT_CANDIDATES] = {
    { .why = "least harm, by weight" },
    { .whole = 1, .why = "no factors: retraining repairs pruning best" },
    { .uniform = 1, .why = "the same factors: their harm together was "
      "measured" },
    { .thin = 0.5, .why = "half of the channels: only training shows their "
      "harm" },
};

/* Successive halving: RUNGS rungs; each keeps half of the candidates and trains
 * them LONGER times as long. */
enum { RUNGS = 2, LONGER = 3 };

struct runner {
    const struct ctt_style *style;
    struct ctt_budget_plan *plan;
    double loss[RUNGS];    /* NAN: not retrained so long */
    double int8;           /* the part of them that retraining leaves alone */
    double end;            /* expected after a whole retraining */
};

struct race {
    struct ctt_budget_run *r;
    struct runner at[CTT_CANDIDATES];    /* the best first */
    int           n;
};

/* ---- candidates ---- */

static int is_past(const char *mix, char *const *past, int pasts)
{
    for (int i = 0; i < pasts; i++)
        if (strcmp(past[i], mix) == 0)
            return 1;
    return 0;
}

static int is_new(const struct race *x, const struct ctt_budget_plan *p,
                  char *const *past, int pasts)
{
    int is = !is_past(p->mix, past, pasts);

    for (int i = 0; i < x->n; i++)
        is &= strcmp(x->at[i].plan->mix, p->mix) != 0;
    return is;
}

/* Retraining adds 0.5 to 3% to the bytes in a few steps and 0.6 to 2.3% in the
 * rest, so plans aim at this share of the limit; where none comes so low, at
 * the limit itself. */
#define LEFT 0.96
static int plan_below(struct ctt_budget_run *r, const struct ctt_style *style,
                      const struct ctt_aim_at *a, struct ctt_budget_plan **p)
{
    struct ctt_aim_at to = *a;
    int rc;

    to.most[CTT_COST_BYTES] *= LEFT;
    CTT_TRY(ctt_budget_plan(r, style, &to, p));
    if (*p)
        (*p)->meets = ctt_costs_meet(a->most, (*p)->tried.cost);
    if (*p && !(*p)->meets && !isinf(a->most[CTT_COST_BYTES])) {
        ctt_budget_plan_free(p);
        CTT_TRY(ctt_budget_plan(r, style, a, p));
    }
out:
    return rc;
}

/* A plan that exceeds the limits is a candidate only if all do, the nearest. */
static int is_nearer(const struct race *x, const struct ctt_aim_at *a,
                     const struct ctt_budget_plan *p)
{
    const struct ctt_budget_plan *first = x->n ? x->at[0].plan : NULL;

    return p->meets || !first || (!first->meets &&
           ctt_budget_plan_excess(a, p) < ctt_budget_plan_excess(a, first));
}

static void enter(struct race *x, const struct ctt_style *style,
                  struct ctt_budget_plan **p)
{
    if (x->n == 1 && !x->at[0].plan->meets)
        ctt_budget_plan_free(&x->at[--x->n].plan);
    x->at[x->n++] = (struct runner){ style, *p, { NAN, NAN }, 0, NAN };
    *p = NULL;
}

/* Where no candidate meets the limits, the strongest options may. */
static int enter_strongest(struct race *x, const struct ctt_aim_at *a,
                           char *const *past, int pasts)
{
    struct ctt_budget_plan *p = NULL;
    int rc = 0;

    if (x->n && x->at[0].plan->meets)
        goto out;
    CTT_TRY(ctt_budget_strongest(x->r, a, &p));
    if (p && is_new(x, p, past, pasts))
        enter(x, &ctt_candidates[0], &p);
out:
    ctt_budget_plan_free(&p);
    return rc;
}

static int line_up(struct race *x, const struct ctt_aim_at *a,
                   char *const *past, int pasts)
{
    int several = ctt_budget_has_cost(&x->r->b), rc = 0;
    struct ctt_budget_plan *p = NULL;

    for (int i = 0; i < (several ? CTT_CANDIDATES : 1); i++) {
        CTT_TRY(plan_below(x->r, &ctt_candidates[i], a, &p));
        if (p && is_new(x, p, past, pasts) && is_nearer(x, a, p))
            enter(x, &ctt_candidates[i], &p);
        ctt_budget_plan_free(&p);
        if (!x->r->steps && x->n && x->at[0].plan->meets)
            break;    /* nothing is compared */
    }
    if (several)
        CTT_TRY(enter_strongest(x, a, past, pasts));
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* ---- rungs ---- */

/* The loss above that of the model as given falls as a power of the steps (as
 * errors do: Hestness and others 2017), but no faster than the steps grow: what
 * is pruned loses most at first, and recovers most. */
static double at_end(const struct ctt_budget_run *r, const struct runner *u,
                     int rung)
{
    double base = r->base + u->int8, is = u->loss[rung] - base;
    double was = rung ? u->loss[rung - 1] - base : is, power, steps;

    if (!(is > 0) || !(was > is))
        return u->loss[rung];
    steps = r->steps * pow(LONGER, rung);
    power = fmin(1, log(was / is) / log(LONGER));
    return base + is * pow(fmax(1, (double)r->all_steps / steps), -power);
}

static int is_before(const struct runner *a, const struct runner *b)
{
    return !isnan(a->end) && (isnan(b->end) || a->end < b->end);
}

/* Of equal ones the order stays. */
static void sort(struct race *x, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && is_before(&x->at[k], &x->at[k - 1]); k--) {
            struct runner was = x->at[k];

            x->at[k] = x->at[k - 1];
            x->at[k - 1] = was;
        }
}

/* Values are shared at the end of a whole retraining, so they are shared after
 * a short one, and of that harm counts what retraining leaves of it; expected
 * harm of INT8 is added. */
static int retrain(struct race *x, struct ctt_short *t, struct runner *u,
                   double *loss)
{
    struct ctt_budget_run *r = x->r;
    struct ctt_assignment *bare = NULL;
    int rc;

    CTT_TRY(ctt_assignment_copy(u->plan->a, &bare));
    u->int8 = ctt_budget_plan_harm(r, bare);
    for (int i = 0; i < bare->weights; i++)
        bare->weight[i].int8 = 0;
    u->int8 -= ctt_budget_plan_harm(r, bare);
    for (int i = 0; i < bare->weights; i++)
        bare->weight[i].share = NULL;
    t->a = bare;
    t->then[0] = u->plan->a;
    t->thens = 1;
    CTT_TRY(ctt_budget_short(r, t));
    *loss = t->loss + u->int8;
    if (!(t->then_loss[0] <= t->loss))
        *loss += r->shared_left * (t->then_loss[0] - t->loss);
    u->plan->bytes = t->then_bytes[0];
out:
    ctt_free(bare);
    return rc;
}

static int run(struct race *x)
{
    int n = x->n, steps = x->r->steps, rc = 0;

    for (int rung = 0; rung < RUNGS && (n > 1 || !rung); rung++) {
        for (int i = 0; i < n; i++) {
            struct runner *u = &x->at[i];
            struct ctt_short t = { .what = u->style->why, .at = i + 1,
                                   .all = n, .steps = steps };

            CTT_TRY(retrain(x, &t, u, &u->loss[rung]));
            u->end = at_end(x->r, u, rung);
        }
        sort(x, n);
        n = (n + 1) / 2;
        steps *= LONGER;
    }
out:
    return rc;
}

static int say(const struct race *x)
{
    struct ctt_budget_lines t = { NULL, 0 };
    char costs[192], cell[4][CTT_BUDGET_CELL], title[160];

    ctt_budget_lines_add(&t, "assignment\tcosts\tKL\tloss after %d steps\t%d\t"
                         "of all", x->r->steps, x->r->steps * LONGER);
    for (int i = 0; i < x->n; i++) {
        const struct runner *u = &x->at[i];

        ctt_budget_lines_add(&t, "%s\t%s\t%s\t%s\t%s\t%s", u->style->why,
            ctt_costs_print(u->plan->tried.cost, costs, sizeof(costs)),
            ctt_budget_number(u->plan->a->thin > 0 ? NAN : u->plan->harm,
                              cell[0]),
            ctt_budget_number(u->loss[0], cell[1]),
            ctt_budget_number(u->loss[1], cell[2]),
            ctt_budget_number(isnan(u->loss[1]) ? NAN : u->end, cell[3]));
    }
    snprintf(title, sizeof(title), "assignments within the limits; KL: "
             "expected; of all: loss expected after all %" PRId64 " steps:",
             x->r->all_steps);
    return ctt_budget_lines_table(x->r, &t, title);
}

/* ---- the winner ---- */

/* If a short retraining brings the bytes nearer to the limit than the rest of a
 * whole one leaves room for, a plan of the same style for fewer bytes takes its
 * place.  1: it keeps the limit now. */
#define SAFE 0.97
static int tighten(struct race *x, struct runner *u, const struct ctt_aim_at *a,
                   char *const *past, int pasts)
{
    double grows = u->plan->bytes / u->plan->tried.cost[CTT_COST_BYTES];
    struct ctt_aim_at to = *a;
    struct ctt_budget_plan *p = NULL;
    int rc = 1;

    if (!(u->plan->bytes > SAFE * a->most[CTT_COST_BYTES]))
        goto out;
    to.most[CTT_COST_BYTES] *= SAFE / grows;
    CTT_TRY(ctt_budget_plan(x->r, u->style, &to, &p));
    rc = u->plan->bytes <= x->r->b.most[CTT_COST_BYTES];
    if (p && p->meets && !is_past(p->mix, past, pasts)) {
        ctt_budget_say(x->r, "its bytes grow by %.1f%% in retraining: the "
                       "plan for fewer has %.0f before", 100 * (grows - 1),
                       p->tried.cost[CTT_COST_BYTES]);
        p->bytes = p->tried.cost[CTT_COST_BYTES] * grows;
        ctt_budget_plan_free(&u->plan);
        u->plan = p;
        p = NULL;
        rc = 1;
    }
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* The best candidate that is expected to keep the limit of bytes, else the best
 * one. */
static int tighten_best(struct race *x, const struct ctt_aim_at *a,
                        char *const *past, int pasts)
{
    int rc = 0, fits = 0;

    for (int i = 0; i < x->n && !fits && !isnan(x->at[i].end); i++) {
        CTT_TRY(fits = tighten(x, &x->at[i], a, past, pasts));
        if (fits) {
            struct runner was = x->at[i];

            x->at[i] = x->at[0];
            x->at[0] = was;
        }
    }
out:
    return rc < 0 ? rc : 0;
}

int ctt_budget_race(struct ctt_budget_run *r, const struct ctt_aim_at *a,
             char *const *past, int pasts, struct ctt_budget_plan **out)
{
    struct race x = { .r = r };
    int rc;

    CTT_TRY(line_up(&x, a, past, pasts));
    if (x.n > 0 && x.at[0].plan->meets && r->steps &&
        ctt_budget_has_cost(&r->b)) {
        CTT_TRY(run(&x));
        CTT_TRY(say(&x));
        CTT_TRY(tighten_best(&x, a, past, pasts));
    }
    if (x.n > 0) {
        *out = x.at[0].plan;
        x.at[0].plan = NULL;
    }
out:
    for (int i = 0; i < x.n; i++)
        ctt_budget_plan_free(&x.at[i].plan);
    return rc;
}
