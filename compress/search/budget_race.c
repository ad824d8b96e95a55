/* SPDX-License-Identifier: Apache-2.0
 * budget_race.c: of several mixes that meet the limits, the one that short
 * retrainings show to be best. */
#include "compress/search/budget_run.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Retrainings of each candidate at most; how many times as long the next one
 * is, of that part of the candidates; the third is at most that part of a whole
 * retraining. */
enum { RUNGS = 3, LONGER = 3, PART = 6 };

/* The harm of one weight after the other does not add up exactly, and less so
 * after retraining.  So a candidate takes it as measured, or counts that of
 * some kinds so many times; or gives all weights the same, as what that harms
 * was measured at once.  What thinning harms is known by its retraining alone,
 * as it changes all weights at once. */
#define WHOLE 30     /* pruned factors: then only whole weights are pruned */
#define SLOW  0.1    /* the same: a whole retraining may repair them */
static const struct way {
    const char *name;
    struct ctt_trust        trust;    /* factors, pruning, bits, INT8 */
    struct ctt_budget_style style;
} ways[] = {
    { "by weight", { { 1, 1, 1, 1 }, WHOLE }, { 0, 0, NULL, NULL } },
    { "fewer factors", { { 8, 1, 1, 1 }, WHOLE }, { 0, 0, NULL, NULL } },
    { "less pruned", { { 1, 8, 1, 1 }, WHOLE }, { 0, 0, NULL, NULL } },
    { "pruned factors", { { 1, 1, 1, 1 }, 1 }, { 0, 0, NULL, NULL } },
    { "more bits", { { 1, 1, 8, 1 }, WHOLE }, { 0, 0, NULL, NULL } },
    { "alike", { { 1, 1, 1, 1 }, 1 }, { 0, 1, NULL, "prune any" } },
    { "alike, svd", { { 1, 1, 1, 1 }, SLOW }, { 0, 1, "svd", "prune any" } },
    { "alike, tensor train", { { 1, 1, 1, 1 }, SLOW },
      { 0, 1, "tensor train", "prune any" } },
    { "alike, blocks", { { 1, 1, 1, 1 }, 1 }, { 0, 1, NULL, "prune block" } },
    { "alike, svd, blocks", { { 1, 1, 1, 1 }, SLOW },
      { 0, 1, "svd", "prune block" } },
    { "alike, tensor train, blocks", { { 1, 1, 1, 1 }, SLOW },
      { 0, 1, "tensor train", "prune block" } },
    { "thinner by a quarter", { { 1, 1, 1, 1 }, WHOLE },
      { 0.25, 0, NULL, NULL } },
    { "thinner by half", { { 1, 1, 1, 1 }, WHOLE },
      { CTT_BUDGET_THINNEST, 0, NULL, NULL } },
};

struct runner {
    const struct way *way;
    struct ctt_budget_plan *plan;
    double loss[RUNGS];    /* NAN: not retrained so long */
    double int8;           /* part of them that retraining does not repair */
    double ends;           /* what all of it is expected to lead to */
};

struct race {
    struct ctt_budget_run *r;
    struct runner at[CTT_LEN(ways)];    /* the best first */
    int           n;
    int           first;    /* 1: only the first one is wanted */
};

/* ---- the candidates ---- */

static int is_past(const struct ctt_budget_plan *p, char *const *past,
                   int pasts)
{
    for (int i = 0; i < pasts; i++)
        if (strcmp(past[i], p->mix) == 0)
            return 1;
    return 0;
}

/* Two that are alike but for a little pruning would be retrained twice. */
static int is_new(const struct race *x, const struct ctt_budget_plan *p,
                  char *const *past, int pasts)
{
    if (is_past(p, past, pasts))
        return 0;
    for (int i = 0; i < x->n; i++)
        if (ctt_budget_uniform(x->r, x->at[i].plan, p))
            return 0;
    return 1;
}

static void trust_all(const struct ctt_budget_run *r, const struct way *w)
{
    for (int f = 0; f < CTT_BUDGET_FORMS; f++)
        if (r->offer[f])
            ctt_offer_trust(r->offer[f], r->s, &w->trust);
}

static int plan(struct ctt_budget_run *r, const struct way *w,
                const struct ctt_aim_at *a, struct ctt_budget_plan **p)
{
    int rc;

    trust_all(r, w);
    r->style = w->style;
    rc = ctt_budget_plan(r, a, p);
    r->style = ways[0].style;
    return w->style.thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL) ? 0 : rc;
}

/* Whether plans have its form of pruning. */
static int is_useful(const struct race *x, const struct way *w)
{
    int useful = !w->style.prune;

    for (int f = 0; f < CTT_BUDGET_FORMS && !useful; f++)
        useful = strcmp(w->style.prune, ctt_budget_forms[f]) == 0 &&
                 ctt_budget_has_form(x->r, f);
    return useful;
}

/* One that exceeds the limits is a candidate only if all do, the nearest. */
static int is_nearer(const struct race *x, const struct ctt_aim_at *a,
                     const struct ctt_budget_plan *p)
{
    const struct ctt_budget_plan *first = x->n ? x->at[0].plan : NULL;

    return p->meets || !first ||
           (!first->meets && ctt_budget_excess(a, p) <
                             ctt_budget_excess(a, first));
}

/* Retraining adds to the bytes, a short one 0.5 to 3% and the rest of a whole
 * one 0.6 to 2.3%, so plans aim at this share of the limit; tighten() goes by
 * what the short one has added.  Where no
 * mix comes so low, the limit itself is what is aimed at. */
#define LEFT 0.96
static int plan_below(struct race *x, const struct way *w,
                      const struct ctt_aim_at *a, struct ctt_budget_plan **p)
{
    struct ctt_aim_at to = *a;
    int rc;

    if (!x->first)
        to.most[CTT_COST_BYTES] *= LEFT;
    CTT_TRY(plan(x->r, w, &to, p));
    if (*p)
        (*p)->meets = ctt_budget_meets(a->most, (*p)->tried.cost);
    if (*p && !(*p)->meets && to.most[CTT_COST_BYTES] <
                              a->most[CTT_COST_BYTES]) {
        ctt_budget_plan_free(p);
        CTT_TRY(plan(x->r, w, a, p));
    }
out:
    return rc;
}

static int line_up(struct race *x, const struct ctt_aim_at *a,
                   char *const *past, int pasts)
{
    int steps = x->r->j->c.budget_steps, rc = 0;
    int several = ctt_budget_has_cost(&x->r->b);
    struct ctt_budget_plan *p = NULL;

    for (size_t i = 0; i < (several ? CTT_LEN(ways) : 1); i++) {
        if (!is_useful(x, &ways[i]))
            continue;
        CTT_TRY(plan_below(x, &ways[i], a, &p));
        if (p && is_new(x, p, past, pasts) && is_nearer(x, a, p)) {
            if (x->n == 1 && !x->at[0].plan->meets)
                ctt_budget_plan_free(&x->at[--x->n].plan);
            x->at[x->n++] = (struct runner){ &ways[i], p,
                .loss = { NAN, NAN, NAN }, .ends = NAN };
            p = NULL;
        }
        ctt_budget_plan_free(&p);
        if ((!steps || x->first) && x->n && x->at[0].plan->meets)
            break;
    }
out:
    trust_all(x->r, &ways[0]);
    return rc;
}

/* What the parts of a mix are expected to harm, as measured, whatever it was
 * planned with. */
static double harm_of(const struct race *x, const struct ctt_budget_plan *p)
{
    double sum = 0;

    for (int i = 0; i < x->r->s->weights; i++)
        sum += ctt_part_harms(x->r->s, &p->part[i]);
    return sum;
}

/* So many nats above the least a mix is not worth a retraining: the right
 * answer has 0.74 of the probability.  What thinning harms is not known. */
#define HOPELESS 0.3
static void drop_hopeless(struct race *x)
{
    double least = INFINITY;
    int n = 0, dropped = 0;

    for (int i = 0; i < x->n; i++)
        if (!(x->at[i].plan->thin > 0))
            least = fmin(least, harm_of(x, x->at[i].plan));
    for (int i = 0; i < x->n; i++) {
        struct ctt_budget_plan *p = x->at[i].plan;

        if (p->thin > 0 || !(harm_of(x, p) > least + HOPELESS)) {
            x->at[n++] = x->at[i];
            continue;
        }
        ctt_budget_plan_free(&x->at[i].plan);
        dropped++;
    }
    x->n = n;
    if (dropped)
        ctt_tool_say("%d more are expected to harm by over %g nats more than "
                     "the best of them, and are left out", dropped, HOPELESS);
}

/* ---- the race ---- */

/* What retraining leaves of the loss above that of the model as given is taken
 * to fall as a power of the steps (as errors do: Hestness and others 2017), by
 * the last two rungs: what is pruned loses most at first, and recovers most.
 * It falls no faster than the steps grow, and what has been seen once only is
 * taken as it is. */
static double at_end(const struct ctt_budget_run *r, const struct runner *u,
                     int rung)
{
    double base = r->base + u->int8, is = u->loss[rung] - base;
    double was = rung ? u->loss[rung - 1] - base : is, power, steps;

    if (!(is > 0) || !(was > is))
        return u->loss[rung];
    steps = r->j->c.budget_steps * pow(LONGER, rung);
    power = fmin(1, log(was / is) / log(LONGER));
    return base + is * pow(fmax(1, (double)r->steps / steps), -power);
}

static double rank_of(const struct runner *u)
{
    return isnan(u->ends) ? INFINITY : u->ends;
}

/* Takes a runner forward to another place. */
static void move_up(struct race *x, int from, int to)
{
    struct runner was = x->at[from];

    for (; from > to; from--)
        x->at[from] = x->at[from - 1];
    x->at[to] = was;
}

/* The first n after a rung, by insertion, as equal ones keep their places. */
static void sort(struct race *x, int n, int rung)
{
    for (int i = 0; i < n; i++) {
        int to = i;

        x->at[i].ends = at_end(x->r, &x->at[i], rung);
        while (to > 0 && rank_of(&x->at[i]) < rank_of(&x->at[to - 1]))
            to--;
        move_up(x, i, to);
    }
}

static int is_whole(const struct race *x, const struct runner *u)
{
    int whole = 1;

    for (int i = 0; i < x->r->s->weights; i++)
        whole &= !u->plan->part[i].form;
    return whole;
}

/* How many of n go on: the best third, and with them the best one that is not
 * factorised, as that is slowest to recover; it takes the place behind. */
static int go_on(struct race *x, int n)
{
    int best = (n + LONGER - 1) / LONGER, at = 0;

    while (at < n && !is_whole(x, &x->at[at]))
        at++;
    if (at >= n || at < best || isnan(x->at[at].ends))
        return best;
    move_up(x, at, best);
    return best + 1;
}

/* Values are not shared while it is retrained, as weights that have not
 * recovered yet would be held to their codebooks: in the whole retraining they
 * are shared at its end.  So they are shared after it, and retraining is
 * expected to leave as much of that harm as it leaves of whole weights'.  What
 * INT8 is expected to harm is added. */
static int retrain(struct race *x, struct ctt_budget_short *t,
                   struct runner *u, double *loss)
{
    int weights = x->r->s->weights, rc;
    struct ctt_part *bare = ctt_calloc((size_t)weights, sizeof(*bare));
    struct ctt_budget_then then = { .part = u->plan->part, .loss = NAN,
                                    .bytes = NAN };
    double is;

    CTT_TRY(bare ? 0 : CTT_ENOMEM);
    u->int8 = 0;
    for (int i = 0; i < weights; i++) {
        bare[i] = u->plan->part[i];
        u->int8 += ctt_part_harm(x->r->s, &bare[i], CTT_PART_INT8);
        bare[i].share = bare[i].int8 = NULL;
    }
    t->thin = u->plan->thin;
    t->part = bare;
    t->then = &then;
    t->thens = 1;
    CTT_TRY(ctt_budget_shortly(x->r, t, &is));
    *loss = is + u->int8;
    if (!(then.loss <= is))
        *loss += x->r->shared_left * (then.loss - is);
    u->plan->bytes = then.bytes;
out:
    ctt_free(bare);
    return rc;
}

static int rungs(const struct ctt_budget_run *r)
{
    int64_t most = (int64_t)r->j->c.budget_steps * LONGER * LONGER * PART;

    return most <= r->steps ? RUNGS : RUNGS - 1;
}

static int run(struct race *x)
{
    int steps = x->r->j->c.budget_steps, n = x->n, rc = 0;

    for (int rung = 0; rung < rungs(x->r) && (n > 1 || !rung); rung++) {
        for (int i = 0; i < n; i++) {
            struct runner *u = &x->at[i];
            struct ctt_budget_short t = { .steps = steps, .at = i + 1,
                .all = n, .what = u->way->name };

            CTT_TRY(retrain(x, &t, u, &u->loss[rung]));
        }
        sort(x, n, rung);
        n = go_on(x, n);
        steps *= LONGER;
    }
out:
    return rc;
}

static void add_row(const struct race *x, const struct runner *u, int n,
                    struct ctt_table *t)
{
    char costs[192], at[RUNGS][CTT_BUDGET_CELL], ends[CTT_BUDGET_CELL];
    char harm[CTT_BUDGET_CELL];

    ctt_budget_number(u->plan->thin > 0 ? NAN : harm_of(x, u->plan), harm);
    ctt_budget_costs(u->plan->tried.cost, costs, sizeof(costs));
    for (int k = 0; k < RUNGS; k++)
        ctt_budget_number(u->loss[k], at[k]);
    ctt_budget_number(isnan(u->loss[1]) ? NAN : u->ends, ends);
    if (n < RUNGS)
        ctt_table_row(t, "%s\t%s\t%s\t%s\t%s\t%s", u->way->name, costs,
                      harm, at[0], at[1], ends);
    else
        ctt_table_row(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s", u->way->name,
                      costs, harm, at[0], at[1], at[2], ends);
}

static int say(const struct race *x)
{
    int n = x->r->j->c.budget_steps, all = rungs(x->r), rc;
    struct ctt_table t = { NULL, 0, 0, 0 };

    if (all < RUNGS)
        ctt_table_row(&t, "mix\tcosts\tKL\tloss after %d steps\t%d\t"
                      "of all", n, n * LONGER);
    else
        ctt_table_row(&t, "mix\tcosts\tKL\tloss after %d steps\t%d\t%d\t"
                      "of all", n, n * LONGER, n * LONGER * LONGER);
    for (int i = 0; i < x->n; i++)
        add_row(x, &x->at[i], all, &t);
    ctt_tool_say("\nmixes within the limits, retrained for a few steps; the "
                 "best go on, and the best that is not factorised; KL: "
                 "expected, the sum over the weights; of all: expected after "
                 "all %" PRId64 " steps:", x->r->steps);
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

/* What a short retraining adds to the bytes is known: if a mix is
 * nearer to the limit by now than the rest may be, which came to 0.6 to 2.3%,
 * as much is taken off it, by changes that are as small as can be, as it is
 * what was retrained.  1: it is within the limit, or its bytes are not
 * known. */
#define SAFE 0.97
static int tighten(struct race *x, struct runner *u,
                   const struct ctt_aim_at *a, char *const *past, int pasts)
{
    double grows = u->plan->bytes / u->plan->tried.cost[CTT_COST_BYTES];
    struct ctt_budget_plan *p = NULL;
    struct ctt_aim_at to = *a;
    int rc = 1;

    if (!(u->plan->bytes > SAFE * a->most[CTT_COST_BYTES]))
        goto out;
    to.most[CTT_COST_BYTES] *= SAFE / grows;
    CTT_TRY(ctt_budget_trim(x->r, &to, u->plan, &p));
    rc = u->plan->bytes <= x->r->b.most[CTT_COST_BYTES];
    if (p && !is_past(p, past, pasts)) {
        ctt_tool_say("its bytes grow by %.1f%% in retraining, so it is changed "
                     "to have %.0f before", 100 * (grows - 1),
                     p->tried.cost[CTT_COST_BYTES]);
        p->bytes = p->tried.cost[CTT_COST_BYTES] * grows;
        p->origin = u->plan->mix;
        u->plan->mix = NULL;
        ctt_budget_plan_free(&u->plan);
        u->plan = p;
        p = NULL;
        rc = 1;
    }
out:
    ctt_budget_plan_free(&p);
    return rc;
}

/* The best one that is expected to keep the limit of bytes comes first; if none
 * is, the best. */
static int tighten_best(struct race *x, const struct ctt_aim_at *a,
                        char *const *past, int pasts)
{
    int rc = 0, fits;

    for (int i = 0; i < x->n && !isnan(x->at[i].ends); i++) {
        CTT_TRY(fits = tighten(x, &x->at[i], a, past, pasts));
        if (fits) {
            move_up(x, i, 0);
            break;
        }
    }
out:
    return rc < 0 ? rc : 0;
}

/* Hands over the best one. */
static void end(struct race *x, struct ctt_budget_plan **out)
{
    if (x->n > 0) {
        *out = x->at[0].plan;
        x->at[0].plan = NULL;
    }
    for (int i = 0; i < x->n; i++)
        ctt_budget_plan_free(&x->at[i].plan);
}

int ctt_budget_nearest(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                       struct ctt_budget_plan **out)
{
    struct race x = { .r = r, .first = 1 };
    int rc;

    r->rough = 1;
    rc = line_up(&x, a, NULL, 0);
    r->rough = 0;
    end(&x, out);
    return rc < 0 ? rc : 0;
}

int ctt_budget_race(struct ctt_budget_run *r, const struct ctt_aim_at *a,
                    char *const *past, int pasts, struct ctt_budget_plan **out)
{
    struct race x = { .r = r };
    int rc;

    CTT_TRY(line_up(&x, a, past, pasts));
    if (r->j->c.budget_steps)
        drop_hopeless(&x);
    if (x.n > 0 && r->j->c.budget_steps && ctt_budget_has_cost(&r->b)) {
        CTT_TRY(run(&x));
        CTT_TRY(say(&x));
        CTT_TRY(tighten_best(&x, a, past, pasts));
    }
out:
    end(&x, out);
    return rc < 0 ? rc : 0;
}
