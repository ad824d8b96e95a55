/* SPDX-License-Identifier: Apache-2.0
 * exchange.h: adds what ranks have as one binary tree, ((0 + 1) + (2 + 3)) +
 * ..., the one of shards.h, so that the bits do not depend on who has what. */
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

/* left[n] becomes what it and right[n] are together. */
void ctt_join(enum ctt_join join, void *left, const void *right, int64_t n);

struct ctt_dev;
struct ctt_exchange;

/* Where the numbers lie and how they get from rank to rank.  trade and tell are
 * those of comm.h, and left[n] becomes what it and right[n] are together; right
 * may change. */
struct ctt_exchange_way {
    int  (*room)(const struct ctt_exchange *x, int64_t bytes, void **out);
    void (*drop)(const struct ctt_exchange *x, void *p);
    int  (*trade)(const struct ctt_exchange *x, const void *from, void *to,
                  int64_t each);
    int  (*tell)(const struct ctt_exchange *x, const void *mine, int64_t n,
                 void *all);
    int  (*join)(const struct ctt_exchange *x, void *left, void *right,
                 int64_t n);
};

struct ctt_exchange {
    struct ctt_comm *comm;
    struct ctt_dev  *dev;              /* whose memory it is, or NULL */
    const struct ctt_exchange_way *way;
    int              ranks;
    enum ctt_join    how;
    int64_t          count;            /* numbers */
    int64_t          slice;            /* of these, a rank's share, in a
                                          multiple of 16 */
    int64_t          size;             /* bytes of a number */
    void            *whole, *pieces;   /* [ranks][slice] */
};

/* For so many numbers, floats or 16 bits, in the host's memory.  CTT_EINVAL:
 * the number of ranks is not a power of two.  One rank needs no memory. */
int  ctt_exchange_open(struct ctt_comm *comm, enum ctt_join join, int64_t count,
                       struct ctt_exchange *out);

/* The same in the memory of the device, by this way of its own (direct.h);
 * dev NULL: the host's. */
int  ctt_exchange_open_at(struct ctt_dev *dev,
                          const struct ctt_exchange_way *way,
                          struct ctt_comm *comm, enum ctt_join join,
                          int64_t count, struct ctt_exchange *out);
void ctt_exchange_close(struct ctt_exchange *x);

/* What each rank has in x->whole[count] becomes what all come to, the same bits
 * on each rank.  A rank sends and gets (ranks - 1) / ranks of the bytes twice,
 * as a reduce-scatter and an all-gather (Rabenseifner 2004) would.  With one
 * rank, or no numbers, there is nothing to do. */
int  ctt_exchange_run(struct ctt_exchange *x);

#endif
