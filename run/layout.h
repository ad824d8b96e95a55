/* SPDX-License-Identifier: Apache-2.0
 * layout.h: the steps of laying out a run's values: names, operator fusion,
 * offsets, and memory reuse. */
#ifndef CTT_LAYOUT_H
#define CTT_LAYOUT_H

#include "run/place.h"

/* layout.c: fills r->slot and r->extent from the graph and the sizes in r; of a
 * sliding run also r->values.  saved, windows: as for ctt_run_open_bare();
 * saved NULL: all. */
int  ctt_run_layout(struct ctt_run *r, const char *saved, int windows);

/* Places of recorded work: two a step, and one a number of asks. */
static inline int ctt_run_places(const struct ctt_run *r)
{
    return 2 * r->room + r->max_asks;
}

/* fuse.c.  acts, then quants: marks those that the preceding kernel applies.
 * convs: marks convs that accumulate into the memory of their plus input, and
 * nodes that are fused into a conv.  readers: number of edges from each node.
 * saved as above. */
void ctt_layout_fuse_acts(struct ctt_run *r, const int *readers);
void ctt_layout_fuse_quants(struct ctt_run *r, const int *readers);
int  ctt_layout_fuse_convs(struct ctt_run *r, const int *readers,
                           const char *saved);

/* Adds the number of edges that start at node i to readers[i]. */
void ctt_layout_readers(const struct ctt_graph *g, int *readers);

/* half.c: sets r->mul and r->type for a run whose convs multiply 16 bits. */
int  ctt_run_halve(struct ctt_run *r, enum ctt_dtype type);

/* weights.c: allocates r->weight and points it at the floats of the flat
 * block. */
int  ctt_run_flat_weights(struct ctt_run *r);

/* weights.c: after the weights are known, and before a window: lets convs of
 * quantised values read rounded weights where their kernels would not round
 * them: in a run with a backward pass. */
int  ctt_run_round(struct ctt_run *r);

/* reuse.c: places the values of a sliding run; nodes whose values are not
 * needed at the same time share memory. */
int  ctt_layout_reuse(struct ctt_run *r);

#endif
