/* SPDX-License-Identifier: Apache-2.0
 * shards.h: gradient accumulation: a batch in equal parts, shards, which are
 * computed one after the other in the memory of one, by one process or by
 * several (comm.h), each an equal number of neighbouring shards.  Gradients are
 * added as one binary tree, ((0 + 1) + (2 + 3)) + ..., so that the sum does not
 * depend on which process computes which shard. */
#ifndef CTT_SHARDS_H
#define CTT_SHARDS_H

#include "device/memory.h"
#include "libtrain/data/bucket.h"
#include "libtrain/ranks/exchange.h"
#include "libtrain/ranks/gather.h"
#include "net/constraint.h"

enum { CTT_SHARD_LEVELS = 11, CTT_MAX_SHARDS = 1 << (CTT_SHARD_LEVELS - 1) };

/* Clips of a shard. */
static inline int ctt_cfg_shard(const struct ctt_train_cfg *cfg)
{
    return cfg->shards > 1 ? cfg->batch / cfg->shards : cfg->batch;
}

/* Moved weights: statistics of batch norms, which no gradient trains and a
 * forward pass moves, taken of a shard (Hoffer and others 2017).  Each shard
 * begins with the statistics from before the batch; the result is the mean over
 * the shards. */
struct ctt_shards {
    int             count;               /* of a batch */
    int             first, mine;         /* this rank's: first and how many */
    int             adds;                /* 0: one shard is the whole batch */
    struct ctt_dev *dev;
    int64_t         weights, moved;      /* floats of the model; moved ones */
    int64_t         from;                /* first one whose gradients ranks
                                            add */
    struct ctt_stretch *stretch;         /* places of the moved ones */
    int             stretches;
    struct ctt_squeeze how;              /* how gradients are added */
    void  *sum[CTT_SHARD_LEVELS];        /* of the last 1, 2, 4, ... shards */
    void  *half;                         /* of all shards so far, in 16 bits */
    float *host;                         /* a gradient in the host's memory, or
                                            NULL */
    float *mean[CTT_SHARD_LEVELS];       /* moved weights of these shards */
    float *start;                        /* moved weights before the batch */
    float *now;                          /* moved weights of a shard */
    struct ctt_exchange sums, means;     /* of ranks */
    struct ctt_gather   gather;          /* in place of sums, if sparse */
    struct ctt_order part;               /* of ctt_shards_plan() */
};

/* The division of shards among ranks: this rank has part `part` of `parts`, and
 * `group` ranks compute it together (groups.h; 0: one).  The ranks of comm add
 * the gradients (NULL: one rank, with all shards), or with `apart` another rank
 * does, to which ctt_shards_get() gives them. */
struct ctt_share {
    int parts, part, group, apart;
    struct ctt_comm *comm;
    int direct;    /* 1: GPUs exchange gradients (gpu_exchange.h) */
};

/* Prepares batches of `count` shards (a power of two, at most CTT_MAX_SHARDS)
 * of the plan, for the model g.  One shard, unless apart, needs no memory, and
 * all functions leave its gradient unchanged.  CTT_EINVAL: the shards cannot be
 * divided into the parts, or --squeeze with a single shard. */
int  ctt_shards_open(const struct ctt_graph *g, int count,
                     const struct ctt_squeeze *how,
                     const struct ctt_order *plan, struct ctt_dev *dev,
                     const struct ctt_share *share, struct ctt_shards *out);
void ctt_shards_close(struct ctt_shards *s);

/* Ranks add only `count` floats of their gradients, from this one on, as the
 * others are not theirs; without --squeeze. */
int  ctt_shards_narrow(struct ctt_shards *s, int64_t from, int64_t count);

/* CTT_EINVAL unless --shards suits --batch and the options that mix clips of a
 * shard. */
int  ctt_shards_check(const struct ctt_train_cfg *cfg);

/* Bytes of ctt_shards_open() for a model of `weights` weights, without moved
 * ones; of the host's memory with sparse gradients. */
int64_t ctt_shards_bytes(int64_t weights, int count,
                         const struct ctt_squeeze *how);

/* The plan, with its present batches, as a plan of this rank's shards: shard k
 * of batch b is batch b * mine + k.  Valid until the next call. */
const struct ctt_order *ctt_shards_plan(struct ctt_shards *s,
                                        const struct ctt_order *plan);

/* The same with single batches of the plan: clear removes all, append adds
 * batch b.  Returns the plan for the loader, or NULL without room. */
void ctt_shards_clear(struct ctt_shards *s, const struct ctt_order *plan);
const struct ctt_order *ctt_shards_append(struct ctt_shards *s,
                                          const struct ctt_order *plan, int b);

/* Before and after this rank's shard k, from 0, in order; w: the weights, dw:
 * the gradient of the shard, both in the device's memory.  Sparse gradients
 * omit weights that c prunes. */
int  ctt_shards_begin(struct ctt_shards *s, int k, float *w);
int  ctt_shards_add(struct ctt_shards *s, int k, const struct ctt_constraint *c,
                    float *w, float *dw);

/* The parts of add: moved, after the forward pass of shard k; sum, with its
 * gradient, in the same dw each time. */
int  ctt_shards_moved(struct ctt_shards *s, int k, float *w);
int  ctt_shards_sum(struct ctt_shards *s, int k, const struct ctt_constraint *c,
                    float *dw);

/* After a change of c: clears the residuals of pruned weights. */
void ctt_shards_forget(struct ctt_shards *s, const struct ctt_constraint *c);

/* After the last shard, on all ranks: dw, as add left it, becomes the gradient
 * of the batch of number `step`.  scale: the loss scale, a factor of the
 * gradients. */
int  ctt_shards_end(struct ctt_shards *s, uint64_t step, double scale, float *w,
                    float *dw);

/* After the last shard, with apart: get fills sums[weights + moved] in the
 * host's memory: the gradient and the moved weights, or with `since` their
 * differences.  put is the reverse, on the rank that has added them up. */
int  ctt_shards_get(struct ctt_shards *s, int since, const float *dw,
                    float *sums);
int  ctt_shards_put(struct ctt_shards *s, int since, const float *sums,
                    float *w, float *dw);

/* Bytes of gradients that ranks have sent, as a share of those without
 * --squeeze. */
double ctt_shards_sent(const struct ctt_shards *s);

/* After shards of a batch without end: restores w from before the batch. */
int  ctt_shards_undo(struct ctt_shards *s, float *w);

#endif
