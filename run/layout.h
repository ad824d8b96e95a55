/* SPDX-License-Identifier: Apache-2.0
 * layout.h: the parts of laying out a run: names, fused kernels, places, and
 * memory that is used again. */
#ifndef CTT_LAYOUT_H
#define CTT_LAYOUT_H

#include "run/place.h"

/* layout.c: fills r->slot and r->extent, and r->values of a run with memory of
 * its own, from the graph and the sizes in r.  saved, windows: as for
 * ctt_run_open_bare(); saved NULL: all. */
int  ctt_run_layout(struct ctt_run *r, const char *saved, int windows);

/* fuse.c: which acts are applied by the kernel before them; which convs have
 * their plus input in their own memory, and what is fused into a conv.
 * readers: edges that name each node.  saved as above. */
void ctt_layout_fuse_acts(struct ctt_run *r, const int *readers);
int  ctt_layout_fuse_convs(struct ctt_run *r, const int *readers,
                           const char *saved);

/* weights.c: makes r->weight, of floats in the flat block. */
int  ctt_run_flat_weights(struct ctt_run *r);

/* reuse.c: places the values of a sliding run, nodes one after the other in the
 * same memory. */
int  ctt_layout_reuse(struct ctt_run *r);

#endif
