/* SPDX-License-Identifier: Apache-2.0
 * exchange.h: adds what ranks have as one binary tree, ((0 + 1) + (2 + 3)) +
 * ..., the one of shards.h, so that the bits do not depend on who has what. */
#ifndef CTT_EXCHANGE_H
#define CTT_EXCHANGE_H

#include "comm/comm.h"

struct ctt_exchange {
    struct ctt_comm *comm;
    int              ranks;
    int64_t          sums, floats;     /* floats: with the means */
    int64_t          slice;            /* of these, a rank's share */
    float           *whole, *pieces;   /* [ranks][slice] */
};

/* For so many sums and, behind them, means in the host's memory.  CTT_EINVAL:
 * the number of ranks is not a power of two.  One rank needs no memory. */
int  ctt_exchange_open(struct ctt_comm *comm, int64_t sums, int64_t means,
                       struct ctt_exchange *out);
void ctt_exchange_close(struct ctt_exchange *x);

/* What each rank has in x->whole[floats] becomes the sum of all, or their mean,
 * in which each branch of the tree counts one half: the same bits on each rank.
 * A rank sends and gets (ranks - 1) / ranks of the bytes twice, as
 * a reduce-scatter and an all-gather (Rabenseifner 2004) would.  With one rank
 * there is nothing to do. */
int  ctt_exchange_run(struct ctt_exchange *x);

#endif
