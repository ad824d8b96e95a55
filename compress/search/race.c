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

struct runner {
    const char *why;
    struct ctt_budget_plan *plan;
    double loss;    /* after the race; NAN: it leads to no model */
};

struct race {
    struct ctt_budget_run *r;
    const struct ctt_aim_at *a;
    struct runner at[CTT_CANDIDATES + 1];    /* the best first */
    int           n;
};

/* ---- candidates ---- */

/* Retraining adds up to 5% to the bytes, most of it in the first steps, so that
 * plans aim at this share of the limit; where none comes so low, at the limit
 * itself. */
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

static int is_listed(const char *mix, char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], mix) == 0)
            return 1;
    return 0;
}

/* Takes *p over, unless it was tried in an earlier round or is there; of plans
 * that exceed the limits only the nearest stays, and only if all do. */
static void add_candidate(struct race *x, const char *why,
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
        x->at[x->n++] = (struct runner){ why, *p, NAN };
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
        CTT_TRY(plan_below(x->r, &ctt_candidates[i], x->a, &p));
        add_candidate(x, ctt_candidates[i].why, &p, past, pasts);
    }
    if (several && !(x->n && x->at[0].plan->meets)) {
        CTT_TRY(ctt_budget_strongest(x->r, x->a, &p));
        add_candidate(x, "the strongest options", &p, past, pasts);
    }
out:
    return rc;
}

/* ---- the race ---- */

/* Whether a comes before b: one that is not expected to keep the limit of bytes
 * comes last. */
static int is_before(const struct race *x, const struct runner *a,
                     const struct runner *b)
{
    double most = x->r->b.most[CTT_COST_BYTES];
    int fits = !(a->plan->bytes > most), other = !(b->plan->bytes > most);

    if (fits != other)
        return fits;
    return !isnan(a->loss) && (isnan(b->loss) || a->loss < b->loss);
}

/* LONGER: times the steps of the short retrainings of single options: what is
 * pruned loses most at first, and recovers most. */
enum { LONGER = 2 };

/* Puts each candidate behind those that are as good. */
static int run_race(struct race *x)
{
    int rc = 0;

    for (int i = 0; i < x->n; i++) {
        struct runner u = x->at[i];
        struct ctt_short t = { .a = u.plan->a, .what = u.why, .at = i + 1,
                               .all = x->n, .steps = LONGER * x->r->steps };
        int k = i;

        CTT_TRY(ctt_budget_short(x->r, &t));
        u.loss = t.loss;
        u.plan->bytes = t.bytes;
        for (; k > 0 && is_before(x, &u, &x->at[k - 1]); k--)
            x->at[k] = x->at[k - 1];
        x->at[k] = u;
    }
out:
    return rc;
}

static int tell_runners(const struct race *x)
{
    char *rows = NULL, costs[192], cell[2][CTT_BUDGET_CELL], title[120];
    int rc;

    CTT_TRY(ctt_budget_add_row(&rows, "assignment\tcosts\tKL\tloss"));
    for (int i = 0; i < x->n; i++) {
        const struct runner *u = &x->at[i];

        CTT_TRY(ctt_budget_add_row(&rows, "%s\t%s\t%s\t%s", u->why,
            ctt_costs_print(u->plan->tried.cost, costs, sizeof(costs)),
            ctt_budget_number(u->plan->a->thin > 0 ? NAN : u->plan->harm,
                              cell[0]), ctt_budget_number(u->loss, cell[1])));
    }
    snprintf(title, sizeof(title), "assignments within the limits; KL: "
             "expected; loss: after %d steps of retraining:",
             LONGER * x->r->steps);
    rc = x->r->calls->table(x->r->calls->arg, title, rows);
out:
    ctt_free(rows);
    return rc;
}

int ctt_budget_race(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    char *const *past, int pasts, struct ctt_budget_plan **out)
{
    struct race x = { .r = r, .a = a };
    int rc;

    CTT_TRY(list_candidates(&x, past, pasts));
    if (x.n > 0 && x.at[0].plan->meets && r->steps &&
        ctt_budget_has_cost(&r->b)) {
        CTT_TRY(run_race(&x));
        CTT_TRY(tell_runners(&x));
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
