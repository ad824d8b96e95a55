/* SPDX-License-Identifier: Apache-2.0
 * optim.c: the optimizer: the trained weights in the device's memory, and the
 * update rule of each step. */
#include "libtrain/optim.h"
#include "libtrain/amp.h"
#include "libtrain/layers.h"
#include "base/half.h"
#include "net/op.h"

#include <math.h>
#include <string.h>

/* Added to the root of the mean squared gradient. */
#define ADAM_EPS 1e-8f

enum { PIECE = 16 };    /* weights per byte of `how` in struct ctt_flat */

/* The form of an update (device/update.h): ahead: with the next moment.
 * squares: divided by the root of squared gradients, of their sum or else of
 * their mean.  mean: with the mean gradient, and both means unbiased.  pulls:
 * the decay is no part of the gradient.  layers: each kernel has a rate of its
 * own.  limits: which is at most --lr. */
static const struct optimizer {
    unsigned ahead : 1, squares : 1, sum : 1, mean : 1, pulls : 1, layers : 1,
             limits : 1;
} optimizers[] = {
    [CTT_SGD]      = { .ahead = 0 },
    [CTT_NESTEROV] = { .ahead = 1 },
    [CTT_ADAM]     = { .squares = 1, .mean = 1 },
    [CTT_ADAMW]    = { .squares = 1, .mean = 1, .pulls = 1 },
    [CTT_RMSPROP]  = { .squares = 1 },
    [CTT_ADAGRAD]  = { .squares = 1, .sum = 1 },
    [CTT_LARS]     = { .layers = 1 },
    [CTT_LARC]     = { .layers = 1, .limits = 1 },
};

/* ---- open ---- */

/* Weight decay applies to kernels only: decaying biases and norms towards zero
 * does not regularise. */
static enum ctt_how how_of(const struct ctt_train_cfg *cfg,
                           const struct ctt_node *n, int k)
{
    if (n->fixed >> k & 1 || ctt_is_frozen(cfg, n))
        return CTT_FIXED;
    return ctt_is_kernel(n, k) ? CTT_DECAYS : CTT_TRAINED;
}

static int block(struct ctt_optim *o, const char *what, int64_t size,
                 void **out)
{
    return ctt_dev_alloc(o->dev, what, (o->weights + PIECE) * size, out);
}

static int floats(struct ctt_optim *o, const char *what, float **out)
{
    void *p = NULL;
    int rc = block(o, what, sizeof(float), &p);

    *out = p;
    return rc;
}

/* Copies bytes of the program to a new block of the device. */
static int bytes(struct ctt_optim *o, const char *what, const void *from,
                 int64_t n, uint8_t **out)
{
    void *p = NULL;
    int rc = block(o, what, 1, &p);

    *out = p;
    return rc < 0 ? rc : ctt_dev_copy(o->dev, CTT_TO_DEVICE, from, p, n);
}

static int has_pace(const struct ctt_optim *o, const struct ctt_node *n,
                    int pace)
{
    return pace < 0 || ctt_lr_scale_of(o->cfg, n) == pace;
}

/* pace: only of weights with that factor of the learning rate; -1: of all. */
static int find_trained(const struct ctt_graph *g, struct ctt_optim *o,
                        int pace, const uint8_t **out)
{
    uint8_t *how = ctt_calloc((size_t)(o->weights / PIECE) + 1, 1), *at = NULL;
    int rc = how ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            int64_t count = ctt_align(ctt_volume(&n->w[k]), PIECE);

            if (has_pace(o, n, pace))
                memset(how + n->at[k] / PIECE, how_of(o->cfg, n, k),
                       (size_t)(count / PIECE));
        }
    rc = bytes(o, "what is trained", how, o->weights / PIECE, &at);
    *out = at;
out:
    ctt_free(how);
    return rc;
}

static int find_paces(const struct ctt_graph *g, struct ctt_optim *o)
{
    int scales = ctt_lr_scales(o->cfg), rc = 0;

    if (!scales)
        goto out;
    o->pace = ctt_calloc((size_t)scales + 1, sizeof(*o->pace));
    CTT_TRY(o->pace ? 0 : CTT_ENOMEM);
    for (; o->paces <= scales; o->paces++) {
        struct ctt_pace *p = &o->pace[o->paces];
        p->factor = o->paces ? ctt_lr_scale(o->cfg, o->paces) : 1;
        p->of.count = o->weights;
        CTT_TRY(find_trained(g, o, o->paces, &p->how));
    }
out:
    return rc;
}

static int is_layerwise(const struct ctt_optim *o)
{
    return optimizers[o->cfg->optimizer].layers;
}

/* A pace for each trained weight. */
static int find_layers(const struct ctt_graph *g, struct ctt_optim *o)
{
    o->pace = ctt_calloc((size_t)ctt_weight_count(g) + 1, sizeof(*o->pace));
    if (!o->pace)
        return CTT_ENOMEM;
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            int scale = ctt_lr_scale_of(o->cfg, n);
            enum ctt_how how = how_of(o->cfg, n, k);

            if (how != CTT_FIXED)
                o->pace[o->paces++] = (struct ctt_pace){
                    scale ? ctt_lr_scale(o->cfg, scale) : 1,
                    o->flat.how + n->at[k] / PIECE,
                    { n->at[k], ctt_align(ctt_volume(&n->w[k]), PIECE) },
                    how == CTT_DECAYS };
        }
    return 0;
}

static int has_codes(const struct ctt_constraint *c, int64_t at, int64_t n)
{
    for (int64_t i = at; i < at + n; i++)
        if (ctt_code(c, i))
            return 1;
    return 0;
}

/* Lists the weights with shared values. */
static int find_shared(struct ctt_optim *o, const struct ctt_constraint *c)
{
    const struct ctt_graph *g = o->g;

    if (!c->share)
        return 0;
    o->shared = ctt_calloc((size_t)ctt_weight_count(g), sizeof(*o->shared));
    if (!o->shared)
        return CTT_ENOMEM;
    o->flat.shared = o->shared;
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            struct ctt_stretch s = { g->node[i].at[k],
                                  ctt_volume(&g->node[i].w[k]) };
            if (!ctt_is_frozen(o->cfg, &g->node[i]) &&
                has_codes(c, s.at, s.count))
                o->shared[o->flat.spans++] = s;
        }
    return 0;
}

static void free_block(struct ctt_optim *o, const void *p)
{
    void *block = (void *)(uintptr_t)p;

    if (p)
        ctt_dev_free(o->dev, &block);
}

/* Gives the device the constraint, copied if it has memory of its own. */
static int open_constraint(struct ctt_optim *o, const struct ctt_constraint *c)
{
    struct ctt_constraint *to = &o->flat.constraint;
    int rc = 0;

    CTT_TRY(find_shared(o, c));
    if (ctt_dev_shared(o->dev)) {
        *to = *c;
        goto out;
    }
    if (c->keep)
        CTT_TRY(bytes(o, "the mask", c->keep, o->weights, &to->keep));
    if (c->share)
        CTT_TRY(bytes(o, "the codes", c->share, o->weights, &to->share));
out:
    return rc;
}

static void close_constraint(struct ctt_optim *o)
{
    struct ctt_flat *f = &o->flat;

    if (!ctt_dev_shared(o->dev)) {
        free_block(o, f->constraint.keep);
        free_block(o, f->constraint.share);
    }
    ctt_free(o->shared);
    o->shared = NULL;
    f->constraint = (struct ctt_constraint){ .keep = NULL };
    f->shared = NULL;
    f->spans = 0;
}

static int open_blocks(struct ctt_optim *o, float *w)
{
    int rc = 0;

    o->host = o->flat.w = w;
    if (!ctt_dev_shared(o->dev)) {
        o->flat.w = NULL;
        CTT_TRY(floats(o, "weights", &o->flat.w));
    }
    CTT_TRY(floats(o, "moments", &o->flat.m));
    if (optimizers[o->cfg->optimizer].squares)
        CTT_TRY(floats(o, "moments", &o->flat.v));
    if (o->cfg->amp != CTT_O0)
        CTT_TRY(block(o, "weights of 16 bits", ctt_dtype_size(o->type),
                      &o->w16));
    if (o->cfg->ema > 0)
        CTT_TRY(floats(o, "average weights", &o->average));
out:
    return rc;
}

/* The average begins as the first weights. */
static int begin_average(struct ctt_optim *o)
{
    return !o->average ? 0 :
           ctt_dev_copy(o->dev, CTT_WITHIN, o->flat.w, o->average,
                        o->weights * (int64_t)sizeof(float));
}

int ctt_optim_open(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                   const struct ctt_constraint *c, float *w,
                   struct ctt_dev *dev, struct ctt_optim **out)
{
    struct ctt_optim *o = ctt_calloc(1, sizeof(*o));
    int rc = o ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    o->g = g;
    o->cfg = cfg;
    o->dev = dev;
    o->type = ctt_amp_type(cfg);
    o->weights = o->flat.n = g->weights;
    CTT_TRY(find_trained(g, o, -1, &o->flat.how));
    CTT_TRY((is_layerwise(o) ? find_layers : find_paces)(g, o));
    CTT_TRY(open_blocks(o, w));
    if (c)
        CTT_TRY(open_constraint(o, c));
    CTT_TRY(ctt_optim_push(o));
    CTT_TRY(begin_average(o));
    *out = o;
    o = NULL;
out:
    ctt_optim_close(&o);
    return rc;
}

void ctt_optim_close(struct ctt_optim **p)
{
    struct ctt_optim *o = *p;

    if (!o)
        return;
    free_block(o, o->flat.w == o->host ? NULL : o->flat.w);
    free_block(o, o->flat.m);
    free_block(o, o->flat.v);
    free_block(o, o->w16);
    free_block(o, o->average);
    free_block(o, o->flat.how);
    for (int k = 0; k < o->paces && !is_layerwise(o); k++)
        free_block(o, o->pace[k].how);
    ctt_free(o->pace);
    close_constraint(o);
    ctt_free(o);
    *p = NULL;
}

/* ---- the weights ---- */

static int cast(struct ctt_optim *o)
{
    return o->w16 ? ctt_dev_cast(o->dev, o->flat.w, o->type, o->w16,
                                 o->weights) : 0;
}

int ctt_optim_push(struct ctt_optim *o)
{
    int rc = 0;

    if (o->flat.w != o->host)
        CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_DEVICE, o->host, o->flat.w,
                             o->weights * (int64_t)sizeof(float)));
    CTT_TRY(cast(o));
out:
    return rc;
}

int ctt_optim_pull(struct ctt_optim *o)
{
    if (o->flat.w == o->host)
        return 0;
    return ctt_dev_copy(o->dev, CTT_TO_HOST, o->flat.w, o->host,
                        o->weights * (int64_t)sizeof(float));
}

const float *ctt_optim_picked(const struct ctt_optim *o)
{
    return o->average ? o->average : o->flat.w;
}

int ctt_optim_pick(const struct ctt_optim *o, float *w)
{
    const float *from = ctt_optim_picked(o);

    if (from == w)
        return 0;
    return ctt_dev_copy(o->dev, CTT_TO_HOST, from, w,
                        o->weights * (int64_t)sizeof(float));
}

/* ---- a changed constraint ---- */

/* Clears the values of pruned weights in a block in the device's memory. */
static int clear_pruned(struct ctt_optim *o, const struct ctt_constraint *c,
                        float *m)
{
    int64_t size = o->weights * (int64_t)sizeof(float);
    float *host = m && c->keep ? ctt_calloc(1, (size_t)size) : NULL;
    int rc = 0;

    if (!m || !c->keep)
        goto out;
    CTT_TRY(host ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_HOST, m, host, size));
    ctt_constraint_clear(c, o->weights, host);
    CTT_TRY(ctt_dev_copy(o->dev, CTT_TO_DEVICE, host, m, size));
out:
    ctt_free(host);
    return rc;
}

int ctt_optim_constrain(struct ctt_optim *o, const struct ctt_constraint *c)
{
    int rc;

    close_constraint(o);
    CTT_TRY(open_constraint(o, c));
    CTT_TRY(clear_pruned(o, c, o->flat.m));
    CTT_TRY(clear_pruned(o, c, o->flat.v));
    CTT_TRY(clear_pruned(o, c, o->average));
    CTT_TRY(ctt_optim_push(o));
out:
    return rc;
}

/* ---- a step ---- */

int ctt_optim_norm(struct ctt_optim *o, float *dw, double *norm)
{
    double sum = 0;
    int rc = 0;

    o->flat.dw = dw;
    CTT_TRY(ctt_dev_constrain(o->dev, &o->flat, &sum));
    *norm = sqrt(sum);
out:
    return rc;
}

/* A part of the block, for an operation of the device. */
static struct ctt_flat flat_part(const struct ctt_optim *o, float *dw,
                                 struct ctt_stretch of)
{
    struct ctt_flat part = { .n = of.count, .dw = dw + of.at,
                             .w = o->flat.w + of.at, .m = o->flat.m + of.at,
                             .how = o->flat.how + of.at / PIECE };

    if (o->flat.v)
        part.v = o->flat.v + of.at;
    if (o->flat.constraint.keep)
        part.constraint.keep = o->flat.constraint.keep + of.at;
    return part;
}

int ctt_optim_squares(struct ctt_optim *o, float *x, struct ctt_stretch of,
                      double *sum)
{
    struct ctt_flat part = flat_part(o, x, of);

    return ctt_dev_constrain(o->dev, &part, sum);
}

/* Undoes, at update t, the bias of a mean that began at zero. */
static float unbiased(float beta, double t)
{
    return (float)(1 / (1 - pow((double)beta, t)));
}

static struct ctt_rule rule_of(const struct ctt_optim *o, double lr)
{
    const struct ctt_train_cfg *c = o->cfg;
    const struct optimizer *is = &optimizers[c->optimizer];
    double t = (double)o->t;

    return (struct ctt_rule){
        .is_adam = is->squares,
        .sgd = { .lr = (float)lr, .momentum = c->momentum,
                 .decay = c->weight_decay, .ahead = is->ahead },
        .adam = {
            .lr = (float)lr, .eps = ADAM_EPS,
            .b1 = is->mean ? c->beta1 : 0,
            .b2 = is->sum ? 1 : c->beta2,
            .add = is->sum ? 1 : 1 - c->beta2,
            .c1 = is->mean ? unbiased(c->beta1, t) : 1,
            .c2 = is->mean ? unbiased(c->beta2, t) : 1,
            .l2 = is->pulls ? 0 : c->weight_decay,
            .decay = is->pulls ? c->weight_decay : 0,
        },
    };
}

/* The first weights soon count little: as so often the decay begins small, here
 * as in TensorFlow's ExponentialMovingAverage (Abadi and others 2015).  k:
 * updates before. */
static float ema_share(double decay, double k)
{
    return (float)(1 - fmin(decay, (1 + k) / (10 + k)));
}

/* The rate of a weight by its own size and that of its gradient times `by` (You
 * and others 2017); of biases and norms it is lr. */
static int layer_rate(struct ctt_optim *o, const struct ctt_pace *p, double by,
                      double lr, double *rate)
{
    const struct ctt_train_cfg *c = o->cfg;
    double w, g;
    int rc = 0;

    *rate = lr;
    if (!p->kernel)
        goto out;
    CTT_TRY(ctt_optim_squares(o, o->flat.w, p->of, &w));
    CTT_TRY(ctt_optim_squares(o, o->flat.dw, p->of, &g));
    if (w > 0 && g > 0) {
        double trust = (double)c->trust * sqrt(w) /
                       (by * sqrt(g) + (double)c->weight_decay * sqrt(w));
        *rate = optimizers[c->optimizer].limits ? fmin(trust, lr) : trust * lr;
    }
out:
    return rc;
}

/* The rate is a factor of the gradient, decay included, so that the moment
 * remembers steps. */
static int layer_rule(struct ctt_optim *o, const struct ctt_pace *p, double by,
                      double lr, struct ctt_rule *rule)
{
    double rate;
    int rc;

    CTT_TRY(layer_rate(o, p, by, lr, &rate));
    rule->scale = (float)(by * rate);
    rule->sgd.decay = (float)(rate * (double)o->cfg->weight_decay);
    rule->sgd.lr = 1;
out:
    return rc;
}

/* Updates the weights of a pace. */
static int update(struct ctt_optim *o, const struct ctt_pace *p, double by,
                  double lr)
{
    struct ctt_rule rule = rule_of(o, p->factor * lr);
    struct ctt_flat flat = flat_part(o, o->flat.dw, p->of);
    int rc = 0;

    rule.scale = (float)by;
    flat.how = p->how;
    if (is_layerwise(o))
        CTT_TRY(layer_rule(o, p, by, p->factor * lr, &rule));
    rc = ctt_dev_update(o->dev, &flat, &rule);
out:
    return rc;
}

int ctt_optim_step(struct ctt_optim *o, double norm, double scale, double lr)
{
    const struct ctt_pace all = { 1, o->flat.how, { 0, o->weights }, 0 };
    double limit = o->limited ? 0 : (double)o->cfg->clip_norm;
    double length = norm / scale;
    double by = (limit > 0 && length > limit ? limit / length : 1) / scale;
    int rc = 0;

    o->t++;
    if (!o->paces)
        CTT_TRY(update(o, &all, by, lr));
    for (int k = 0; k < o->paces; k++)
        CTT_TRY(update(o, &o->pace[k], by, lr));
    CTT_TRY(cast(o));
    if (o->average)
        CTT_TRY(ctt_dev_average(o->dev, o->flat.w,
                                ema_share((double)o->cfg->ema,
                                         (double)o->t - 1),
                                o->average, o->weights));
out:
    return rc;
}
