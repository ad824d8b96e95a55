/* SPDX-License-Identifier: Apache-2.0
 * recovery.c: corrects expected harm by retraining: some values of each option,
 * for all weights at once and for a few steps. */
#include "compress/search/search.h"

#include <math.h>
#include <stdio.h>

/* Losses below 0.02 nat are noise with a few hundred clips. */
#define LEAST 0.02
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
};

enum { LEVELS = 32 };
struct recovery {
    struct ctt_budget_run *r;
    struct level           level[LEVELS];
    int                    levels;
    double                 base;      /* loss of the original, retrained
                                         as long */
    double                 chance;    /* nats that a guess loses */
};

/* ---- the levels ---- */

/* Every second value back from the strongest of each option that retraining
 * repairs. */
static void list_levels(struct recovery *h)
{
    const struct ctt_ladder *l;

    for (int i = 0; (l = ctt_ladder(i)); i++) {
        if (l->kind == CTT_OPTION_INT8 || l->kind == CTT_OPTION_THIN ||
            (l->form == CTT_PRUNE_BLOCK && !h->r->timed))
            continue;
        for (int k = 1 + l->values % 2; k < l->values && h->levels < LEVELS;
             k += 2)
            h->level[h->levels++] = (struct level){ .l = l, .value = k };
    }
}

/* Gives a weight the option of a point, if it is one of a level. */
static int assign_point(const struct ctt_budget_run *r, const struct level *x,
                        const struct ctt_sensitivity_point *p,
                        struct ctt_assignment *a)
{
    struct ctt_assigned *w = &a->weight[p->weight];

    if (p->ladder != x->l || ctt_sensitivity_step(p) != x->value ||
        !ctt_sensitivity_usable(p))
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

/* The assignment of a level, and its expected harm. */
static int level_assignment(const struct ctt_budget_run *r, struct level *x,
                            struct ctt_assignment **out)
{
    int rc;

    CTT_TRY(ctt_assignment_new(r->s, out));
    for (int i = 0; i < r->s->points; i++)
        if (assign_point(r, x, &r->s->point[i], *out))
            x->before += r->s->point[i].fit;
    if (x->l->kind == CTT_OPTION_PRUNE) {
        (*out)->pruning = x->l;
        (*out)->prune = x->l->value[x->value];
    }
out:
    return rc;
}

/* ---- measuring ---- */

/* The loss of an assignment after a few steps, LOST if it has none. */
static int measure_loss(const struct recovery *h, const char *what, int at,
                        const struct ctt_assignment *a, double *loss)
{
    struct ctt_short t = { .a = a, .what = what, .at = at,
                           .all = h->levels + 1, .steps = h->r->steps };
    int rc = ctt_budget_short(h->r, &t);

    *loss = isnan(t.loss) ? LOST : t.loss;
    return rc;
}

/* Values beyond one that loses half of what a guess does are of no use. */
static int is_lost(const struct recovery *h, const struct level *x)
{
    return x > h->level && x[-1].l == x->l && h->chance > TELLS &&
           x[-1].left > h->chance / 2;
}

static int measure_level(struct recovery *h, int i)
{
    struct level *x = &h->level[i];
    struct ctt_assignment *a = NULL;
    char what[80];
    int rc;

    CTT_TRY(level_assignment(h->r, x, &a));
    x->known = x->before > 0 && !is_lost(h, x);
    if (is_lost(h, x))
        x->left = fmax(h->chance, x[-1].left);
    if (!x->known)
        goto out;
    snprintf(what, sizeof(what), "%s %g", x->l->name, x->l->value[x->value]);
    CTT_TRY(measure_loss(h, what, i + 2, a, &x->left));
    x->left -= h->base;
out:
    ctt_free(a);
    return rc;
}

static int measure_levels(struct recovery *h)
{
    struct ctt_assignment *none = NULL;
    int rc;

    CTT_TRY(ctt_assignment_new(h->r->s, &none));
    CTT_TRY(measure_loss(h, "original", 1, none, &h->base));
    h->chance = log(h->r->classes) - h->base;
    for (int i = 0; i < h->levels; i++)
        CTT_TRY(measure_level(h, i));
out:
    ctt_free(none);
    return rc;
}

/* ---- correcting ---- */

/* The logarithm of the share of its harm that a level keeps; NAN: too little
 * harm.  Retraining is expected to do none. */
static double log_kept(const struct level *x)
{
    return x->before > LEAST ? fmin(0, log(fmax(x->left, LEAST) / x->before))
                             : NAN;
}

/* That of value `at` of a ladder: between its levels, and as the nearest one
 * beyond them; NAN: none is known. */
static double interpolated(const struct recovery *h, const struct ctt_ladder *l,
                           int at)
{
    double low = NAN, high = NAN, x0 = 0, x1 = 0;

    for (int i = 0; i < h->levels; i++) {
        const struct level *x = &h->level[i];
        double y = x->l == l ? log_kept(x) : NAN;

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

static void correct_fits(struct recovery *h)
{
    struct ctt_sensitivity *s = h->r->s;

    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];
        double y = interpolated(h, p->ladder, ctt_sensitivity_step(p));

        p->fit *= isnan(y) ? 1 : exp(y);
    }
    ctt_sensitivity_rise(s);
}

static int tell_levels(const struct recovery *h)
{
    char *rows = NULL, cell[2][CTT_BUDGET_CELL], title[200];
    int rc;

    CTT_TRY(ctt_budget_add_row(&rows, "option\tat once\tretrained"));
    for (int i = 0; i < h->levels; i++) {
        const struct level *x = &h->level[i];

        if (x->before > 0)
            CTT_TRY(ctt_budget_add_row(&rows, "%s %g\t%s\t%s", x->l->name,
                x->l->value[x->value], ctt_budget_number(x->before, cell[0]),
                ctt_budget_number(x->known ? x->left : NAN, cell[1])));
    }
    snprintf(title, sizeof(title), "the same option for all weights: loss in "
             "nats at once, and after %d steps of retraining (-: a milder "
             "value loses over half of a guess, %.3f):", h->r->steps,
             h->chance);
    rc = h->r->calls->table(h->r->calls->arg, title, rows);
out:
    ctt_free(rows);
    return rc;
}

int ctt_budget_recovery(struct ctt_budget_run *r)
{
    struct recovery h = { .r = r };
    int rc = 0;

    if (!r->steps)
        return 0;
    list_levels(&h);
    CTT_TRY(measure_levels(&h));
    CTT_TRY(tell_levels(&h));
    correct_fits(&h);
out:
    return rc;
}
