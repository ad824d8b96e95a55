/* SPDX-License-Identifier: Apache-2.0
 * aux_head.c: the prediction of the next frame as a second loss of recognition
 * (after Su and others 2020, who learn to predict first, and Wang and others
 * 2019). */
#include "libtrain/recognise/aux_head.h"
#include "libtrain/data/load.h"
#include "net/rewrite/aux_head.h"
#include "net/rewrite/edit.h"
#include "run/back/exec.h"

#include <math.h>
#include <stdlib.h>

#define TARGET "train.next"
#define LOSS   "train.ahead"

/* ---- opening ---- */

int ctt_aux_head_graph(struct ctt_edit *e, const struct ctt_graph *model)
{
    int at = ctt_graph_ahead(model), rc = 0;
    const struct ctt_node *n = &model->node[at < 0 ? 0 : at];

    CTT_CHECK(at >= 0, CTT_EUNSUP, "--task=both needs a line 'ahead' in the "
              "model, which predicts the next frame");
    CTT_TRY(ctt_edit_after(e, at, "input " TARGET " d=%lld h=%lld w=%lld "
                           "c=%lld", (long long)n->out.d, (long long)n->out.h,
                           (long long)n->out.w, (long long)n->out.c));
    CTT_TRY(ctt_edit_after(e, at, "loss " LOSS " in=%s," TARGET " kind=mse",
                           model->node[n->in[0]].name));
out:
    return rc;
}

int ctt_aux_head_open(const struct ctt_graph *g, int frames,
                      struct ctt_aux_head **out)
{
    struct ctt_aux_head *a = ctt_calloc(1, sizeof(*a));
    int rc = a ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    a->target = ctt_graph_find(g, TARGET);
    a->loss = ctt_graph_find(g, LOSS);
    a->pixels = ctt_rows(&g->node[a->loss].out);
    a->losses = ctt_calloc((size_t)frames, sizeof(*a->losses));
    a->grads = ctt_calloc((size_t)frames, sizeof(*a->grads));
    CTT_TRY(a->losses && a->grads ? 0 : CTT_ENOMEM);
    *out = a;
    a = NULL;
out:
    ctt_aux_head_close(&a);
    return rc;
}

void ctt_aux_head_close(struct ctt_aux_head **a)
{
    if (!*a)
        return;
    ctt_free((*a)->losses);
    ctt_free((*a)->grads);
    ctt_free(*a);
    *a = NULL;
}

/* ---- a step ---- */

void ctt_aux_head_begin(struct ctt_aux_head *a, const struct ctt_batch *b)
{
    a->batch = b;
    a->sum = 0;
    a->values = 0;
    for (int j = 0; j < b->n; j++)
        if (b->length[j] > 1)
            a->values += a->pixels * (b->length[j] - 1);
}

/* 1 if frame k of a window, counted over the samples first, has a next one. */
static int counts(const struct ctt_aux_head *a, const struct ctt_window *p,
                  int k)
{
    int n = a->batch->n;

    return p->first + k / n + 1 < a->batch->length[k % n];
}

/* The frame after the last of the batch is given as that one: it does not
 * count. */
int ctt_aux_head_give(const struct ctt_aux_head *a, struct ctt_exec *x,
                      const struct ctt_window *p)
{
    int64_t rows = a->pixels * a->batch->n;
    int64_t frame = rows * x->r->g->node[a->target].out.c;
    int next = p->first + 1, rc = 0;
    int steps = next + p->steps > a->batch->steps ? p->steps - 1 : p->steps;

    if (steps > 0)
        CTT_TRY(ctt_run_put(x->r, a->target, 0, a->batch->x + next * frame,
                            steps * rows));
    if (steps < p->steps)
        CTT_TRY(ctt_run_put(x->r, a->target, steps, a->batch->x +
                            (a->batch->steps - 1) * frame, rows));
out:
    return rc;
}

int ctt_aux_head_take(struct ctt_aux_head *a, struct ctt_exec *x,
                      const struct ctt_window *p)
{
    int frames = p->steps * a->batch->n;
    int rc = ctt_run_sums(x->r, a->loss, 0, a->pixels * frames, frames,
                          a->losses);

    for (int k = 0; rc >= 0 && k < frames; k++)
        if (counts(a, p, k))
            a->sum += a->losses[k];
    return rc;
}

int ctt_aux_head_seed(const struct ctt_aux_head *a, struct ctt_exec *x,
                      const struct ctt_window *p, double scale)
{
    double each = a->values ? scale * a->weight / (double)a->values : 0;
    int frames = p->steps * a->batch->n;

    for (int k = 0; k < frames; k++)
        a->grads[k] = counts(a, p, k) ? (float)each : 0;
    return ctt_exec_fill_grad(x, a->loss, 0, a->grads, frames,
                              a->pixels * frames);
}

/* ---- the weight ---- */

/* Reads a number of 0 to 1000 and moves *s behind it; returns whether it is
 * one. */
static int read_weight(const char **s, double *out)
{
    char *end;

    *out = strtod(*s, &end);
    if (end == *s || !(*out >= 0 && *out <= 1000))
        return 0;
    *s = end;
    return 1;
}

/* Returns whether FROM[:TO] is right. */
static int parse(const char *s, double *from, double *to)
{
    if (!read_weight(&s, from))
        return 0;
    *to = *from;
    if (*s == ':') {
        s++;
        if (!read_weight(&s, to))
            return 0;
    }
    return *s == '\0';
}

int ctt_aux_head_check(const struct ctt_train_cfg *cfg)
{
    double from, to;
    int rc = 0;

    CTT_CHECK(!cfg->ahead_weight || parse(cfg->ahead_weight, &from, &to),
              CTT_EINVAL, "--ahead-weight=%s is not FROM or FROM:TO, numbers "
              "of 0 to 1000", cfg->ahead_weight);
out:
    return rc;
}

double ctt_aux_head_weight(const struct ctt_train_cfg *cfg, double part)
{
    double from = 1, to = 1;

    if (cfg->ahead_weight)
        parse(cfg->ahead_weight, &from, &to);
    return from + (to - from) * fmin(part, 1);
}
