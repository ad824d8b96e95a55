/* SPDX-License-Identifier: Apache-2.0
 * assignment.c: an assignment as text, and as settings of the stages. */
#include "compress/search/assignment.h"
#include "compress/compress.h"
#include "compress/stage/range.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static size_t assignment_size(int weights)
{
    return sizeof(struct ctt_assignment) +
           (size_t)weights * sizeof(struct ctt_assigned);
}

int ctt_assignment_new(const struct ctt_sensitivity *s,
                       struct ctt_assignment **out)
{
    *out = ctt_calloc(1, assignment_size(s->weights));
    if (!*out)
        return CTT_ENOMEM;
    (*out)->weights = s->weights;
    return 0;
}

int ctt_assignment_retrains(const struct ctt_assignment *a)
{
    int some = a->thin > 0;

    for (int i = 0; i < a->weights; i++)
        some |= a->weight[i].form || a->weight[i].pruned;
    return some;
}

int ctt_assignment_changes(const struct ctt_assignment *a)
{
    int some = ctt_assignment_retrains(a);

    for (int i = 0; i < a->weights; i++)
        some |= a->weight[i].share || a->weight[i].int8;
    return some;
}

/* ---- text ---- */

struct text { char *to; size_t size, n; };

static void append(struct text *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct text *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (t->n < t->size)
        t->n += (size_t)vsnprintf(t->to + t->n, t->size - t->n, format, args);
    va_end(args);
}

static void append_weight(struct text *t, const char *name,
                          const struct ctt_assignment *a,
                          const struct ctt_assigned *w)
{
    const char *gap = ": ";

    if (!w->form && !w->pruned && !w->share && !w->int8)
        return;
    append(t, "%s%s", t->n ? "; " : "", name);
    if (w->form)
        append(t, "%s%s %g", gap, w->form->ladder->name, w->form->value);
    gap = w->form ? ", " : gap;
    if (w->pruned)
        append(t, "%s%s %g", gap, a->pruning->name, a->prune);
    gap = w->pruned ? ", " : gap;
    if (w->share)
        append(t, "%sshare %g", gap, w->share->value);
    gap = w->share ? ", " : gap;
    if (w->int8)
        append(t, "%sint8", gap);
}

void ctt_assignment_print(const struct ctt_sensitivity *s,
                          const struct ctt_assignment *a, char *text,
                          size_t size)
{
    struct text t = { text, size, 0 };

    if (a->thin > 0)
        append(&t, "thin %g", a->thin);
    for (int i = 0; i < s->weights; i++)
        append_weight(&t, s->weight[i].name, a, &a->weight[i]);
    if (!t.n)
        append(&t, CTT_ASSIGNMENT_NONE);
}

/* ---- settings ---- */

enum { SVD, SVD_NOT, TT, TT_NOT, PRUNE_NOT, SHARE, INT8_NOT, TEXTS };

struct ctt_assignment_recipe {
    struct ctt_recipe o;
    struct text       text[TEXTS];
};

void ctt_assignment_recipe_free(struct ctt_assignment_recipe **r)
{
    if (!*r)
        return;
    for (int k = 0; k < TEXTS; k++)
        ctt_free((*r)->text[k].to);
    ctt_free(*r);
    *r = NULL;
}

const struct ctt_recipe *
ctt_assignment_settings(const struct ctt_assignment_recipe *r)
{
    return &r->o;
}

static void append_name(struct text *t, const char *name)
{
    append(t, "%s%s", t->n ? "," : "", name);
}

/* "NAME=X" at the end; returns the larger of x and most. */
static int append_value(struct text *t, const char *name, double x, int most)
{
    append(t, "%s%s=%g", t->n ? "," : "", name, x);
    return x > most ? (int)x : most;
}

static void append_settings(struct ctt_assignment_recipe *r,
                            const struct ctt_sensitivity_weight *w,
                            const struct ctt_assigned *a)
{
    int svd = a->form && a->form->ladder->of_rank, tt = a->form && !svd;
    struct ctt_recipe *o = &r->o;
    struct text *t = r->text;

    if (svd)
        o->svd.rank = append_value(&t[SVD], w->name,
            fmax(1, round((1 - o->thin.share) *
                          ctt_sensitivity_number(a->form, w))), o->svd.rank);
    else
        append_name(&t[SVD_NOT], w->name);
    if (tt)
        o->tt.rank = append_value(&t[TT], w->name, a->form->value, o->tt.rank);
    else
        append_name(&t[TT_NOT], w->name);
    if (!a->pruned)
        append_name(&t[PRUNE_NOT], w->name);
    if (a->share)
        append_value(&t[SHARE], w->name, a->share->value, 0);
    if (a->int8)
        o->int8.method = 1 + CTT_RANGE_MSE;
    else
        append_name(&t[INT8_NOT], w->name);
}

/* Small weights are worth few bytes; of a small model none is small. */
static int64_t least_pruned(const struct ctt_sensitivity *s)
{
    int64_t all = 0;

    for (int i = 0; i < s->weights; i++)
        all += s->weight[i].params;
    all /= 1000;
    return all < 1 ? 1 : all > 4096 ? 4096 : all;
}

int ctt_assignment_prunes(const struct ctt_sensitivity *s, int weight)
{
    return s->weight[weight].params >= least_pruned(s);
}

static const char *if_any(const struct text *t, int some)
{
    return some ? t->to : NULL;
}

static void set_all(const struct ctt_sensitivity *s,
                    const struct ctt_assignment *a,
                    struct ctt_assignment_recipe *r)
{
    struct ctt_recipe *o = &r->o;
    struct text *t = r->text;

    o->thin.share = (float)a->thin;
    o->svd.rank = o->tt.rank = o->int8.method = 0;
    for (int i = 0; i < s->weights; i++)
        append_settings(r, &s->weight[i], &a->weight[i]);
    o->svd.least = o->tt.least = o->share.least = o->int8.slow = 1;
    o->svd.each = if_any(&t[SVD], o->svd.rank > 0);
    o->svd.except = if_any(&t[SVD_NOT], o->svd.rank > 0);
    o->tt.each = if_any(&t[TT], o->tt.rank > 0);
    o->tt.except = if_any(&t[TT_NOT], o->tt.rank > 0);
    o->tt.harm = 1;    /* a weight is factorised whatever that costs alone */
    o->prune.share = (float)a->prune;
    o->prune.least = (int)least_pruned(s);
    o->prune.floor = 0.001f;
    o->prune.form = a->pruning ? a->pruning->form : CTT_PRUNE_ANY;
    o->prune.except = if_any(&t[PRUNE_NOT], a->prune > 0);
    o->share.bits = if_any(&t[SHARE], t[SHARE].n > 0);
    o->int8.except = if_any(&t[INT8_NOT], o->int8.method > 0);
}

int ctt_assignment_recipe(const struct ctt_sensitivity *s,
                          const struct ctt_assignment *a,
                          const struct ctt_recipe *given,
                          struct ctt_assignment_recipe **out)
{
    struct ctt_assignment_recipe *r = ctt_calloc(1, sizeof(*r));
    size_t size = (size_t)s->weights * (CTT_NAME + 40) + 1;
    int rc = 0;

    CTT_TRY(r ? 0 : CTT_ENOMEM);
    r->o = *given;
    for (int k = 0; k < TEXTS; k++) {
        r->text[k] = (struct text){ ctt_calloc(size, 1), size, 0 };
        CTT_TRY(r->text[k].to ? 0 : CTT_ENOMEM);
    }
    set_all(s, a, r);
    *out = r;
    r = NULL;
out:
    ctt_assignment_recipe_free(&r);
    return rc;
}
