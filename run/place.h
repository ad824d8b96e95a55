/* SPDX-License-Identifier: Apache-2.0
 * place.h: bytes of a node's values, and where they lie in a block. */
#ifndef CTT_PLACE_H
#define CTT_PLACE_H

#include "run/run.h"

/* The type of a node's values before the names are followed: a name has that of
 * what it names. */
static inline enum ctt_dtype ctt_place_type(const struct ctt_run *r, int node)
{
    return r->type ? r->type[node] : CTT_F32;
}

/* Bytes in a block, at most; moves *at on by so many, or an error. */
#define CTT_BLOCK_MOST (INT64_C(1) << 46)
int  ctt_place_take(int64_t *at, int64_t bytes);

/* Bytes before step 0, so that this is at a multiple of 64, and of some steps
 * (asks) of a node. */
int64_t ctt_place_before(const struct ctt_run *r, int node);
int64_t ctt_place_bytes(const struct ctt_run *r, int node, int steps);

/* Gives a name the place of the node whose memory it is. */
void ctt_place_names(struct ctt_run *r);

#endif
