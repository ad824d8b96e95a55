/* SPDX-License-Identifier: Apache-2.0
 * race.c: of several plans within the limits, the one that short retrainings
 * show to be best. */
#include "compress/search/search.h"

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

/* Made where no style keeps the limits. */
static const struct ctt_style strongest = { .why = "the strongest options" };

struct runner {
    const struct ctt_style *style;
    struct ctt_budget_plan *plan;
    double loss;    /* after the last rung; NAN: it leads to no model */
};

struct race {
    struct ctt_budget_run *r;
    const struct ctt_aim_at *a;
    struct runner at[CTT_CANDIDATES + 1];    /* the best first */
    int           n, last;    /* rung */
};

/* ---- candidates ---- */

/* Retraining adds up to 5% to the bytes, most of it in the first steps, so that
 * plans aim at this share of the limit; where none comes so low, at the limit
 * itself.  Once it is known what the first steps add, FULL of it is
 * aimed at, unless between FILLED and SAFE of it is used. */
#define LEFT 0.96
#define FULL 0.985
#define FILLED 0.97
#define SAFE 0.99
static int plan_below(struct ctt_budget_run *r, const struct ctt_style *style,
                      const struct ctt_aim_at *a, double share,
                      struct ctt_budget_plan **p)
{
    struct ctt_aim_at to = *a;
    int rc;

    to.most[CTT_COST_BYTES] *= share;
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

static int is_listed(const char *mix, char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], mix) == 0)
            return 1;
    return 0;
}

/* Takes *p over, unless it was tried in an earlier round or is there; of plans
 * that exceed the limits only the nearest stays, and only if all do. */
static void add_candidate(struct race *x, const struct ctt_style *style,
                          struct ctt_budget_plan **p, char *const *past,
                          int pasts)
{
    struct ctt_budget_plan *first = x->n ? x->at[0].plan : NULL;
    int add = *p && !is_listed((*p)->mix, past, pasts);

    for (int i = 0; i < x->n; i++)
        add &= *p && strcmp(x->at[i].plan->mix, (*p)->mix) != 0;
    if (add && first && !(*p)->meets)
        add = !first->meets && ctt_budget_plan_excess(x->a, *p) <
                               ctt_budget_plan_excess(x->a, first);
    if (add && first && !first->meets)
        ctt_budget_plan_free(&x->at[--x->n].plan);
    if (add)
        x->at[x->n++] = (struct runner){ style, *p, NAN };
    else
        ctt_budget_plan_free(p);
    *p = NULL;
}

static int list_candidates(struct race *x, char *const *past, int pasts)
{
    int several = ctt_budget_has_cost(&x->r->b), rc = 0;
    struct ctt_budget_plan *p = NULL;

    for (int i = 0; i < (several ? CTT_CANDIDATES : 1); i++) {
        if (!x->r->steps && x->n && x->at[0].plan->meets)
            break;    /* nothing is compared */
        CTT_TRY(plan_below(x->r, &ctt_candidates[i], x->a, LEFT, &p));
        add_candidate(x, &ctt_candidates[i], &p, past, pasts);
    }
    if (several && !(x->n && x->at[0].plan->meets)) {
        CTT_TRY(ctt_budget_strongest(x->r, x->a, &p));
        add_candidate(x, &strongest, &p, past, pasts);
    }
out:
    return rc;
}

/* ---- the race ---- */

/* Whether a comes before b: in the last rung one that is not expected to keep
 * the limit of bytes comes last, as no plan follows. */
static int is_before(const struct race *x, const struct runner *a,
                     const struct runner *b)
{
    double most = x->r->b.most[CTT_COST_BYTES];
    int fits = !(a->plan->bytes > most), other = !(b->plan->bytes > most);

    if (x->last && fits != other)
        return fits;
    return !isnan(a->loss) && (isnan(b->loss) || a->loss < b->loss);
}

static int tell_runners(const struct race *x, int steps)
{
    char *rows = NULL, costs[192], cell[2][CTT_BUDGET_CELL], title[120];
    int rc;

    CTT_TRY(ctt_budget_add_row(&rows, "assignment\tcosts\tKL\tloss"));
    for (int i = 0; i < x->n; i++) {
        const struct runner *u = &x->at[i];

        CTT_TRY(ctt_budget_add_row(&rows, "%s\t%s\t%s\t%s", u->style->why,
            ctt_costs_print(u->plan->tried.cost, costs, sizeof(costs)),
            ctt_budget_number(u->plan->a->thin > 0 ? NAN : u->plan->harm,
                              cell[0]), ctt_budget_number(u->loss, cell[1])));
    }
    snprintf(title, sizeof(title), "assignments within the limits; KL: "
             "expected; loss: after %d steps of retraining:", steps);
    rc = x->r->calls->table(x->r->calls->arg, title, rows);
out:
    ctt_free(rows);
    return rc;
}

/* Puts each candidate behind those that are as good after so many steps. */
static int run_rung(struct race *x, int steps)
{
    int rc = 0;

    for (int i = 0; i < x->n; i++) {
        struct runner u = x->at[i];
        struct ctt_short t = { .a = u.plan->a, .what = u.style->why,
                               .at = i + 1, .all = x->n, .steps = steps,
                               .race = 1 };
        int k = i;

        CTT_TRY(ctt_budget_short(x->r, &t));
        u.loss = t.loss;
        u.plan->bytes = t.bytes;
        for (; k > 0 && is_before(x, &u, &x->at[k - 1]); k--)
            x->at[k] = x->at[k - 1];
        x->at[k] = u;
    }
    if (x->n)
        CTT_TRY(tell_runners(x, steps));
out:
    return rc;
}

/* Plans a candidate again for the bytes that its retraining left of the limit,
 * or lacked, unless an earlier round retrained that plan whole. */
static int fill_runner(const struct race *x, struct runner *u,
                       char *const *past, int pasts)
{
    double most = x->a->most[CTT_COST_BYTES], is = u->plan->bytes;
    double grown = is / u->plan->tried.cost[CTT_COST_BYTES];
    struct ctt_budget_plan *p = NULL;
    int rc = 0;

    if (isinf(most) || isnan(is) || u->style == &strongest ||
        (is <= SAFE * most && is > FILLED * most))
        goto out;
    CTT_TRY(plan_below(x->r, u->style, x->a, FULL / grown, &p));
    if (!p || !p->meets || is_listed(p->mix, past, pasts) ||
        (is <= SAFE * most && p->harm >= u->plan->harm))
        goto out;
    p->bytes = p->tried.cost[CTT_COST_BYTES] * grown;
    ctt_budget_plan_free(&u->plan);
    u->plan = p;
    p = NULL;
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* The best two go on. */
enum { FINAL = 2 };
static int halve(struct race *x, char *const *past, int pasts)
{
    int n = 0, rc = 0;

    for (int i = 0; i < x->n; i++) {
        struct runner u = x->at[i];

        x->at[i].plan = NULL;
        if (n < FINAL)
            rc = fill_runner(x, &u, past, pasts);
        if (rc >= 0 && n < FINAL)
            x->at[n++] = u;
        else
            ctt_budget_plan_free(&u.plan);
        CTT_TRY(rc);
    }
    x->n = n;
out:
    return rc;
}

/* Successive halving (Karnin and others 2013; Jamieson and Talwalkar 2016): the
 * better ones are retrained twice as long, from the start, as a schedule ends
 * with its steps.  LONGER: times the steps of single options, at least, as what
 * is pruned loses most at first, and recovers most; PART: of a whole
 * retraining. */
enum { LONGER = 2, PART = 8 };
static int run_race(struct race *x, char *const *past, int pasts)
{
    int steps = LONGER * x->r->steps, rc = 0;

    steps = x->r->whole / PART > steps ? x->r->whole / PART : steps;
    CTT_TRY(run_rung(x, steps));
    CTT_TRY(halve(x, past, pasts));
    x->last = 1;
    CTT_TRY(run_rung(x, 2 * steps));
out:
    return rc;
}

int ctt_budget_race(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    char *const *past, int pasts, struct ctt_budget_plan **out)
{
    struct race x = { .r = r, .a = a };
    int rc;

    CTT_TRY(list_candidates(&x, past, pasts));
    if (x.n > 0 && x.at[0].plan->meets && r->steps &&
        ctt_budget_has_cost(&r->b))
        CTT_TRY(run_race(&x, past, pasts));
    if (x.n > 0) {
        *out = x.at[0].plan;
        x.at[0].plan = NULL;
    }
out:
    for (int i = 0; i < x.n; i++)
        ctt_budget_plan_free(&x.at[i].plan);
    return rc;
}
