/* SPDX-License-Identifier: Apache-2.0
 * place.c: the size of a node's values, and their offsets in a block that holds
 * one node after the other. */
#include "run/place.h"
#include "base/half.h"

int ctt_place_take(int64_t *at, int64_t bytes)
{
    int rc = 0;

    CTT_CHECK(bytes <= CTT_BLOCK_MOST - *at, CTT_EINVAL,
              "the model's values do not fit into memory");
    *at += bytes;
out:
    return rc;
}

void ctt_place_names(struct ctt_run *r)
{
    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i], *of = &r->slot[s->alias];

        s->at = of->at;
        s->size = of->size;
        s->history = of->history;
        s->kept = of->kept;
        s->type = of->type;
        s->block = of->block;
    }
}

int64_t ctt_place_before(const struct ctt_run *r, int node)
{
    const struct ctt_slot *s = &r->slot[node];

    return node < r->g->clip ? ctt_align(ctt_slot_before(s) * s->size *
                                         ctt_dtype_size(s->type), 64) : 0;
}

/* Bytes per step, or per ask. */
static int64_t each(const struct ctt_run *r, int node)
{
    int64_t n = node < r->g->clip ? r->slot[node].size
                                  : ctt_volume(&r->g->node[node].out);

    return ctt_align(n * ctt_dtype_size(r->slot[node].type), 64);
}

int64_t ctt_place_bytes(const struct ctt_run *r, int node, int steps)
{
    return each(r, node) * steps;
}

void ctt_run_place(struct ctt_run *r, int steps, int asks)
{
    int64_t at[CTT_BLOCKS] = { 0 };

    for (int i = 0; i < r->g->count; i++) {
        struct ctt_slot *s = &r->slot[i];

        if (s->alias != i)
            continue;
        at[s->block] += ctt_place_before(r, i);
        s->at = at[s->block];
        at[s->block] +=
            ctt_place_bytes(r, i, i < r->g->clip ? steps : asks);
    }
    ctt_place_names(r);
}
