/* SPDX-License-Identifier: Apache-2.0
 * savings_bytes.c: the bytes that each weight has as it is stored, factorised,
 * pruned and shared in all ways; of some ways measured, of the others between
 * them. */
#include "compress/search/savings.h"
#include "compress/trial.h"
#include "base/newfile.h"

#include <math.h>
#include <string.h>

struct measuring {
    const struct ctt_sensitivity   *s;
    const struct ctt_model   *m;       /* as given, or factorised */
    const struct ctt_stage   *done;    /* the last that has run on it; or
                                          NULL */
    int                       form;    /* place */
    const struct ctt_recipe  *o;
    const char               *path;
    const struct ctt_choices *can;
    const struct ctt_savings_calls *calls;
    int                       trial, trials;
    struct ctt_savings_bytes    *b;
    struct ctt_part          *part;    /* by weight, to work with */
    struct ctt_report        *rows;    /* of the model as given, by its
                                          names */
};

static int64_t *bytes_at(const struct ctt_savings_bytes *b, int weight,
                         int form, int prune, int share)
{
    int at = weight * CTT_CHOICES + form;

    return &b->of[(at * CTT_CHOICES + prune) * CTT_CHOICES + share];
}

double ctt_savings_bytes_of(const struct ctt_savings_bytes *b, int weight,
                            const int k[CTT_PART_KINDS])
{
    int form = k[CTT_PART_FORM];
    double sum = (double)*bytes_at(b, weight, form, k[CTT_PART_PRUNE],
                                   k[CTT_PART_SHARE]);

    if (form)
        sum += b->form[form];
    return k[CTT_PART_INT8] ? sum + b->int8[weight] : sum;
}

/* ---- measured ---- */

/* The values at these places for all weights that have them; 0: none has
 * both. */
static int fill_parts(const struct measuring *a, int prune, int share)
{
    int some = 0;

    for (int i = 0; i < a->s->weights; i++) {
        const struct ctt_choices *c = &a->can[i];

        a->part[i] = (struct ctt_part){ c->p[CTT_PART_FORM][a->form],
            c->p[CTT_PART_PRUNE][prune], c->p[CTT_PART_SHARE][share], NULL };
        some |= ctt_choice_is(c, CTT_PART_PRUNE, prune) &&
                ctt_choice_is(c, CTT_PART_SHARE, share);
    }
    return some;
}

static int try_parts(struct measuring *a, struct ctt_trial *t)
{
    struct ctt_assignment_recipe *r = NULL;
    int rc;

    if (a->calls)
        CTT_TRY(a->calls->begin(a->calls->arg, a->trial++, a->trials));
    CTT_TRY(ctt_assignment_recipe(a->s, a->part, a->o, &r));
    CTT_TRY(ctt_trial_recipe(a->m, a->done, ctt_assignment_settings(r), a->path,
                             t));
out:
    ctt_assignment_recipe_free(&r);
    return rc;
}

/* Of a weight and its cores. */
static int64_t stored(const struct measuring *a, const struct ctt_trial *t,
                      int weight)
{
    const char *name = a->s->weight[weight].name;

    for (int i = 0; i < a->rows->weights; i++)
        if (strcmp(a->rows->weight[i].name, name) == 0) {
            struct ctt_weight_row row = a->rows->weight[i];

            if (a->part[weight].form)
                row.cores = CTT_MAX_CORES;
            return ctt_trial_weight(t, &row);
        }
    return 0;
}

static double rest_of(const struct measuring *a, const struct ctt_trial *t)
{
    double rest = (double)t->bytes;

    for (int i = 0; i < a->s->weights; i++)
        rest -= (double)stored(a, t, i);
    return rest;
}

static int measure(struct measuring *a, int prune, int share)
{
    struct ctt_trial t = { .file = NULL };
    int rc = 0;

    if (!fill_parts(a, prune, share))
        goto out;
    CTT_TRY(try_parts(a, &t));
    for (int i = 0; i < a->s->weights; i++)
        *bytes_at(a->b, i, a->form, prune, share) = stored(a, &t, i);
    if (!a->form && !prune && !share)
        a->b->form[0] = rest_of(a, &t);
out:
    ctt_trial_drop(&t);
    return rc;
}

/* ---- between ---- */

static int first_prune(const struct ctt_choices *c)
{
    int k = 1;

    while (k < CTT_CHOICES && !c->p[CTT_PART_PRUNE][k])
        k++;
    return k;
}

static int last_prune(const struct ctt_choices *c)
{
    int k = CTT_CHOICES - 1;

    while (k > 0 && !c->p[CTT_PART_PRUNE][k])
        k--;
    return k;
}

/* Whether this value of pruning is coded: none, the first and the last, and of
 * those of the ladder each second one, of factors each fourth.  Coding takes
 * its time, and the others lie between. */
static int is_coded(const struct measuring *a, const struct ctt_choices *c,
                    int k)
{
    const struct ctt_sensitivity_point *p = c->p[CTT_PART_PRUNE][k];
    int each = a->form ? 4 : 2;

    if (!k || k == first_prune(c) || k == last_prune(c))
        return ctt_choice_is(c, CTT_PART_PRUNE, k);
    return p && ctt_sensitivity_is_step(p) &&
           ctt_sensitivity_step(p) % each == each - 1;
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
    int low = prune - 1, high = prune + 1;
    double below, above, t;

    while (!is_coded(a, c, low))
        low--;
    while (high < CTT_CHOICES && !is_coded(a, c, high))
        high++;
    below = (double)*bytes_at(a->b, weight, a->form, low, share);
    above = high < CTT_CHOICES
        ? (double)*bytes_at(a->b, weight, a->form, high, share) : 0;
    t = log(kept(c, prune) / kept(c, low));
    if (below >= 1 && above >= 1)
        t *= log(above / below) / log(kept(c, high) / kept(c, low));
    *bytes_at(a->b, weight, a->form, prune, share) =
        (int64_t)round(below * exp(t));
}

static int any_coded(const struct measuring *a, int prune)
{
    for (int i = 0; i < a->s->weights; i++)
        if (is_coded(a, &a->can[i], prune))
            return 1;
    return 0;
}

static int any_has(const struct measuring *a, int kind, int place)
{
    for (int i = 0; i < a->s->weights; i++)
        if (ctt_choice_is(&a->can[i], kind, place))
            return 1;
    return 0;
}

/* With all values of sharing. */
static int measure_coded(struct measuring *a)
{
    int rc = 0;

    for (int p = 0; p < CTT_CHOICES; p++) {
        if (!any_coded(a, p))
            continue;
        for (int b = 0; b < CTT_CHOICES; b++)
            if (any_has(a, CTT_PART_SHARE, b))
                CTT_TRY(measure(a, p, b));
    }
out:
    return rc;
}

static void set_others(const struct measuring *a)
{
    for (int i = 0; i < a->s->weights; i++)
        for (int p = 1; p < CTT_CHOICES; p++)
            for (int b = 0; b < CTT_CHOICES; b++)
                if (a->can[i].p[CTT_PART_PRUNE][p] &&
                    !is_coded(a, &a->can[i], p))
                    set_between(a, i, p, b);
}

/* ---- factors ---- */

/* The model with these factors of all weights that can have them; what their
 * text adds is of each weight the same. */
static int factorise(struct measuring *a, struct ctt_model **out)
{
    struct ctt_trial t = { .file = NULL };
    double *form = a->b->form;
    int rc, n = 0;

    fill_parts(a, 0, 0);
    for (int i = 0; i < a->s->weights; i++)
        n += a->part[i].form != NULL;
    CTT_TRY(try_parts(a, &t));
    form[a->form] = fmax(0, rest_of(a, &t) - form[0]) / n;
    CTT_TRY(ctt_model_load(ctt_newfile_temp(t.file), 0, out));
out:
    ctt_trial_drop(&t);
    return rc;
}

/* Factors that leave more of all values than this are not coded, as that takes
 * long: they have the bytes of as many values of the whole weight. */
#define LARGE 0.3
static int is_large(const struct measuring *a)
{
    double all = 0, left = 0;

    for (int i = 0; i < a->s->weights; i++) {
        const struct ctt_sensitivity_point *p =
            a->can[i].p[CTT_PART_FORM][a->form];
        double n = (double)a->s->weight[i].params;

        if (!p)
            continue;
        all += n;
        left += n * ctt_sensitivity_left(a->s, p);
    }
    return left > LARGE * all;
}

static void scale(const struct measuring *a)
{
    for (int i = 0; i < a->s->weights; i++) {
        const struct ctt_sensitivity_point *form =
            a->can[i].p[CTT_PART_FORM][a->form];

        for (int p = 0; form && p < CTT_CHOICES; p++)
            for (int b = 0; b < CTT_CHOICES; b++)
                *bytes_at(a->b, i, a->form, p, b) =
                    (int64_t)round(ctt_sensitivity_left(a->s, form) *
                                   (double)*bytes_at(a->b, i, 0, p, b));
    }
}

static int measure_form(struct measuring *a, int form)
{
    const struct ctt_model *given = a->m;
    struct ctt_model *m = NULL;
    int rc = 0;

    a->form = form;
    if (form) {
        CTT_TRY(factorise(a, &m));
        a->m = m;
        a->done = &ctt_stage_tt;
    }
    if (form && is_large(a)) {
        scale(a);
    } else {
        CTT_TRY(measure_coded(a));
        set_others(a);
    }
out:
    a->m = given;
    a->done = NULL;
    a->form = 0;
    ctt_model_free(&m);
    return rc;
}

/* ---- INT8 ---- */

static const struct ctt_sensitivity_point *
strongest(const struct ctt_choices *c, int kind)
{
    const struct ctt_sensitivity_point *p = NULL;

    for (int k = 0; k < CTT_CHOICES; k++)
        if (c->p[kind][k])
            p = c->p[kind][k];
    return p;
}

/* What INT8 of each weight adds: a node, its range, and scales.  Of a model
 * with little else, as that is coded fast. */
static int measure_int8(struct measuring *a)
{
    int n = a->s->weights, rc = 0;
    struct ctt_trial t = { .file = NULL };
    double without = NAN;

    for (int i = 0; i < n; i++)
        a->part[i] = (struct ctt_part){ NULL,
            strongest(&a->can[i], CTT_PART_PRUNE),
            strongest(&a->can[i], CTT_PART_SHARE), NULL };
    for (int i = -1; i < n; i++) {
        if (i >= 0)
            a->part[i].int8 = strongest(&a->can[i], CTT_PART_INT8);
        if (i >= 0 && !a->part[i].int8)
            continue;
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

/* About how many trials there are. */
static int count(struct measuring *a)
{
    int n = any_has(a, CTT_PART_INT8, 1) ? a->s->weights + 1 : 0, shares = 0;

    for (int b = 0; b < CTT_CHOICES; b++)
        shares += any_has(a, CTT_PART_SHARE, b);
    for (a->form = 0; a->form < CTT_CHOICES; a->form++) {
        if (!any_has(a, CTT_PART_FORM, a->form))
            continue;
        n += a->form > 0;
        for (int p = 0; p < CTT_CHOICES && !(a->form && is_large(a)); p++)
            n += any_coded(a, p) ? shares : 0;
    }
    a->form = 0;
    return n;
}

int ctt_savings_bytes(const struct ctt_sensitivity *s,
                      const struct ctt_model *m, const struct ctt_recipe *o,
                      const char *path, const struct ctt_choices *can,
                      const struct ctt_savings_calls *calls,
                      struct ctt_savings_bytes *b)
{
    struct measuring a = { .s = s, .m = m, .o = o, .path = path, .can = can,
                           .calls = calls, .b = b };
    size_t n = (size_t)s->weights * CTT_CHOICES;
    int rc = 0;

    *b = (struct ctt_savings_bytes){ .of = NULL };
    a.part = ctt_calloc((size_t)s->weights, sizeof(*a.part));
    b->of = ctt_calloc(n * CTT_CHOICES * CTT_CHOICES, sizeof(*b->of));
    b->int8 = ctt_calloc((size_t)s->weights, sizeof(*b->int8));
    CTT_TRY(a.part && b->of && b->int8 ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_report_new(m, &a.rows));
    a.trials = count(&a);
    for (int f = 0; f < CTT_CHOICES; f++)
        if (any_has(&a, CTT_PART_FORM, f))
            CTT_TRY(measure_form(&a, f));
    if (any_has(&a, CTT_PART_INT8, 1))
        CTT_TRY(measure_int8(&a));
out:
    ctt_report_free(&a.rows);
    ctt_free(a.part);
    return rc;
}

void ctt_savings_bytes_free(struct ctt_savings_bytes *b)
{
    ctt_free(b->of);
    ctt_free(b->int8);
    *b = (struct ctt_savings_bytes){ .of = NULL };
}
