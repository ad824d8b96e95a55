/* SPDX-License-Identifier: Apache-2.0
 * exchange.h: an all-reduce: adds the gradients of ranks as one binary tree,
 * ((0 + 1) + (2 + 3)) + ..., that of shards.h, so that the bits do not depend
 * on which rank has which shard. */
#ifndef CTT_EXCHANGE_H
#define CTT_EXCHANGE_H

#include "comm/comm.h"
#include "base/half.h"

/* How two branches of the tree become one: their sum, in 16 bits rounded, or
 * their mean. */
enum ctt_join { CTT_JOIN_SUM, CTT_JOIN_BF16, CTT_JOIN_F16, CTT_JOIN_MEAN };

/* The sum of floats or of 16-bit numbers. */
static inline enum ctt_join ctt_join_of(enum ctt_dtype type)
{
    assert(ctt_is_float_type(type));
    return type == CTT_BF16 ? CTT_JOIN_BF16 :
           type == CTT_F16 ? CTT_JOIN_F16 : CTT_JOIN_SUM;
}

/* left[n] becomes the join of left[n] and right[n]. */
void ctt_join(enum ctt_join join, void *left, const void *right, int64_t n);

struct ctt_dev;
struct ctt_exchange;

/* The memory of the numbers, and how they get from rank to rank: allgather and
 * alltoall as in comm.h.  join: left[n] becomes the join of both; right may
 * change.  (No member is called free: SimGrid makes a macro of it.) */
struct ctt_transport {
    int  (*alloc)(const struct ctt_exchange *x, int64_t bytes, void **out);
    void (*release)(const struct ctt_exchange *x, void *p);
    int  (*alltoall)(const struct ctt_exchange *x, const void *from, void *to,
                     int64_t each);
    int  (*allgather)(const struct ctt_exchange *x, const void *mine,
                      int64_t n, void *all);
    int  (*join)(const struct ctt_exchange *x, void *left, void *right,
                 int64_t n);
};

struct ctt_exchange {
    struct ctt_comm *comm;
    struct ctt_dev  *dev;              /* owner of the memory, or NULL */
    const struct ctt_transport *by;
    int              ranks;
    enum ctt_join    how;
    int64_t          count;            /* numbers */
    int64_t          slice;            /* numbers of a rank, a multiple of
                                          16 */
    int64_t          size;             /* bytes of a number */
    void            *whole, *pieces;   /* [ranks][slice] */
};

/* For so many numbers, floats or 16 bits, in the host's memory.  CTT_EINVAL:
 * the number of ranks is not a power of two.  One rank needs no memory. */
int  ctt_exchange_open(struct ctt_comm *comm, enum ctt_join join, int64_t count,
                       struct ctt_exchange *out);

/* The same in the memory of a device, by its own transport (gpu_exchange.h);
 * dev NULL: the host's. */
int  ctt_exchange_open_at(struct ctt_dev *dev,
                          const struct ctt_transport *by,
                          struct ctt_comm *comm, enum ctt_join join,
                          int64_t count, struct ctt_exchange *out);
void ctt_exchange_close(struct ctt_exchange *x);

/* x->whole[count] of each rank becomes the sum over all, the same bits on each
 * rank.  A rank sends and gets (ranks - 1) / ranks of the bytes twice, as a
 * reduce-scatter and an all-gather (Rabenseifner 2004) would.  One rank, or no
 * numbers: nothing to do. */
int  ctt_exchange_run(struct ctt_exchange *x);

#endif
