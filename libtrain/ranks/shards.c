/* SPDX-License-Identifier: Apache-2.0
 * shards.c: adds the gradients of shards. */
#include "libtrain/ranks/shards.h"
#include "libtrain/before.h"
#include "libtrain/ranks/gpu_exchange.h"
#include "base/half.h"

#include <string.h>

int ctt_shards_check(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    if (cfg->shards < 2 || ctt_auto_batch(cfg))
        goto out;
    CTT_CHECK(!(cfg->shards & (cfg->shards - 1)), CTT_EINVAL,
              "--shards=%d: not a power of two", cfg->shards);
    CTT_CHECK(cfg->batch % cfg->shards == 0, CTT_EINVAL,
              "--shards=%d does not divide --batch=%d", cfg->shards,
              cfg->batch);
    CTT_CHECK(ctt_cfg_shard(cfg) > 1 || !ctt_augment_mixes(cfg), CTT_EINVAL,
              "--shards=%d of --batch=%d have one clip: --mixup and --cutmix "
              "mix the clips of a shard", cfg->shards, cfg->batch);
out:
    return rc;
}

int64_t ctt_shards_bytes(int64_t weights, int count,
                         const struct ctt_squeeze *how)
{
    int64_t bytes = 0;

    if (count > 1 && ctt_squeeze_is_sparse(how))
        return ctt_gather_bytes(weights, count);
    if (count > 1 && how->kind == CTT_SQUEEZE_HALF)
        bytes = weights * (ctt_dtype_size(how->type) + (int64_t)sizeof(float));
    for (; count > 1; count /= 2)
        bytes += weights * ctt_dtype_size(how->type);
    return bytes;
}

/* ---- moved weights ---- */

static int find_moved(const struct ctt_graph *g, struct ctt_shards *s)
{
    s->stretch = ctt_calloc((size_t)ctt_weight_count(g) + 1,
                            sizeof(*s->stretch));
    if (!s->stretch)
        return CTT_ENOMEM;
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            int64_t count = ctt_align(ctt_volume(&n->w[k]), 16);

            if (!(n->fixed >> k & 1))
                continue;
            s->stretch[s->stretches].at = n->at[k];
            s->stretch[s->stretches++].count = count;
            s->moved += count;
        }
    return 0;
}

/* Copies them out of w, or back into it. */
static int copy_stretches(struct ctt_shards *s, int back, float *w,
                          float *packed)
{
    int rc = 0;

    for (int i = 0; i < s->stretches; i++) {
        const struct ctt_stretch *t = &s->stretch[i];
        float *at = w + t->at;

        CTT_TRY(ctt_dev_copy(s->dev, CTT_WITHIN, back ? packed : at,
                             back ? at : packed,
                             t->count * (int64_t)sizeof(*w)));
        packed += t->count;
    }
out:
    return rc;
}

/* ---- memory ---- */

static int room(struct ctt_shards *s, int64_t n, enum ctt_dtype type,
                void **out)
{
    int rc = 0;

    *out = NULL;
    if (n)
        rc = ctt_dev_alloc(s->dev, "the gradients of shards",
                           n * ctt_dtype_size(type), out);
    return rc;
}

static int room32(struct ctt_shards *s, int64_t floats, float **out)
{
    void *p;
    int rc = room(s, floats, CTT_F32, &p);

    *out = p;
    return rc;
}

static int open_moved(struct ctt_shards *s)
{
    int rc;

    CTT_TRY(room32(s, s->moved, &s->start));
    CTT_TRY(room32(s, s->moved, &s->now));
    for (int l = 0; 1 << l < s->mine; l++)
        CTT_TRY(room32(s, s->moved, &s->mean[l]));
out:
    return rc;
}

/* Where the host adds or sends them. */
static int open_host(struct ctt_shards *s, const struct ctt_share *share)
{
    int64_t floats = share->apart ? s->moved :
                     s->how.kind != CTT_SQUEEZE_NONE ? s->weights : 0;

    if (floats)
        s->host = ctt_calloc((size_t)floats, sizeof(*s->host));
    return s->host || !floats ? 0 : CTT_ENOMEM;
}

static int open_exchange(struct ctt_shards *s, const struct ctt_share *share,
                         enum ctt_join join, int64_t count,
                         struct ctt_exchange *out)
{
    return ctt_exchange_open_at(share->direct ? s->dev : NULL,
                                &ctt_gpu_transport, share->comm, join, count,
                                out);
}

static int open_tree(struct ctt_shards *s, const struct ctt_share *share)
{
    int rc = 0;

    for (int l = 0; 1 << l < s->mine; l++)
        CTT_TRY(room(s, s->weights, s->how.type, &s->sum[l]));
    if (s->how.kind == CTT_SQUEEZE_HALF)
        CTT_TRY(room(s, s->weights, s->how.type, &s->half));
    CTT_TRY(open_exchange(s, share, ctt_join_of(s->how.type), s->weights,
                          &s->sums));
out:
    return rc;
}

static int open_sums(const struct ctt_graph *g, const struct ctt_share *share,
                     struct ctt_shards *s)
{
    int rc = 0;

    s->weights = g->weights;
    CTT_TRY(find_moved(g, s));
    CTT_TRY(open_moved(s));
    CTT_TRY(open_exchange(s, share, CTT_JOIN_MEAN, s->moved, &s->means));
    CTT_TRY(open_host(s, share));
    if (ctt_squeeze_is_sparse(&s->how))
        CTT_TRY(ctt_gather_open(share->comm, &s->how, s->count, s->weights,
                                &s->gather));
    else
        CTT_TRY(open_tree(s, share));
out:
    return rc;
}

static int open_shard(const struct ctt_order *plan, struct ctt_shards *s)
{
    size_t clips;
    int rc = 0;

    s->part.n = plan->n / s->count;
    s->part.batches = plan->batches * s->mine;
    clips = (size_t)s->part.batches * (size_t)s->part.n;
    s->part.steps = ctt_calloc((size_t)s->part.batches, sizeof(int));
    s->part.clip = ctt_calloc(clips, sizeof(int));
    if (plan->turn)
        s->part.turn = ctt_calloc(clips, sizeof(int));
    CTT_TRY(s->part.steps && s->part.clip && (s->part.turn || !plan->turn)
            ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_shards_open(const struct ctt_graph *g, int count,
                    const struct ctt_squeeze *how,
                    const struct ctt_order *plan, struct ctt_dev *dev,
                    const struct ctt_share *share, struct ctt_shards *s)
{
    int rc = 0;

    *s = (struct ctt_shards){ .count = count, .dev = dev, .how = *how,
                              .adds = count > 1 || share->apart };
    CTT_CHECK(count > 1 || how->kind == CTT_SQUEEZE_NONE, CTT_EINVAL,
              "--squeeze: a batch of one shard has nothing to send (see "
              "--shards)");
    CTT_CHECK(count % share->parts == 0, CTT_EINVAL, "--shards=%d: %d "
              "%s cannot share them equally", count, share->parts,
              share->group > 1 ? "groups of processes" : "processes");
    s->mine = count / share->parts;
    s->first = s->mine * share->part;
    CTT_TRY(open_shard(plan, s));
    if (s->adds)
        CTT_TRY(open_sums(g, share, s));
out:
    return rc;
}

int ctt_shards_narrow(struct ctt_shards *s, int64_t from, int64_t count)
{
    struct ctt_exchange was = s->sums;
    int rc = 0;

    if (!was.comm)
        goto out;
    ctt_exchange_close(&s->sums);
    s->from = from;
    CTT_TRY(ctt_exchange_open_at(was.dev, was.by, was.comm, was.how, count,
                                 &s->sums));
out:
    return rc;
}

static void free_shard_block(struct ctt_shards *s, void *block)
{
    if (block)
        ctt_dev_free(s->dev, &block);
}

void ctt_shards_close(struct ctt_shards *s)
{
    for (int l = 0; l < CTT_SHARD_LEVELS; l++) {
        free_shard_block(s, s->sum[l]);
        free_shard_block(s, s->mean[l]);
    }
    free_shard_block(s, s->half);
    free_shard_block(s, s->start);
    free_shard_block(s, s->now);
    ctt_free(s->host);
    ctt_exchange_close(&s->sums);
    ctt_exchange_close(&s->means);
    ctt_gather_close(&s->gather);
    ctt_free(s->stretch);
    ctt_free(s->part.steps);
    ctt_free(s->part.clip);
    ctt_free(s->part.turn);
    memset(s, 0, sizeof(*s));
}

void ctt_shards_clear(struct ctt_shards *s, const struct ctt_order *plan)
{
    s->part.batches = 0;
    s->part.a = plan->a;
}

const struct ctt_order *ctt_shards_append(struct ctt_shards *s,
                                          const struct ctt_order *plan, int b)
{
    struct ctt_order *p = &s->part;
    size_t n = (size_t)(p->n * s->mine), to = (size_t)(p->n * p->batches);
    size_t from = (size_t)b * (size_t)plan->n + (size_t)(p->n * s->first);

    if (p->batches + s->mine > plan->batches * s->mine)
        return NULL;
    memcpy(p->clip + to, plan->clip + from, n * sizeof(int));
    if (p->turn)
        memcpy(p->turn + to, plan->turn + from, n * sizeof(int));
    for (int k = 0; k < s->mine; k++)
        p->steps[p->batches++] = plan->steps[b];
    return p;
}

const struct ctt_order *ctt_shards_plan(struct ctt_shards *s,
                                        const struct ctt_order *plan)
{
    ctt_shards_clear(s, plan);
    for (int b = 0; b < plan->batches; b++)
        ctt_shards_append(s, plan, b);
    return &s->part;
}

/* ---- a batch ---- */

int ctt_shards_begin(struct ctt_shards *s, int k, float *w)
{
    return s->adds ? copy_stretches(s, k > 0, w, s->start) : 0;
}

int ctt_shards_undo(struct ctt_shards *s, float *w)
{
    return s->adds ? copy_stretches(s, 1, w, s->start) : 0;
}

/* Like counting in binary: the ones of k are the levels that have sums.  Adds
 * the sums of earlier shards to acc, and keeps it if others follow. */
static int add_levels(struct ctt_shards *s, int k, void *acc)
{
    int64_t bytes = s->weights * ctt_dtype_size(s->how.type);
    int l = 0, rc = 0;

    for (; k >> l & 1; l++)
        CTT_TRY(ctt_dev_sum(s->dev, s->how.type, s->sum[l], acc, s->weights));
    if (k + 1 < s->mine)
        CTT_TRY(ctt_dev_copy(s->dev, CTT_WITHIN, acc, s->sum[l], bytes));
out:
    return rc;
}

/* The same for the mean of moved weights. */
static int add_means(struct ctt_shards *s, int k)
{
    int l = 0, rc = 0;

    if (!s->moved)
        goto out;
    for (; k >> l & 1; l++)
        CTT_TRY(ctt_dev_average(s->dev, s->mean[l], 0.5f, s->now, s->moved));
    if (k + 1 < s->mine)
        CTT_TRY(ctt_dev_copy(s->dev, CTT_WITHIN, s->now, s->mean[l],
                             s->moved * (int64_t)sizeof(*s->now)));
out:
    return rc;
}

/* The host's copy of the gradient of shard k, for the gather. */
static int put_gradient(struct ctt_shards *s, int k,
                        const struct ctt_constraint *c, const float *dw)
{
    float *to = ctt_gather_place(&s->gather, k);
    int rc;

    CTT_TRY(ctt_dev_copy(s->dev, CTT_TO_HOST, dw, to,
                         s->weights * (int64_t)sizeof(*dw)));
    ctt_constraint_clear(c, s->weights, to);
out:
    return rc;
}

void ctt_shards_forget(struct ctt_shards *s, const struct ctt_constraint *c)
{
    for (int k = 0; s->gather.n && k < s->mine; k++)
        ctt_constraint_clear(c, s->weights, s->gather.residual +
                             k * s->weights);
}

int ctt_shards_moved(struct ctt_shards *s, int k, float *w)
{
    int rc = 0;

    if (!s->adds)
        goto out;
    CTT_TRY(copy_stretches(s, 0, w, s->now));
    CTT_TRY(add_means(s, k));
out:
    return rc;
}

int ctt_shards_sum(struct ctt_shards *s, int k, const struct ctt_constraint *c,
                   float *dw)
{
    void *acc = s->half ? s->half : dw;
    int rc = 0;

    if (!s->adds)
        goto out;
    if (ctt_squeeze_is_sparse(&s->how)) {
        CTT_TRY(put_gradient(s, k, c, dw));
        goto out;
    }
    if (s->half)
        CTT_TRY(ctt_dev_cast(s->dev, dw, s->how.type, s->half, s->weights));
    CTT_TRY(add_levels(s, k, acc));
out:
    return rc;
}

int ctt_shards_add(struct ctt_shards *s, int k, const struct ctt_constraint *c,
                   float *w, float *dw)
{
    int rc;

    CTT_TRY(ctt_shards_moved(s, k, w));
    CTT_TRY(ctt_shards_sum(s, k, c, dw));
out:
    return rc;
}

/* Numbers in the device's memory go through the exchange. */
static int exchange(struct ctt_shards *s, struct ctt_exchange *x, void *p)
{
    int64_t bytes = x->count * x->size;
    int rc = 0;

    if (x->ranks == 1 || !x->count)
        goto out;
    CTT_TRY(ctt_dev_copy(s->dev, x->dev ? CTT_WITHIN : CTT_TO_HOST, p,
                         x->whole, bytes));
    CTT_TRY(ctt_exchange_run(x));
    CTT_TRY(ctt_dev_copy(s->dev, x->dev ? CTT_WITHIN : CTT_TO_DEVICE, x->whole,
                         p, bytes));
out:
    return rc;
}

static int end_tree(struct ctt_shards *s, float *dw)
{
    const struct ctt_tensor half = { .data = s->half, .dtype = s->how.type,
                                     .n = 1, .d = 1, .h = 1, .w = 1,
                                     .c = s->weights, .ld = s->weights };
    int rc;

    CTT_TRY(exchange(s, &s->sums, s->half ? s->half : dw + s->from));
    if (s->half)
        CTT_TRY(ctt_dev_get(s->dev, &half, s->host));
out:
    return rc;
}

int ctt_shards_end(struct ctt_shards *s, uint64_t step, double scale, float *w,
                   float *dw)
{
    int rc = 0;

    if (!s->adds)
        goto out;
    if (ctt_squeeze_is_sparse(&s->how))
        CTT_TRY(ctt_gather_run(&s->gather, step, (float)scale, s->host));
    else
        CTT_TRY(end_tree(s, dw));
    if (s->host)
        CTT_TRY(ctt_dev_copy(s->dev, CTT_TO_DEVICE, s->host, dw,
                             s->weights * (int64_t)sizeof(*dw)));
    CTT_TRY(exchange(s, &s->means, s->now));
    CTT_TRY(copy_stretches(s, 1, w, s->now));
out:
    return rc;
}

/* ---- shards apart ---- */

/* Copies moved weights between the device's and the host's memory. */
static int move_host(struct ctt_shards *s, float *dev, int back, float *host)
{
    return ctt_dev_copy(s->dev, back ? CTT_TO_DEVICE : CTT_TO_HOST,
                        back ? host : dev, back ? dev : host,
                        s->moved * (int64_t)sizeof(*host));
}

int ctt_shards_get(struct ctt_shards *s, int since, const float *dw,
                   float *sums)
{
    float *moved = sums + s->weights;
    int rc;

    CTT_TRY(ctt_dev_copy(s->dev, CTT_TO_HOST, dw, sums,
                         s->weights * (int64_t)sizeof(*sums)));
    CTT_TRY(move_host(s, s->now, 0, moved));
    if (!since)
        goto out;
    CTT_TRY(move_host(s, s->start, 0, s->host));
    for (int64_t i = 0; i < s->moved; i++)
        moved[i] -= s->host[i];
out:
    return rc;
}

int ctt_shards_put(struct ctt_shards *s, int since, const float *sums,
                   float *w, float *dw)
{
    const float *moved = sums + s->weights;
    int rc;

    CTT_TRY(ctt_dev_copy(s->dev, CTT_TO_DEVICE, sums, dw,
                         s->weights * (int64_t)sizeof(*sums)));
    if (!s->moved)
        goto out;
    CTT_TRY(copy_stretches(s, 0, w, s->now));
    CTT_TRY(move_host(s, s->now, 0, s->host));
    for (int64_t i = 0; i < s->moved; i++)
        s->host[i] = since ? s->host[i] + moved[i] : moved[i];
    CTT_TRY(move_host(s, s->now, 1, s->host));
    CTT_TRY(copy_stretches(s, 1, w, s->now));
out:
    return rc;
}

double ctt_shards_sent(const struct ctt_shards *s)
{
    if (ctt_squeeze_is_sparse(&s->how))
        return ctt_gather_share(&s->gather);
    return (double)ctt_dtype_size(s->how.type) / sizeof(float);
}
