/* SPDX-License-Identifier: Apache-2.0
 * assignment.c: what happens to each weight, as text and as settings of the
 * stages. */
#include "compress/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

struct text { char *to; size_t size, n; };

static void put(struct text *t, const char *words)
{
    if (t->n < t->size)
        t->n += (size_t)snprintf(t->to + t->n, t->size - t->n, "%s", words);
}

static void put_point(struct text *t, const struct ctt_sensitivity_point *p,
                      const char *before)
{
    char words[96];

    if (p->ladder->word)
        snprintf(words, sizeof(words), "%s%s", before, p->ladder->name);
    else
        snprintf(words, sizeof(words), "%s%s %g", before, p->ladder->name,
                 p->value);
    put(t, words);
}

const struct ctt_sensitivity_point *ctt_part_point(const struct ctt_part *p,
                                                   enum ctt_part_kind kind)
{
    const struct ctt_sensitivity_point *const of[] = { p->form, p->prune,
                                                       p->share, p->int8 };

    return of[kind];
}

static void put_thin(struct text *t, double thin)
{
    char words[40];

    snprintf(words, sizeof(words), "thin %g", thin);
    put(t, words);
}

void ctt_assignment_print(const struct ctt_sensitivity *s, double thin,
                          const struct ctt_part *part, char *text, size_t size)
{
    struct text t = { text, size, 0 };

    if (thin > 0)
        put_thin(&t, thin);
    for (int i = 0; i < s->weights; i++) {
        int some = 0;

        for (int k = 0; k < CTT_PART_KINDS; k++) {
            const struct ctt_sensitivity_point *p = ctt_part_point(&part[i], k);

            if (p && !some) {
                put(&t, t.n ? "; " : "");
                put(&t, s->weight[i].name);
            }
            if (p)
                put_point(&t, p, some++ ? ", " : ": ");
        }
    }
    if (!t.n)
        put(&t, CTT_ASSIGNMENT_NONE);
}

/* ---- settings ---- */

enum { SVD, SVD_NOT, TT, TT_NOT, PRUNE_NOT, SHARE, INT8_NOT, TEXTS };

struct ctt_assignment_recipe {
    struct ctt_recipe o;
    struct text       text[TEXTS];
    double            most[TEXTS];    /* of what a text says */
    double            share;          /* pruned, of all weights together but
                                         those with factors alone */
    const char       *form;           /* of pruning */
    int               int8;           /* 1: some weight reads bytes */
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

static void add_name(struct text *t, const char *name)
{
    put(t, t->n ? "," : "");
    put(t, name);
}

static void add(struct ctt_assignment_recipe *r, int k, const char *name,
                double x)
{
    char number[40];

    add_name(&r->text[k], name);
    snprintf(number, sizeof(number), "=%g", x);
    put(&r->text[k], number);
    r->most[k] = fmax(r->most[k], x);
}

static void add_part(struct ctt_assignment_recipe *r,
                     const struct ctt_sensitivity_weight *w,
                     const struct ctt_part *p)
{
    int svd = p->form && p->form->ladder->stage == &ctt_stage_svd;
    int tt = p->form && !svd;
    double fat = 1 - r->o.thin.share;

    if (svd)
        add(r, SVD, w->name,
            fmax(1, round(fat * ctt_sensitivity_number(p->form, w))));
    else
        add_name(&r->text[SVD_NOT], w->name);
    if (tt)
        add(r, TT, w->name, ctt_sensitivity_number(p->form, w));
    else
        add_name(&r->text[TT_NOT], w->name);
    if (p->form && !p->prune)
        add_name(&r->text[PRUNE_NOT], w->name);
    if (p->prune)
        r->share = fmax(r->share, p->prune->value);
    if (p->prune)
        r->form = strcmp(p->prune->ladder->name, "prune block") == 0 ? "block"
                                                                     : "any";
    if (p->share)
        add(r, SHARE, w->name, p->share->value);
    if (p->int8)
        r->int8 = 1;
    else
        add_name(&r->text[INT8_NOT], w->name);
}

/* A setting, if `asked`. */
static int set(struct ctt_assignment_recipe *r, const struct ctt_opt *tab,
               int asked, const char *name, const char *value)
{
    return asked && value[0] ? ctt_opt_set(tab, &r->o, name, value) : 0;
}

static int set_number(struct ctt_assignment_recipe *r,
                      const struct ctt_opt *tab, const char *name, double x)
{
    char text[40];

    snprintf(text, sizeof(text), "%g", x);
    return set(r, tab, x > 0, name, text);
}

/* least: values of a weight that is pruned. */
static int set_all(struct ctt_assignment_recipe *r, const struct ctt_opt *tab,
                   double least)
{
    struct text *t = r->text;
    int svd = t[SVD].n > 0, tt = t[TT].n > 0;
    int rc;

    CTT_TRY(set_number(r, tab, "svd-rank", r->most[SVD]));
    CTT_TRY(set(r, tab, svd, "svd-each", t[SVD].to));
    CTT_TRY(set(r, tab, svd, "svd-except", t[SVD_NOT].to));
    CTT_TRY(set(r, tab, svd, "svd-least", "1"));
    CTT_TRY(set_number(r, tab, "tt-rank", r->most[TT]));
    CTT_TRY(set(r, tab, tt, "tt-each", t[TT].to));
    CTT_TRY(set(r, tab, tt, "tt-except", t[TT_NOT].to));
    CTT_TRY(set(r, tab, tt, "tt-least", "1"));
    CTT_TRY(set(r, tab, tt, "tt-harm", "1"));
    CTT_TRY(set_number(r, tab, "prune", r->share));
    CTT_TRY(set_number(r, tab, "prune-least", least));
    CTT_TRY(set(r, tab, 1, "prune-keep", "0.001"));
    CTT_TRY(set(r, tab, r->share > 0, "prune-except", t[PRUNE_NOT].to));
    CTT_TRY(set(r, tab, 1, "prune-form", r->form ? r->form : "any"));
    CTT_TRY(set(r, tab, t[SHARE].n > 0, "share", t[SHARE].to));
    CTT_TRY(set(r, tab, t[SHARE].n > 0, "share-least", "1"));
    CTT_TRY(set(r, tab, 1, "int8", r->int8 ? "mse" : "none"));
    CTT_TRY(set(r, tab, r->int8, "int8-except", t[INT8_NOT].to));
    CTT_TRY(set(r, tab, r->int8, "int8-slow", "1"));
out:
    return rc;
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

int ctt_assignment_recipe(const struct ctt_sensitivity *s,
                          const struct ctt_part *part,
                          const struct ctt_recipe *given,
                          struct ctt_assignment_recipe **out)
{
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    struct ctt_assignment_recipe *r = ctt_calloc(1, sizeof(*r));
    size_t size = (size_t)s->weights * (CTT_NAME + 40) + 1;
    int n, rc = 0;

    CTT_TRY(r ? 0 : CTT_ENOMEM);
    r->o = *given;
    for (int k = 0; k < TEXTS; k++) {
        r->text[k] = (struct text){ ctt_calloc(size, 1), size, 0 };
        CTT_TRY(r->text[k].to ? 0 : CTT_ENOMEM);
    }
    CTT_TRY(n = ctt_recipe_options(0, tab, CTT_OPT_MAX));
    tab[n] = (struct ctt_opt){ .name = NULL };
    for (int i = 0; i < s->weights; i++)
        add_part(r, &s->weight[i], &part[i]);
    CTT_TRY(set_all(r, tab, (double)least_pruned(s)));
    *out = r;
    r = NULL;
out:
    ctt_assignment_recipe_free(&r);
    return rc < 0 ? rc : 0;
}
