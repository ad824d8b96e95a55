/* SPDX-License-Identifier: Apache-2.0
 * norms.c: the running statistics of batch norms, estimated again from clips
 * after something other than training has changed the weights. */
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "net/op.h"
#include "libtrain/task.h"
#include "libtrain/ranks/shards.h"
#include "run/back/exec.h"

#include <string.h>

/* Weights of a norm: the running mean and variance. */
enum { MEAN = 2, VAR = 3 };

struct estimate {
    struct ctt_model *m;         /* a copy, whose norms forget at once */
    struct ctt_dev   *dev;
    void             *own;       /* its weights in a device's own memory */
    const float      *w;
    struct ctt_recognise_step *step;
    struct ctt_order  *order;
    struct ctt_loader *loader;
    double *sum;                 /* per weight: of a batch's mean, and of its
                                    mean square, times its rows */
    double  rows;
    int     whole;               /* they are of batches without empty places */
};

static int has_norm(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (ctt_is_batch_norm(&g->node[i]))
            return 1;
    return 0;
}

static int copy_model(const struct ctt_model *m, struct estimate *e)
{
    int rc;

    CTT_TRY(ctt_model_copy(m, &e->m));
    for (int i = 0; i < e->m->g->count; i++)
        if (ctt_is_batch_norm(&e->m->g->node[i]))
            e->m->g->node[i].attr.norm.momentum = 1;
    e->sum = ctt_calloc((size_t)e->m->g->weights, sizeof(*e->sum));
    CTT_TRY(e->sum ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* Clips are drawn at random, of a text windows, which begin from zeros. */
static int open_estimate(const struct ctt_model *m,
                         const struct ctt_train_cfg *cfg, struct ctt_data *d,
                         struct estimate *e)
{
    struct ctt_data any = *d;
    struct ctt_buckets b;
    int n = ctt_cfg_shard(cfg), rc;

    any.one = 0;
    CTT_TRY(copy_model(m, e));
    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &e->dev));
    CTT_TRY(ctt_dev_show(e->dev, "weights", e->m->w, e->m->g->weights, &e->own,
                         &e->w));
    CTT_TRY(ctt_recognise_step_open(e->m->g, e->w, cfg, e->dev, n,
                                    d->longest, &e->step));
    CTT_TRY(ctt_buckets_find(d, n, cfg->buckets, &b));
    CTT_TRY(ctt_order_new(d, n, &e->order));
    ctt_order_make(&any, &b, 1, ctt_key(ctt_key((uint64_t)cfg->seed,
                                                CTT_KEY_ORDER), 0), e->order);
    CTT_TRY(ctt_loader_open(d, n, d->longest, &e->loader));
out:
    return rc;
}

static void close_estimate(struct estimate *e)
{
    ctt_loader_close(&e->loader);
    ctt_order_free(&e->order);
    ctt_recognise_step_close(&e->step);
    ctt_dev_free(e->dev, &e->own);
    ctt_dev_close(&e->dev);
    ctt_free(e->sum);
    ctt_model_free(&e->m);
}

/* Adds the statistics that the norms took from a batch. */
static int add_statistics(struct estimate *e, double rows)
{
    const struct ctt_graph *g = e->m->g;
    float *w = e->m->w;
    int rc = 0;

    if (e->w != w)
        CTT_TRY(ctt_dev_copy(e->dev, CTT_TO_HOST, e->w, w, g->weights *
                             (int64_t)sizeof(*w)));
    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        for (int64_t j = 0; ctt_is_batch_norm(n) && j < n->out.c; j++) {
            double mean = (double)w[n->at[MEAN] + j];
            e->sum[n->at[MEAN] + j] += rows * mean;
            e->sum[n->at[VAR] + j] += rows * ((double)w[n->at[VAR] + j] +
                                              mean * mean);
        }
    }
    e->rows += rows;
out:
    return rc;
}

/* Makes room for the first batch without empty places. */
static void clear_sums(struct estimate *e)
{
    memset(e->sum, 0, (size_t)e->m->g->weights * sizeof(*e->sum));
    e->rows = 0;
    e->whole = 1;
}

/* Returns 1 after the last batch.  Empty places would count as frames, so
 * batches that have one are left out unless all have. */
static int estimate_batch(struct estimate *e, struct ctt_data *d, int *clips)
{
    struct ctt_batch b;
    double wait = 0, rows = 0;
    int rc, more, whole = 1;

    CTT_TRY(more = ctt_loader_next(e->loader, &b, &wait));
    if (!more || *clips <= 0)
        return 1;
    for (int j = 0; j < b.n; j++) {
        rows += b.length[j];
        *clips -= b.length[j] > 0;
        whole &= b.length[j] > 0;
    }
    if (whole && !e->whole)
        clear_sums(e);
    if (whole || e->rows == 0) {
        CTT_TRY(ctt_recognise_step_forward(e->step, d, &b));
        CTT_TRY(add_statistics(e, rows));
    }
    ctt_loader_done(e->loader);
    CTT_CHECK(!ctt_stopped(), CTT_ESTOP, "stopped");
out:
    return rc < 0 ? rc : 0;
}

static void set_statistics(const struct estimate *e, struct ctt_model *m)
{
    for (int i = 0; i < m->g->count && e->rows > 0; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int64_t j = 0; ctt_is_batch_norm(n) && j < n->out.c; j++) {
            double mean = e->sum[n->at[MEAN] + j] / e->rows;
            double var = e->sum[n->at[VAR] + j] / e->rows - mean * mean;
            m->w[n->at[MEAN] + j] = (float)mean;
            m->w[n->at[VAR] + j] = var > 0 ? (float)var : 0;
        }
    }
}

int ctt_norms_estimate(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                       struct ctt_data *d, int clips)
{
    const struct ctt_augment none = { 0 };
    struct ctt_train_cfg plain = *cfg;
    struct estimate e = { .rows = 0 };
    int rc = 0;

    if (!has_norm(m->g))
        goto out;
    plain.amp = CTT_O0;
    plain.window = 0;    /* a norm would only show the last window's */
    plain.keep = "all";
    plain.wiring.teachers = NULL;
    plain.self_distil = 0;
    ctt_augment_none(&plain);
    CTT_TRY(open_estimate(m, &plain, d, &e));
    ctt_loader_start(e.loader, e.order, &none, 0);
    while (!(rc = estimate_batch(&e, d, &clips)))
        ;
    CTT_TRY(rc);
    set_statistics(&e, m);
    rc = 0;
out:
    close_estimate(&e);
    return rc;
}
