/* SPDX-License-Identifier: Apache-2.0
 * exchange.h: adds what ranks have as one binary tree, ((0 + 1) + (2 + 3)) +
 * ..., the one of shards.h, so that the bits do not depend on who has what. */
#ifndef CTT_EXCHANGE_H
#define CTT_EXCHANGE_H

#include "comm/comm.h"

struct ctt_exchange {
    struct ctt_comm *comm;
    int              ranks;
    int64_t          floats, slice;    /* of the whole; of a rank's share */
    float           *whole, *pieces;   /* [ranks][slice] */
};

/* For sums of so many floats in the host's memory.  CTT_EINVAL: the number of
 * ranks is not a power of two.  One rank needs no memory. */
int  ctt_exchange_open(struct ctt_comm *comm, int64_t floats,
                       struct ctt_exchange *out);
void ctt_exchange_close(struct ctt_exchange *x);

/* p[floats]: what this rank has becomes the sum of all ranks, the same bits on
 * each.  A rank sends and gets (ranks - 1) / ranks of the bytes twice, as a
 * reduce-scatter and an all-gather (Rabenseifner 2004) would. */
int  ctt_exchange_sum(struct ctt_exchange *x, float *p);

#endif
