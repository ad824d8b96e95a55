/* SPDX-License-Identifier: Apache-2.0
 * place.h: the size of a node's values and their offset in a block. */
#ifndef CTT_PLACE_H
#define CTT_PLACE_H

#include "run/run.h"

/* The type of a node's values before names are resolved: a name then takes the
 * type of the node that it names. */
static inline enum ctt_dtype ctt_place_type(const struct ctt_run *r,
                                            int node)
{
    if (r->bytes && r->g->node[node].out.scale > 0)
        return r->bytes;
    return r->type ? r->type[node] : CTT_F32;
}

/* The largest block in bytes. */
#define CTT_BLOCK_MOST (INT64_C(1) << 46)

/* Advances *at by `bytes`; CTT_EINVAL if the block would exceed
 * CTT_BLOCK_MOST. */
int  ctt_place_take(int64_t *at, int64_t bytes);

/* Steps that have memory before step 0. */
static inline int64_t ctt_slot_before(const struct ctt_slot *s)
{
    return (int64_t)s->kept + s->history;
}

/* The shift for step `past` of a clip: of the steps before it, multiples of
 * 2^shift are kept. */
static inline int ctt_kept_shift(const struct ctt_slot *s, int64_t past)
{
    return s->kept && past ? ctt_window_shift(s->kept / 2, past - 1) : 0;
}

/* The place of step `step` of the clip, kept or of the run, in steps from the
 * run's step 0, which is step `past` of the clip. */
static inline int64_t ctt_kept_at(const struct ctt_slot *s, int64_t past,
                                  int64_t step)
{
    return step >= past ? step - past : (step >> ctt_kept_shift(s, past)) -
                                        ctt_slot_before(s);
}

/* before: bytes of a node's memory before step 0, rounded up to a multiple of
 * 64.  bytes: of `steps` of its steps (asks). */
int64_t ctt_place_before(const struct ctt_run *r, int node);
int64_t ctt_place_bytes(const struct ctt_run *r, int node, int steps);

/* Copies to each name the offset and size of the node that owns its memory. */
void ctt_place_names(struct ctt_run *r);

#endif
