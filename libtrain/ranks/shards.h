/* SPDX-License-Identifier: Apache-2.0
 * shards.h: a batch in equal parts, shards, that are computed one after the
 * other in the memory of one (gradient accumulation), by one process or by
 * several (comm.h), of which each has equally many neighbouring ones.  Their
 * gradients are added as one binary tree, ((0 + 1) + (2 + 3)) + ..., so that
 * the sum does not depend on which process computes which of them. */
#ifndef CTT_SHARDS_H
#define CTT_SHARDS_H

#include "device/memory.h"
#include "libtrain/data/bucket.h"
#include "libtrain/ranks/exchange.h"
#include "libtrain/ranks/gather.h"
#include "net/constraint.h"

enum { CTT_SHARD_LEVELS = 11, CTT_MAX_SHARDS = 1 << (CTT_SHARD_LEVELS - 1) };

/* Clips that are computed at a time: a batch has `shards` times as many. */
static inline int ctt_cfg_shard(const struct ctt_train_cfg *cfg)
{
    return cfg->shards > 1 ? cfg->batch / cfg->shards : cfg->batch;
}

/* Weights that no gradient trains but that a forward pass moves: the statistics
 * of batch norms, taken of a shard (Hoffer and others 2017).  Each shard begins
 * with those from before the batch, and what they become is the mean over the
 * shards. */
struct ctt_shards {
    int             count;               /* of a batch */
    int             first, mine;         /* this rank's: first and how many */
    int             adds;                /* 0: nothing is added, as one shard is
                                            the whole */
    struct ctt_dev *dev;
    int64_t         weights, moved;      /* floats: of the model; of those */
    struct ctt_stretch *stretch;         /* where the moved ones are */
    int             stretches;
    struct ctt_squeeze how;              /* how gradients are added */
    void  *sum[CTT_SHARD_LEVELS];        /* of the last 1, 2, 4, ... shards */
    void  *half;                         /* of all shards so far, in 16 bits */
    float *host;                         /* a gradient, where that is needed */
    float *mean[CTT_SHARD_LEVELS];       /* of the weights that these moved */
    float *start;                        /* those from before the batch */
    float *now;                          /* room for those of a shard */
    struct ctt_exchange sums, means;     /* of ranks */
    struct ctt_gather   gather;          /* in place of sums, if sparse */
    struct ctt_order part;               /* of ctt_shards_plan() */
};

/* Who computes which shards: they are divided into so many parts, and this rank
 * has number `part`.  Either the ranks of comm add them up (NULL: one rank,
 * which has all), or, with `apart`, ctt_shards_get() tells what they come
 * to. */
struct ctt_share {
    int parts, part, apart;
    struct ctt_comm *comm;
    int direct;    /* 1: their devices have met and exchange (direct.h) */
};

/* Prepares batches of `count` shards (a power of two, at most CTT_MAX_SHARDS)
 * of the plan, for the model g.  One shard needs no memory, and all functions
 * leave its gradient as it is, but for one apart.  CTT_EINVAL: the shards do
 * not make so many parts, or a single one is to be squeezed. */
int  ctt_shards_open(const struct ctt_graph *g, int count,
                     const struct ctt_squeeze *how,
                     const struct ctt_order *plan, struct ctt_dev *dev,
                     const struct ctt_share *share, struct ctt_shards *out);
void ctt_shards_close(struct ctt_shards *s);

/* CTT_EINVAL unless --shards suits --batch and what mixes clips, which is done
 * within a shard. */
int  ctt_shards_check(const struct ctt_train_cfg *cfg);

/* Bytes that ctt_shards_open() takes for a model of so many weights, but for
 * what a forward pass moves; sparse gradients take them of the host. */
int64_t ctt_shards_bytes(int64_t weights, int count,
                         const struct ctt_squeeze *how);

/* The plan, whose batches may be others now, as one of this rank's shards: its
 * shard k of batch b is batch b * mine + k.  Valid until the next call. */
const struct ctt_order *ctt_shards_plan(struct ctt_shards *s,
                                        const struct ctt_order *plan);

/* In place of the whole plan, a batch of it after the other: clear takes none,
 * and append batch b.  Returns what the loader takes, or NULL if there is no
 * room for another one. */
void ctt_shards_clear(struct ctt_shards *s, const struct ctt_order *plan);
const struct ctt_order *ctt_shards_append(struct ctt_shards *s,
                                          const struct ctt_order *plan, int b);

/* Before and after this rank's shard k, from 0, which are called in order; w:
 * the weights, dw: the gradient of the shard, both in the device's memory.
 * What c prunes is not sent where gradients are sparse. */
int  ctt_shards_begin(struct ctt_shards *s, int k, float *w);
int  ctt_shards_add(struct ctt_shards *s, int k, const struct ctt_constraint *c,
                    float *w, float *dw);

/* The parts of add: what the forward pass of shard k has moved, after it; and
 * its gradient, whose dw is the same one each time. */
int  ctt_shards_moved(struct ctt_shards *s, int k, float *w);
int  ctt_shards_sum(struct ctt_shards *s, int k, const struct ctt_constraint *c,
                    float *dw);

/* After a change of c: what residuals have of pruned weights is forgotten. */
void ctt_shards_forget(struct ctt_shards *s, const struct ctt_constraint *c);

/* After the last one, on all ranks: dw, as add left it, becomes the gradient of
 * the batch of number `step`.  scale: the loss scale, a factor that the shards'
 * have. */
int  ctt_shards_end(struct ctt_shards *s, uint64_t step, double scale, float *w,
                    float *dw);

/* After the last one, of shards apart: what they come to, sums[weights + moved]
 * in the host's memory: their gradient and what a forward pass has moved; with
 * `since`, by how much it has.  put is the reverse, on the rank that has added
 * them up. */
int  ctt_shards_get(struct ctt_shards *s, int since, const float *dw,
                    float *sums);
int  ctt_shards_put(struct ctt_shards *s, int since, const float *sums,
                    float *w, float *dw);

/* The bytes that ranks have told each other of gradients, as a share of those
 * without --squeeze. */
double ctt_shards_sent(const struct ctt_shards *s);

/* After shards of a batch that does not end: w is as it was before it. */
int  ctt_shards_undo(struct ctt_shards *s, float *w);

#endif
