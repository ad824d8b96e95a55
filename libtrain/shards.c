/* SPDX-License-Identifier: Apache-2.0
 * shards.c: adds the gradients of shards. */
#include "libtrain/shards.h"
#include "libtrain/before.h"

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

int64_t ctt_shards_bytes(int64_t weights, int count)
{
    int64_t bytes = 0;

    for (; count > 1; count /= 2)
        bytes += weights * (int64_t)sizeof(float);
    return bytes;
}

/* ---- what a forward pass moves ---- */

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
static int move(struct ctt_shards *s, int back, float *w, float *packed)
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

static int room(struct ctt_shards *s, int64_t floats, float **out)
{
    void *p = NULL;
    int rc = 0;

    if (floats)
        rc = ctt_dev_alloc(s->dev, "the gradients of shards",
                           floats * (int64_t)sizeof(float), &p);
    *out = p;
    return rc;
}

static int open_sums(const struct ctt_graph *g, struct ctt_shards *s)
{
    int rc = 0;

    s->weights = g->weights;
    CTT_TRY(find_moved(g, s));
    CTT_TRY(room(s, s->moved, &s->start));
    CTT_TRY(room(s, s->moved, &s->now));
    for (int l = 0; 1 << l < s->mine; l++) {
        CTT_TRY(room(s, s->weights, &s->sum[l]));
        CTT_TRY(room(s, s->moved, &s->mean[l]));
    }
out:
    return rc;
}

static int open_part(const struct ctt_order *plan, struct ctt_shards *s)
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
                    const struct ctt_order *plan, struct ctt_dev *dev,
                    struct ctt_comm *comm, struct ctt_shards *s)
{
    const struct ctt_comm_place *p = ctt_comm_place(comm);
    int rc = 0;

    *s = (struct ctt_shards){ .count = count, .dev = dev };
    CTT_CHECK(count % p->ranks == 0, CTT_EINVAL, "--shards=%d: %d processes "
              "cannot share them equally", count, p->ranks);
    s->mine = count / p->ranks;
    s->first = s->mine * p->rank;
    CTT_TRY(open_part(plan, s));
    if (count > 1)
        CTT_TRY(open_sums(g, s));
    CTT_TRY(ctt_exchange_open(comm, s->weights, s->moved, &s->x));
out:
    return rc;
}

static void drop(struct ctt_shards *s, float **p)
{
    void *block = *p;

    if (block)
        ctt_dev_free(s->dev, &block);
    *p = NULL;
}

void ctt_shards_close(struct ctt_shards *s)
{
    for (int l = 0; l < CTT_SHARD_LEVELS; l++) {
        drop(s, &s->sum[l]);
        drop(s, &s->mean[l]);
    }
    drop(s, &s->start);
    drop(s, &s->now);
    ctt_exchange_close(&s->x);
    ctt_free(s->stretch);
    ctt_free(s->part.steps);
    ctt_free(s->part.clip);
    ctt_free(s->part.turn);
    memset(s, 0, sizeof(*s));
}

const struct ctt_order *ctt_shards_plan(struct ctt_shards *s,
                                        const struct ctt_order *plan)
{
    struct ctt_order *p = &s->part;
    size_t n = (size_t)(p->n * s->mine);

    for (int i = 0; i < p->batches; i++)
        p->steps[i] = plan->steps[i / s->mine];
    for (int b = 0; b < plan->batches; b++) {
        size_t to = (size_t)b * n;
        size_t from = (size_t)b * (size_t)plan->n + (size_t)(p->n * s->first);

        memcpy(p->clip + to, plan->clip + from, n * sizeof(int));
        if (p->turn)
            memcpy(p->turn + to, plan->turn + from, n * sizeof(int));
    }
    p->a = plan->a;
    return p;
}

/* ---- a batch ---- */

int ctt_shards_begin(struct ctt_shards *s, int k, float *w)
{
    return s->count == 1 ? 0 : move(s, k > 0, w, s->start);
}

int ctt_shards_undo(struct ctt_shards *s, float *w)
{
    return s->count == 1 ? 0 : move(s, 1, w, s->start);
}

/* Adds what the shards before have at a level: as many as now and dw have. */
static int add_level(struct ctt_shards *s, int l, float *dw)
{
    int rc;

    CTT_TRY(ctt_dev_sum(s->dev, CTT_F32, s->sum[l], dw, s->weights));
    if (s->moved)
        CTT_TRY(ctt_dev_average(s->dev, s->mean[l], 0.5f, s->now, s->moved));
out:
    return rc;
}

static int keep_level(struct ctt_shards *s, int l, const float *dw)
{
    int rc;

    CTT_TRY(ctt_dev_copy(s->dev, CTT_WITHIN, dw, s->sum[l],
                         s->weights * (int64_t)sizeof(*dw)));
    if (s->moved)
        CTT_TRY(ctt_dev_copy(s->dev, CTT_WITHIN, s->now, s->mean[l],
                             s->moved * (int64_t)sizeof(*dw)));
out:
    return rc;
}

/* Like counting in binary: the ones of k are the levels that have sums. */
int ctt_shards_add(struct ctt_shards *s, int k, float *w, float *dw)
{
    int l = 0, rc = 0;

    if (s->count == 1)
        goto out;
    CTT_TRY(move(s, 0, w, s->now));
    for (; k >> l & 1; l++)
        CTT_TRY(add_level(s, l, dw));
    if (k + 1 < s->mine)
        CTT_TRY(keep_level(s, l, dw));
out:
    return rc;
}

/* Copies what this rank's shards came to out to the exchange, or back. */
static int carry(struct ctt_shards *s, int back, float *dw)
{
    const struct { float *p; int64_t n; } parts[] = {
        { dw, s->weights }, { s->now, s->moved },
    };
    enum ctt_direction way = back ? CTT_TO_DEVICE : CTT_TO_HOST;
    float *host = s->x.whole;
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(parts) && parts[i].n; i++) {
        CTT_TRY(ctt_dev_copy(s->dev, way, back ? host : parts[i].p,
                             back ? parts[i].p : host,
                             parts[i].n * (int64_t)sizeof(float)));
        host += parts[i].n;
    }
out:
    return rc;
}

int ctt_shards_end(struct ctt_shards *s, float *w, float *dw)
{
    int rc = 0;

    if (s->count == 1)
        goto out;
    if (s->x.ranks > 1) {
        CTT_TRY(carry(s, 0, dw));
        CTT_TRY(ctt_exchange_run(&s->x));
        CTT_TRY(carry(s, 1, dw));
    }
    CTT_TRY(move(s, 1, w, s->now));
out:
    return rc;
}
