/* SPDX-License-Identifier: Apache-2.0
 * gather.h: adds sparse gradients of shards (squeeze.h): an all-gather of their
 * codes, which every rank adds in the order of shards.  The values that a shard
 * omits are its residual, added to its next gradient (error feedback, Seide and
 * others 2014). */
#ifndef CTT_GATHER_H
#define CTT_GATHER_H

#include "comm/comm.h"
#include "libtrain/ranks/sparse_code.h"
#include "libtrain/ranks/squeeze.h"

struct ctt_gather {
    struct ctt_comm    *comm;
    struct ctt_squeeze  how;
    int                 shards, mine;    /* of all ranks, of this one */
    int64_t             n;               /* floats of a gradient */
    float              *grad, *residual; /* [mine][n] */
    float              *sample;
    int32_t            *at;              /* [n]: positions of a shard */
    struct ctt_sparse_code  *head, *heads;    /* of mine; of all shards */
    uint8_t            *code, *codes;    /* of mine; of all ranks, each as long
                                            as the longest */
    int64_t             used, room;      /* bytes in code; of codes */
    double              sent, batches;   /* bytes of all ranks so far */
};

/* For gradients of n floats in the host's memory.  CTT_EUNSUP: too many.  Room
 * for four times the share, or with a threshold four percent; only longer codes
 * need memory later. */
int  ctt_gather_open(struct ctt_comm *comm, const struct ctt_squeeze *how,
                     int shards, int64_t n, struct ctt_gather *out);
void ctt_gather_close(struct ctt_gather *g);

/* Bytes of memory for `mine` shards of one rank. */
int64_t ctt_gather_bytes(int64_t n, int mine);

/* Place of the gradient of this rank's shard k, written before run. */
float *ctt_gather_place(struct ctt_gather *g, int k);

/* Called by all ranks.  sum: the sum of the sparse gradients of all shards, the
 * same bits on each rank.  It and the gradients in their places have the factor
 * scale; residuals do not.  step chooses the samples by which a share is met.
 * If a gradient or the sum is not finite, the sum has a NAN or an infinity and
 * the residuals stay. */
int  ctt_gather_run(struct ctt_gather *g, uint64_t step, float scale,
                    float *sum);

/* Bytes sent so far, as a share of those of exchange.c. */
double ctt_gather_share(const struct ctt_gather *g);

/* Floats of the residuals of all shards; 0: not open. */
static inline int64_t ctt_gather_residuals(const struct ctt_gather *g)
{
    return g->shards * g->n;
}

/* Copies the residuals to to[shards][n]; NULL on ranks that do not need them.
 * Called by all ranks. */
int  ctt_gather_save(struct ctt_gather *g, float *to);
void ctt_gather_load(struct ctt_gather *g, const float *from);

#endif
