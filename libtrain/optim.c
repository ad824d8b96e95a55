/* SPDX-License-Identifier: Apache-2.0
 * optim.c: the optimizer: loops over the trained part of the flat block, with
 * the formulas of update.h. */
#include "libtrain/optim.h"
#include "libtrain/update.h"

#include <string.h>

enum { BLOCK = 4096,         /* of the norm's partial sums */
       PAYS = 32 * BLOCK };  /* weights for which threads are started */

/* Biases and norms are vectors: pulling them to zero regularises nothing. */
static int decays(const struct ctt_node *n, int k)
{
    return k == 0 && (n->op == CTT_OP_CONV || n->op == CTT_OP_DECONV);
}

static int trained(const struct ctt_node *n, int k)
{
    return !(n->fixed >> k & 1);
}

static int find_spans(const struct ctt_graph *g, struct ctt_optim *o)
{
    int count = 0;

    for (int i = 0; i < g->count; i++)
        count += g->node[i].nw;
    o->span = ctt_calloc((size_t)count + 1, sizeof(*o->span));
    if (!o->span)
        return CTT_ENOMEM;
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        for (int k = 0; k < n->nw; k++) {
            if (trained(n, k))
                o->span[o->spans++] = (struct ctt_span){ n->at[k],
                    ctt_volume(&n->w[k]), decays(n, k) };
        }
    }
    return 0;
}

int ctt_optim_open(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                   const uint8_t *keep, struct ctt_optim **out)
{
    struct ctt_optim *o = ctt_calloc(1, sizeof(*o));
    size_t n = (size_t)g->weights;
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    o->cfg = cfg;
    o->keep = keep;
    o->weights = g->weights;
    CTT_TRY(find_spans(g, o));
    o->part = ctt_calloc(n / BLOCK + 1, sizeof(*o->part));
    o->m = ctt_calloc(n, sizeof(*o->m));
    if (cfg->optimizer != CTT_SGD)
        o->v = ctt_calloc(n, sizeof(*o->v));
    CTT_TRY(o->part && o->m && (o->v || cfg->optimizer == CTT_SGD) ? 0
                                                                : CTT_ENOMEM);
    *out = o;
    return 0;
out:
    ctt_optim_close(&o);
    return rc;
}

void ctt_optim_close(struct ctt_optim **o)
{
    if (!*o)
        return;
    ctt_free((*o)->span);
    ctt_free((*o)->part);
    ctt_free((*o)->m);
    ctt_free((*o)->v);
    ctt_free(*o);
    *o = NULL;
}

static double square_sum(const struct ctt_optim *o, float *dw, int64_t from,
                         int64_t to)
{
    double s = 0;

    if (o->keep)
        for (int64_t i = from; i < to; i++)
            dw[i] = o->keep[i] ? dw[i] : 0;
    for (int64_t i = from; i < to; i++)
        s += (double)dw[i] * dw[i];
    return s;
}

double ctt_optim_norm(struct ctt_optim *o, float *dw)
{
    double sum = 0;

    for (int k = 0; k < o->spans; k++) {
        int64_t at = o->span[k].at, n = o->span[k].count;
        int64_t blocks = (n + BLOCK - 1) / BLOCK;

        #pragma omp parallel for if (n > PAYS)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t end = (b + 1) * BLOCK < n ? (b + 1) * BLOCK : n;
            o->part[b] = square_sum(o, dw, at + b * BLOCK, at + end);
        }
        for (int64_t b = 0; b < blocks; b++)
            sum += o->part[b];
    }
    return sqrt(sum);
}

static void step_sgd(const struct ctt_optim *o, const struct ctt_span *p,
                     const float *dw, float scale, double lr, float *w)
{
    struct ctt_sgd s = { .lr = (float)lr, .momentum = o->cfg->momentum,
        .decay = p->decay ? o->cfg->weight_decay : 0 };

    #pragma omp parallel for if (p->count > PAYS)
    for (int64_t i = p->at; i < p->at + p->count; i++)
        w[i] = ctt_sgd_step(s, w[i], scale * dw[i], &o->m[i]);
}

static void step_adam(const struct ctt_optim *o, const struct ctt_span *p,
                      const float *dw, float scale, double lr, float *w)
{
    const struct ctt_train_cfg *c = o->cfg;
    float decay = p->decay ? c->weight_decay : 0;
    double t = (double)o->t;
    struct ctt_adam s = {
        .lr = (float)lr, .b1 = c->beta1, .b2 = c->beta2, .eps = c->eps,
        .c1 = (float)(1 / (1 - pow(c->beta1, t))),
        .c2 = (float)(1 / (1 - pow(c->beta2, t))),
        .l2 = c->optimizer == CTT_ADAM ? decay : 0,
        .decay = c->optimizer == CTT_ADAMW ? decay : 0,
    };

    #pragma omp parallel for if (p->count > PAYS)
    for (int64_t i = p->at; i < p->at + p->count; i++)
        w[i] = ctt_adam_step(s, w[i], scale * dw[i], &o->m[i], &o->v[i]);
}

static void (*const steps[])(const struct ctt_optim *, const struct ctt_span *,
                             const float *, float, double, float *) = {
    [CTT_SGD] = step_sgd, [CTT_ADAM] = step_adam, [CTT_ADAMW] = step_adam,
};

void ctt_optim_step(struct ctt_optim *o, const float *dw, double norm,
                    double lr, float *w)
{
    double limit = (double)o->cfg->clip_norm;
    float scale = limit > 0 && norm > limit ? (float)(limit / norm) : 1;

    o->t++;
    for (int k = 0; k < o->spans; k++)
        steps[o->cfg->optimizer](o, &o->span[k], dw, scale, lr, w);
}
