/* SPDX-License-Identifier: Apache-2.0
 * layout.h: the parts of laying out a run: names, what kernels take along, and
 * who shares memory. */
#ifndef CTT_LAYOUT_H
#define CTT_LAYOUT_H

#include "run/run.h"

/* layout.c: fills r->slot and r->extent, and r->values of a run with memory of
 * its own, from the graph and the sizes in r.  kept, windows: as for
 * ctt_run_open_bare(); kept NULL: all. */
int  ctt_run_layout(struct ctt_run *r, const char *kept, int windows);

/* Moves *at on by so many bytes; an error if a block gets too large. */
int  ctt_layout_take(int64_t *at, int64_t bytes);

/* Bytes before step 0, so that this is at a multiple of 64, and of some steps
 * (asks) of a node. */
int64_t ctt_layout_before(const struct ctt_run *r, int node);
int64_t ctt_layout_bytes(const struct ctt_run *r, int node, int steps);

/* weights.c: makes r->weight, of floats in the flat block. */
int  ctt_run_flat_weights(struct ctt_run *r);

/* run.c: bytes of r->live. */
int64_t ctt_run_live_bytes(const struct ctt_run *r);

/* Gives a name the place of the node whose memory it is. */
void ctt_layout_follow(struct ctt_run *r);

/* along.c: which convs have their plus input in their own memory, and what may
 * go along with a conv.  readers: edges that name each node. */
int  ctt_layout_along(struct ctt_run *r, const int *readers, const char *kept);

/* share.c: places the values of a sliding run, nodes one after the other in the
 * same memory. */
int  ctt_layout_share(struct ctt_run *r);

#endif
