/* SPDX-License-Identifier: Apache-2.0
 * recovery.c: corrects expected harm by retraining: some values of each option,
 * for all weights at once and for a few steps. */
#include "compress/search/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Losses below 0.02 nat are noise with a few hundred clips. */
#define LEAST 0.02
/* The same of shared values, which are tested on the same retrained model; and
 * how many times worse factors bear them at most. */
#define LEAST_SHARED 5e-4
#define MOST_TIMES 300
/* Bits above these harm too little to be told from chance. */
#define BITS 4
/* Nats of training that leads to no finite number. */
#define LOST 30
/* Where a guess loses less than this, half of it tells too little. */
#define TELLS 1.0

/* A value of a ladder for all weights that can have it. */
struct level {
    const struct ctt_ladder *l;
    int    value;      /* index */
    int    known;      /* 0: not retrained, as a milder value loses too much */
    double before;     /* expected harm of all of them, in nats */
    double left;       /* harm after retraining */
    double times[CTT_LADDER_MOST];    /* of factors: as in struct
                                         ctt_sensitivity_point, by value of
                                         sharing */
    double shared[CTT_LADDER_MOST];   /* harm that sharing adds; NAN: not
                                         measured */
};

enum { LEVELS = 32 };
struct recovery {
    struct ctt_budget_run *r;
    struct level       level[LEVELS];
    int                levels;
    double             chance;    /* nats that a guess loses */
};

static int is_usable(const struct ctt_sensitivity_point *p)
{
    return p->done && !p->why[0];
}

/* ---- the levels ---- */

/* Gives a weight the option of a point, if it is one of a level. */
static int assign(const struct ctt_budget_run *r, const struct level *x,
                  const struct ctt_sensitivity_point *p,
                  struct ctt_assignment *a)
{
    struct ctt_assigned *w = &a->weight[p->weight];

    if (p->ladder != x->l || ctt_sensitivity_step(p) != x->value ||
        !is_usable(p))
        return 0;
    if (x->l->kind == CTT_OPTION_FORM && ctt_is_large(r->s, p->weight))
        w->form = p;
    else if (x->l->kind == CTT_OPTION_SHARE)
        w->share = p;
    else if (x->l->kind == CTT_OPTION_PRUNE &&
             ctt_assignment_prunes(r->s, p->weight))
        w->pruned = 1;
    else
        return 0;
    return 1;
}

/* The assignment of a level, and its expected harm; *out NULL: no weight can
 * have it. */
static int level_assignment(const struct ctt_budget_run *r, struct level *x,
                            struct ctt_assignment **out)
{
    struct ctt_assignment *a = NULL;
    int some = 0, rc;

    *out = NULL;
    CTT_TRY(ctt_assignment_new(r->s, &a));
    x->before = 0;
    for (int i = 0; i < r->s->points; i++)
        if (assign(r, x, &r->s->point[i], a)) {
            x->before += r->s->point[i].fit;
            some = 1;
        }
    if (x->l->kind == CTT_OPTION_PRUNE) {
        a->pruning = x->l;
        a->prune = x->l->value[x->value];
    }
    if (some) {
        *out = a;
        a = NULL;
    }
out:
    ctt_free(a);
    return rc;
}

/* The point of a weight with these shared values; NULL: it cannot have them. */
static const struct ctt_sensitivity_point *
share_of(const struct ctt_sensitivity *s, int weight, int value)
{
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        if (p->weight == weight && p->ladder->kind == CTT_OPTION_SHARE &&
            ctt_sensitivity_step(p) == value && is_usable(p))
            return p;
    }
    return NULL;
}

/* a with shared values of everything that is factorised; *harm: their harm in
 * whole weights.  *out NULL: there are none. */
static int share_level(const struct ctt_budget_run *r,
                       const struct ctt_assignment *a, int value, double *harm,
                       struct ctt_assignment **out)
{
    int rc, some = 0;

    *harm = 0;
    CTT_TRY(ctt_assignment_copy(a, out));
    for (int i = 0; i < a->weights; i++) {
        const struct ctt_sensitivity_point *p = share_of(r->s, i, value);

        if (!a->weight[i].form || !p || p->value > BITS)
            continue;
        (*out)->weight[i].share = p;
        *harm += p->fit;
        some = 1;
    }
    if (!some) {
        ctt_free(*out);
        *out = NULL;
    }
out:
    return rc;
}

/* ---- measuring ---- */

/* Factors are shared at once after retraining, as they bear that worse. */
static int measure_level(struct recovery *h, struct level *x, int at,
                         const struct ctt_assignment *a)
{
    struct ctt_assignment *then[CTT_LADDER_MOST] = { NULL };
    double whole[CTT_LADDER_MOST];
    int value[CTT_LADDER_MOST], rc = 0;
    char what[80];
    struct ctt_short t = { .a = a, .what = what, .at = at,
                           .all = h->levels + 1, .steps = h->r->steps };

    snprintf(what, sizeof(what), "%s %g", x->l->name, x->l->value[x->value]);
    for (int k = 0; k < CTT_LADDER_MOST && x->l->kind == CTT_OPTION_FORM; k++) {
        CTT_TRY(share_level(h->r, a, k, &whole[t.thens], &then[t.thens]));
        if (then[t.thens]) {
            t.then[t.thens] = then[t.thens];
            value[t.thens++] = k;
        }
    }
    CTT_TRY(ctt_budget_short(h->r, &t));
    x->left = isnan(t.loss) ? LOST : t.loss - h->r->base;
    for (int i = 0; i < t.thens; i++) {
        double harm = isnan(t.then_loss[i]) ? LOST : t.then_loss[i] - t.loss;

        x->shared[value[i]] = harm;
        x->times[value[i]] = fmin(MOST_TIMES, fmax(1,
            fmax(harm, LEAST_SHARED) / fmax(whole[i], LEAST_SHARED)));
    }
out:
    for (size_t k = 0; k < CTT_LEN(then); k++)
        ctt_free(then[k]);
    return rc;
}

/* Values beyond one that loses half of what a guess does are of no use. */
static int is_lost(const struct recovery *h, const struct level *x)
{
    return x > h->level && x[-1].l == x->l && h->chance > TELLS &&
           x[-1].left > h->chance / 2;
}

/* Of each option that retraining repairs every second value back from the
 * strongest. */
static void list_levels(struct recovery *h)
{
    const struct ctt_ladder *l;

    for (int i = 0; (l = ctt_ladder(i)); i++) {
        if (l->kind == CTT_OPTION_INT8 || l->kind == CTT_OPTION_THIN ||
            (l->form == CTT_PRUNE_BLOCK && !h->r->timed))
            continue;
        for (int k = 1 + l->values % 2; k < l->values && h->levels < LEVELS;
             k += 2) {
            struct level *x = &h->level[h->levels++];

            *x = (struct level){ .l = l, .value = k };
            for (int j = 0; j < CTT_LADDER_MOST; j++)
                x->shared[j] = NAN;
        }
    }
}

static int measure(struct recovery *h)
{
    struct ctt_short t = { .what = "as given", .at = 1, .all = h->levels + 1,
                           .steps = h->r->steps };
    struct ctt_assignment *a = NULL;
    int rc;

    CTT_TRY(ctt_budget_short(h->r, &t));
    h->r->base = t.loss;
    h->chance = log(h->r->classes) - h->r->base;
    for (int i = 0; i < h->levels; i++) {
        struct level *x = &h->level[i];

        CTT_TRY(level_assignment(h->r, x, &a));
        x->known = a && !is_lost(h, x);
        if (x->known)
            CTT_TRY(measure_level(h, x, i + 2, a));
        else if (a)
            x->left = fmax(h->chance, x[-1].left);
        ctt_free(a);
        a = NULL;
    }
out:
    ctt_free(a);
    return rc;
}

/* ---- correcting ---- */

/* y at index x between the measured levels of a ladder, and as the nearest one
 * beyond them; NAN: none is measured. */
static double between(const struct recovery *h, const struct ctt_ladder *l,
                      double (*y_of)(const struct level *x, int k), int k,
                      int at)
{
    double low = NAN, high = NAN, x0 = 0, x1 = 0;

    for (int i = 0; i < h->levels; i++) {
        const struct level *x = &h->level[i];
        double y = x->l == l ? y_of(x, k) : NAN;

        if (isnan(y))
            continue;
        if (x->value <= at || isnan(low)) {
            low = y;
            x0 = x->value;
        }
        if (x->value >= at && isnan(high)) {
            high = y;
            x1 = x->value;
        }
    }
    if (isnan(high) || x1 <= x0 || at <= x0)
        return low;
    return low + (high - low) * (at - x0) / (x1 - x0);
}

/* The logarithm of the share of its harm that a level keeps.  Retraining is
 * expected to do no harm. */
static double kept(const struct level *x, int k)
{
    (void)k;
    return x->before > LEAST ? fmin(0, log(fmax(x->left, LEAST) / x->before))
                             : NAN;
}

/* The logarithm of times[k], or of that of the next fewer bits. */
static double times(const struct level *x, int k)
{
    for (; k < CTT_LADDER_MOST; k++)
        if (x->times[k] > 0)
            return log(x->times[k]);
    return NAN;
}

static void correct(struct recovery *h)
{
    struct ctt_sensitivity *s = h->r->s;

    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];
        int at = ctt_sensitivity_step(p);
        double y = between(h, p->ladder, kept, 0, at);

        p->fit *= isnan(y) ? 1 : exp(y);
        for (int k = 0; k < CTT_LADDER_MOST; k++) {
            y = between(h, p->ladder, times, k, at);
            p->shared[k] = isnan(y) ? 0 : exp(y);
        }
    }
    ctt_sensitivity_rise(s);
}

/* The share of the harm of shared values that retraining leaves. */
static double shared_left(const struct recovery *h)
{
    double before = 0, after = 0;

    for (int i = 0; i < h->levels; i++)
        if (h->level[i].l->kind == CTT_OPTION_SHARE && h->level[i].known) {
            before += h->level[i].before;
            after += fmax(h->level[i].left, 0);
        }
    return before > LEAST ? fmin(1, fmax(0.1, after / before)) : 1;
}

/* ---- the table ---- */

static const char *shared_text(const struct level *x, char text[96])
{
    const struct ctt_ladder *l = NULL;
    size_t n = 0;

    for (int i = 0; (l = ctt_ladder(i)) && l->kind != CTT_OPTION_SHARE; i++)
        ;
    snprintf(text, 96, "-");
    for (int k = 0; l && k < l->values; k++)
        if (!isnan(x->shared[k]) && n < 96)
            n += (size_t)snprintf(text + n, 96 - n, "%s%g: %.2f",
                                  n ? ", " : "", l->value[k], x->shared[k]);
    return text;
}

static int say(const struct recovery *h)
{
    struct ctt_budget_lines t = { NULL, 0 };
    char cell[2][CTT_BUDGET_CELL], shared[96], title[240];

    ctt_budget_lines_add(&t, "option\tat once\tretrained\tthen shared");
    for (int i = 0; i < h->levels; i++) {
        const struct level *x = &h->level[i];

        if (x->before > 0)
            ctt_budget_lines_add(&t, "%s %g\t%s\t%s\t%s", x->l->name,
                          x->l->value[x->value],
                          ctt_budget_number(x->before, cell[0]),
                          ctt_budget_number(x->known ? x->left : NAN, cell[1]),
                          shared_text(x, shared));
    }
    snprintf(title, sizeof(title), "the same option for all weights: loss in "
             "nats at once, after %d steps of retraining (-: a milder value "
             "loses over half of a guess, %.3f), and added by values of so "
             "many bits in factors:", h->r->steps, h->chance);
    return ctt_budget_lines_table(h->r, &t, title);
}

int ctt_budget_recovery(struct ctt_budget_run *r)
{
    struct recovery h = { .r = r };
    int rc = 0;

    r->shared_left = 1;
    if (!r->steps)
        return 0;
    list_levels(&h);
    CTT_TRY(measure(&h));
    CTT_TRY(say(&h));
    r->shared_left = shared_left(&h);
    correct(&h);
out:
    return rc;
}
