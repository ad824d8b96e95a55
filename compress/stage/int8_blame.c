/* SPDX-License-Identifier: Apache-2.0
 * int8_blame.c: the loss by each conv that reads bytes: a model in which it
 * alone does answers the same clips as the model of floats. */
#include "compress/stage/int8_inside.h"
#include "compress/search/sensitivity.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Clips of each comparison: one run of the changed model for each conv, one of
 * the original for each group of convs. */
enum { BLAMED = 24 };

int ctt_int8_frames(const struct ctt_graph *g)
{
    const struct ctt_tensor *y = &g->node[ctt_graph_output(g)].out;

    return y->d * y->h * y->w > 1;
}

/* ---- answers ---- */

/* Rows of the answer of one model, then compared with those of another. */
struct answers {
    int     c, frames, rc;
    int     several;        /* classes do not exclude each other */
    float  *rows;
    int     count, room, next;
    double *p, *q;          /* probabilities of a row: c each */
    double  signal, sum;    /* sums of squares of frames; of squared errors, or
                               of divergences */
};

static void keep_answer(void *to, int k, const float *row)
{
    struct answers *a = to;
    size_t size = (size_t)a->c * sizeof(*row);
    float *rows = a->rc < 0 ? NULL
        : ctt_grown(a->rows, &a->room, a->count, size);

    (void)k;
    a->rows = rows ? rows : a->rows;
    a->rc = rows ? 0 : CTT_ENOMEM;
    if (rows)
        memcpy(rows + (size_t)a->count++ * (size_t)a->c, row, size);
}

static void add_divergence(struct answers *a, const float *was,
                           const float *now)
{
    a->sum += a->several ? ctt_divergences(a->c, was, now)
                         : ctt_divergence(a->c, was, now, a->p, a->q);
}

static void add_errors(struct answers *a, const float *was, const float *now)
{
    for (int i = 0; i < a->c; i++) {
        double d = (double)now[i] - (double)was[i];

        a->signal += (double)was[i] * (double)was[i];
        a->sum += d * d;
    }
}

static void add_difference(void *to, int k, const float *row)
{
    struct answers *a = to;
    const float *was = a->rows + (size_t)a->next * (size_t)a->c;

    (void)k;
    if (a->next++ < a->count)
        (a->frames ? add_errors : add_divergence)(a, was, row);
}

static int clips_of(const struct ctt_walk *k)
{
    return k->o->svd.clips ? k->o->svd.clips : BLAMED;
}

static int sample(const struct ctt_walk *k, const struct ctt_model *m,
                  void (*f)(void *to, int k, const float *row),
                  struct answers *a)
{
    int out = ctt_graph_output(m->g), rc;

    CTT_TRY(k->calls->sample(k->calls->arg, m, clips_of(k), &out, 1,
                             CTT_SAMPLE_VALUES, f, a));
    CTT_TRY(a->rc);
out:
    return rc;
}

static int open_answers(const struct ctt_walk *k, const struct ctt_model *m,
                        struct answers *a)
{
    int rc = 0;

    *a = (struct answers){ .c = (int)m->g->node[ctt_graph_output(m->g)].out.c,
                           .frames = ctt_int8_frames(m->g) };
    a->several = m->g->several;
    a->p = ctt_calloc((size_t)a->c, sizeof(*a->p));
    a->q = ctt_calloc((size_t)a->c, sizeof(*a->q));
    CTT_TRY(a->p && a->q ? 0 : CTT_ENOMEM);
    CTT_CHECK(k->calls->sample, CTT_EINVAL, "--int8: no clips to compare "
              "answers on: give --data");
    CTT_TRY(sample(k, m, keep_answer, a));
    CTT_CHECK(a->count > 0, CTT_EINVAL, "--int8: the clips have no answers");
out:
    return rc;
}

static void close_answers(struct answers *a)
{
    ctt_free(a->rows);
    ctt_free(a->p);
    ctt_free(a->q);
}

static void begin_comparison(struct answers *a)
{
    a->next = 0;
    a->signal = a->sum = 0;
}

/* All rows of another model were given to add_difference(). */
static int end_comparison(const struct answers *a, struct ctt_blame *b)
{
    int rc = 0;

    CTT_CHECK(a->next == a->count, CTT_EINVAL, "--int8: %d and %d answers",
              a->count, a->next);
    b->frames = a->frames;
    b->answer = !a->frames ? a->sum / a->count
        : a->sum > 0 ? 10 * log10(a->signal / a->sum) : INFINITY;
out:
    return rc;
}

/* ---- one conv ---- */

/* State that all convs share. */
struct blaming {
    const struct ctt_walk    *k;
    const struct ctt_model   *m;
    const struct ctt_form_of *form;
    struct answers            a;
    int                       done, all;
    double                    start;
};

/* Only node i of m reads bytes. */
static int blame_one(struct blaming *w, int i, const struct ctt_kept *kept,
                     int k)
{
    struct ctt_int8_follow f = { w->m, w->k->calls, clips_of(w->k),
                                 add_difference, &w->a };
    char *only = ctt_calloc((size_t)w->m->g->count, 1);
    struct ctt_model *now = NULL;
    struct ctt_blame *b;
    int rc = 0;

    CTT_TRY(only ? 0 : CTT_ENOMEM);
    only[i] = 1;
    CTT_TRY(ctt_quantise(w->m, only, w->form, &now));
    CTT_TRY(ctt_report_blame(w->k->r, w->m->g->node[i].name, &b));
    begin_comparison(&w->a);
    CTT_TRY(ctt_int8_follow(&f, i, kept, k, now, &b->alone));
    CTT_TRY(end_comparison(&w->a, b));
out:
    ctt_model_free(&now);
    ctt_free(only);
    return rc;
}

static void tell_blame_progress(const struct blaming *w)
{
    double each = w->done ? (ctt_seconds() - w->start) / w->done : 0;
    char line[96] = "", left[32] = "";

    if (w->done > 0)
        snprintf(left, sizeof(left), ", %.0f s left", each *
                 (w->all - w->done));
    if (w->done < w->all)
        snprintf(line, sizeof(line), "int8: loss by conv %d of %d%s",
                 w->done + 1, w->all, left);
    if (w->k->calls->busy)
        w->k->calls->busy(w->k->calls->arg, line);
}

static int blame_next(void *arg, int node, const struct ctt_kept *kept, int k)
{
    struct blaming *w = arg;

    tell_blame_progress(w);
    w->done++;
    return blame_one(w, node, kept, k);
}

int ctt_int8_blame(const struct ctt_walk *k, const struct ctt_model *m,
                   const char *take, const struct ctt_form_of *form)
{
    struct blaming w = { .k = k, .m = m, .form = form,
                         .start = ctt_seconds() };
    int rc = 0;

    for (int i = 0; i < m->g->count; i++)
        w.all += take[i];
    CTT_TRY(open_answers(k, m, &w.a));
    CTT_TRY(ctt_int8_each(m, take, k->calls, clips_of(k), blame_next, &w));
    tell_blame_progress(&w);
out:
    close_answers(&w.a);
    return rc;
}

int ctt_int8_blame_all(const struct ctt_walk *k, const struct ctt_model *m,
                       const struct ctt_model *now)
{
    struct ctt_blame *b;
    struct answers a;
    int rc;

    CTT_TRY(open_answers(k, m, &a));
    CTT_TRY(ctt_report_blame(k->r, CTT_BLAME_ALL, &b));
    begin_comparison(&a);
    CTT_TRY(sample(k, now, add_difference, &a));
    CTT_TRY(end_comparison(&a, b));
out:
    close_answers(&a);
    return rc;
}
