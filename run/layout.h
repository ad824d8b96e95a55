/* SPDX-License-Identifier: Apache-2.0
 * layout.h: the parts of laying out a run: names, fused kernels, places, and
 * memory that is used again. */
#ifndef CTT_LAYOUT_H
#define CTT_LAYOUT_H

#include "run/run.h"

/* layout.c: fills r->slot and r->extent, and r->values of a run with memory of
 * its own, from the graph and the sizes in r.  saved, windows: as for
 * ctt_run_open_bare(); saved NULL: all. */
int  ctt_run_layout(struct ctt_run *r, const char *saved, int windows);

/* The type of a node's values before the names are followed: a name has that of
 * what it names. */
static inline enum ctt_dtype ctt_layout_type(const struct ctt_run *r, int node)
{
    return r->type ? r->type[node] : CTT_F32;
}

/* fuse.c: which acts are applied by the kernel before them; which convs have
 * their plus input in their own memory, and what is fused into a conv.
 * readers: edges that name each node.  saved as above. */
void ctt_layout_fuse_acts(struct ctt_run *r, const int *readers);
int  ctt_layout_fuse_convs(struct ctt_run *r, const int *readers,
                           const char *saved);

/* place.c: bytes in a block, at most; moves *at on by so many, or an error. */
#define CTT_BLOCK_MOST (INT64_C(1) << 46)
int  ctt_place_take(int64_t *at, int64_t bytes);

/* Bytes before step 0, so that this is at a multiple of 64, and of some steps
 * (asks) of a node. */
int64_t ctt_place_before(const struct ctt_run *r, int node);
int64_t ctt_place_bytes(const struct ctt_run *r, int node, int steps);

/* Gives a name the place of the node whose memory it is. */
void ctt_place_names(struct ctt_run *r);

/* reuse.c: places the values of a sliding run, nodes one after the other in the
 * same memory. */
int  ctt_layout_reuse(struct ctt_run *r);

#endif
