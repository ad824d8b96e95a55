/* SPDX-License-Identifier: Apache-2.0
 * menu_bytes.c: the bytes that each weight has as it is stored, factorised,
 * pruned and shared in all ways; of some ways measured, of the others between
 * them. */
#include "compress/menu.h"
#include "compress/trial.h"
#include "net/newfile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct measuring {
    const struct ctt_sense   *s;
    const struct ctt_model   *m;       /* as given, or factorised */
    const struct ctt_stage   *done;    /* the last that has run on it; or NULL */
    int                       form;    /* index */
    const struct ctt_recipe  *o;
    const char               *path;
    const struct ctt_choices *can;
    struct ctt_menu_bytes    *b;
    struct ctt_part          *part;    /* by weight, to work with */
    struct ctt_report        *rows;    /* of the model as given, by its names */
};

static int64_t *bytes_at(const struct ctt_menu_bytes *b, int weight, int form,
                         int prune, int share)
{
    int at = weight * CTT_CHOICES + form;

    return &b->of[(at * CTT_CHOICES + prune) * CTT_CHOICES + share];
}

double ctt_menu_bytes_of(const struct ctt_menu_bytes *b, int weight,
                         const int k[CTT_PART_KINDS])
{
    double sum = (double)*bytes_at(b, weight, k[CTT_PART_FORM],
                                   k[CTT_PART_PRUNE], k[CTT_PART_SHARE]);

    if (k[CTT_PART_FORM])
        sum += b->form[k[CTT_PART_FORM]];
    return k[CTT_PART_INT8] ? sum + b->int8[weight] : sum;
}

int ctt_choices_most(const struct ctt_choices *can, int weights, int kind)
{
    int most = 1;

    for (int i = 0; i < weights; i++)
        most = can[i].n[kind] > most ? can[i].n[kind] : most;
    return most;
}

/* ---- measured ---- */

/* The same values for all weights that can have them; 0: none can have both. */
static int fill_parts(const struct measuring *a, int prune, int share)
{
    int some = 0;

    for (int i = 0; i < a->s->weights; i++) {
        const struct ctt_choices *c = &a->can[i];

        a->part[i] = (struct ctt_part){ .form = NULL };
        if (a->form < c->n[CTT_PART_FORM])
            a->part[i].form = c->p[CTT_PART_FORM][a->form];
        if (prune < c->n[CTT_PART_PRUNE])
            a->part[i].prune = c->p[CTT_PART_PRUNE][prune];
        if (share < c->n[CTT_PART_SHARE])
            a->part[i].share = c->p[CTT_PART_SHARE][share];
        some |= prune < c->n[CTT_PART_PRUNE] && share < c->n[CTT_PART_SHARE];
    }
    return some;
}

static int try_parts(const struct measuring *a, struct ctt_trial *t)
{
    struct ctt_mix_recipe *r = NULL;
    int rc;

    CTT_TRY(ctt_mix_recipe(a->s, a->part, a->o, &r));
    CTT_TRY(ctt_trial_recipe(a->m, a->done, ctt_mix_settings(r), a->path, t));
out:
    ctt_mix_recipe_free(&r);
    return rc;
}

/* Of a weight and its cores. */
static int64_t stored(const struct measuring *a, const struct ctt_trial *t,
                      int weight)
{
    const char *name = a->s->weight[weight].name;

    for (int i = 0; i < a->rows->weights; i++) {
        struct ctt_weight_row row = a->rows->weight[i];

        if (a->part[weight].form)
            row.cores = CTT_MAX_CORES;
        if (strcmp(row.name, name) == 0)
            return ctt_trial_weight(t, &row);
    }
    return 0;
}

static int measure(const struct measuring *a, int prune, int share)
{
    struct ctt_trial t = { .file = NULL };
    double sum = 0;
    int rc = 0;

    if (!fill_parts(a, prune, share))
        goto out;
    CTT_TRY(try_parts(a, &t));
    for (int i = 0; i < a->s->weights; i++) {
        int64_t n = stored(a, &t, i);

        *bytes_at(a->b, i, a->form, prune, share) = n;
        sum += (double)n;
    }
    if (!prune && !share)
        a->b->form[a->form] = (double)t.bytes - sum;
out:
    ctt_trial_drop(&t);
    return rc;
}

/* ---- between ---- */

/* Whether this value of pruning is coded: the first, and of those of the ladder
 * each second one, of factors each fourth, and the last.  Coding takes its time,
 * and the others lie between. */
static int is_coded(const struct measuring *a, const struct ctt_choices *c,
                    int k)
{
    const struct ctt_sense_point *p = c->p[CTT_PART_PRUNE][k];
    int step = p ? ctt_sense_step(p) : 0, each = a->form ? 4 : 2, last;

    if (!p || k == 1)
        return 1;
    last = p->ladder->values - 1;
    return fabs(p->ladder->value[step] - p->value) < 1e-9 &&
           (step % each == each - 1 || step == last);
}

static double kept(const struct ctt_choices *c, int k)
{
    return k ? 1 - c->p[CTT_PART_PRUNE][k]->value : 1;
}

/* Bytes of a weight between two shares, by the logarithms of bytes and of the
 * values that are kept. */
static void set_between(const struct measuring *a, int weight, int prune,
                        int share)
{
    const struct ctt_choices *c = &a->can[weight];
    int low = prune - 1, high = prune + 1, n = c->n[CTT_PART_PRUNE];
    double below, above, t;

    while (!is_coded(a, c, low))
        low--;
    while (high < n && !is_coded(a, c, high))
        high++;
    below = (double)*bytes_at(a->b, weight, a->form, low, share);
    above = high < n ? (double)*bytes_at(a->b, weight, a->form, high, share)
                     : 0;
    t = log(kept(c, prune) / kept(c, low));
    if (below >= 1 && above >= 1)
        t *= log(above / below) / log(kept(c, high) / kept(c, low));
    *bytes_at(a->b, weight, a->form, prune, share) =
        (int64_t)round(below * exp(t));
}

static int any_coded(const struct measuring *a, int prune)
{
    for (int i = 0; i < a->s->weights; i++)
        if (prune < a->can[i].n[CTT_PART_PRUNE] &&
            is_coded(a, &a->can[i], prune))
            return 1;
    return 0;
}

static int measure_values(const struct measuring *a)
{
    int prunes = ctt_choices_most(a->can, a->s->weights, CTT_PART_PRUNE);
    int shares = ctt_choices_most(a->can, a->s->weights, CTT_PART_SHARE);
    int rc = 0;

    for (int p = 0; p < prunes; p++)
        for (int b = 0; b < shares && any_coded(a, p); b++)
            CTT_TRY(measure(a, p, b));
    for (int i = 0; i < a->s->weights; i++)
        for (int p = 0; p < a->can[i].n[CTT_PART_PRUNE]; p++)
            for (int b = 0; b < shares && !is_coded(a, &a->can[i], p); b++)
                set_between(a, i, p, b);
out:
    return rc;
}

/* ---- factors ---- */

/* The model with these factors of all weights that can have them. */
static int factorise(struct measuring *a, struct ctt_model **out)
{
    struct ctt_trial t = { .file = NULL };
    int rc;

    fill_parts(a, 0, 0);
    CTT_TRY(try_parts(a, &t));
    CTT_TRY(ctt_model_load(ctt_newfile_temp(t.file), 0, out));
out:
    ctt_trial_drop(&t);
    return rc;
}

/* What the text of cores adds, of each weight the same. */
static void set_form(const struct measuring *a)
{
    double *form = a->b->form;
    int n = 0;

    for (int i = 0; i < a->s->weights; i++)
        n += a->form < a->can[i].n[CTT_PART_FORM];
    if (a->form && n)
        form[a->form] = fmax(0, form[a->form] - form[0]) / n;
}

/* Factors that leave more of all values than this are not coded, as that takes
 * long: they have the bytes of as many values of the whole weight. */
#define LARGE 0.3
static int is_large(const struct measuring *a)
{
    double all = 0, left = 0;

    for (int i = 0; i < a->s->weights; i++) {
        const struct ctt_choices *c = &a->can[i];
        double n = (double)a->s->weight[i].params;

        if (a->form >= c->n[CTT_PART_FORM])
            continue;
        all += n;
        left += n * ctt_sense_left(a->s, c->p[CTT_PART_FORM][a->form]);
    }
    return left > LARGE * all;
}

static void scale(const struct measuring *a)
{
    for (int i = 0; i < a->s->weights; i++) {
        const struct ctt_choices *c = &a->can[i];
        double left = a->form < c->n[CTT_PART_FORM]
            ? ctt_sense_left(a->s, c->p[CTT_PART_FORM][a->form]) : 1;

        for (int p = 0; p < c->n[CTT_PART_PRUNE]; p++)
            for (int b = 0; b < c->n[CTT_PART_SHARE]; b++)
                *bytes_at(a->b, i, a->form, p, b) = (int64_t)
                    round(left * (double)*bytes_at(a->b, i, 0, p, b));
    }
}

static int measure_form(struct measuring *a, int form)
{
    const struct ctt_model *given = a->m;
    struct ctt_model *m = NULL;
    int rc = 0;

    a->form = form;
    if (form && is_large(a)) {
        scale(a);
        goto out;
    }
    if (form) {
        CTT_TRY(factorise(a, &m));
        a->m = m;
        a->done = &ctt_stage_tt;
    }
    CTT_TRY(measure_values(a));
    set_form(a);
out:
    a->m = given;
    a->done = NULL;
    a->form = 0;
    ctt_model_free(&m);
    return rc;
}

/* ---- INT8 ---- */

/* What INT8 of each weight adds: a node, its range, and scales.  Of a model
 * with little else, as that is coded fast. */
static int measure_int8(const struct measuring *a)
{
    int n = a->s->weights, rc = 0;
    struct ctt_trial t = { .file = NULL };
    double without = NAN;

    fill_parts(a, ctt_choices_most(a->can, n, CTT_PART_PRUNE) - 1,
               ctt_choices_most(a->can, n, CTT_PART_SHARE) - 1);
    for (int i = -1; i < n; i++) {
        if (i >= 0 && a->can[i].n[CTT_PART_INT8] < 2)
            continue;
        if (i >= 0)
            a->part[i].int8 = a->can[i].p[CTT_PART_INT8][1];
        CTT_TRY(try_parts(a, &t));
        if (i < 0) {
            without = (double)t.bytes;
        } else {
            a->b->int8[i] = (double)t.bytes - without;
            a->part[i].int8 = NULL;
        }
        ctt_trial_drop(&t);
    }
out:
    ctt_trial_drop(&t);
    return rc;
}

/* ---- all ---- */

int ctt_menu_bytes(const struct ctt_sense *s, const struct ctt_model *m,
                   const struct ctt_recipe *o, const char *path,
                   const struct ctt_choices *can, struct ctt_menu_bytes *b)
{
    struct measuring a = { .s = s, .m = m, .o = o, .path = path, .can = can,
                           .b = b };
    size_t n = (size_t)s->weights * CTT_CHOICES;
    int rc = 0;

    *b = (struct ctt_menu_bytes){ .of = NULL };
    a.part = ctt_calloc((size_t)s->weights, sizeof(*a.part));
    b->of = ctt_calloc(n * CTT_CHOICES * CTT_CHOICES, sizeof(*b->of));
    b->int8 = ctt_calloc((size_t)s->weights, sizeof(*b->int8));
    CTT_TRY(a.part && b->of && b->int8 ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_report_new(m, &a.rows));
    for (int f = 0; f < ctt_choices_most(can, s->weights, CTT_PART_FORM); f++)
        CTT_TRY(measure_form(&a, f));
    if (ctt_choices_most(can, s->weights, CTT_PART_INT8) > 1)
        CTT_TRY(measure_int8(&a));
out:
    ctt_report_free(&a.rows);
    ctt_free(a.part);
    return rc;
}

void ctt_menu_bytes_free(struct ctt_menu_bytes *b)
{
    ctt_free(b->of);
    ctt_free(b->int8);
    *b = (struct ctt_menu_bytes){ .of = NULL };
}
