/* SPDX-License-Identifier: Apache-2.0
 * parts.h: an all-gather of gradients, of which each rank has computed those of
 * a part of the weights. */
#ifndef CTT_PARTS_H
#define CTT_PARTS_H

#include "comm/comm.h"
#include "device/memory.h"
#include "net/graph.h"

/* Weights of a rank: floats with a gradient, or floats that its forward pass
 * moves. */
struct ctt_weights_part { int rank, moved; int64_t at, count; };

struct ctt_parts {
    struct ctt_comm *comm;
    struct ctt_dev  *dev;
    struct ctt_weights_part *part;
    int              parts;
    int64_t          most;           /* floats of a rank at most */
    float           *mine, *all;     /* [most], [ranks][most] */
};

/* Node i of g is computed by rank number[i]. */
int  ctt_parts_open(const struct ctt_graph *g, const int *number,
                    struct ctt_comm *comm, struct ctt_dev *dev,
                    struct ctt_parts *out);
void ctt_parts_close(struct ctt_parts *p);

/* Fills dw, in the device's memory, with the gradients of all ranks, and w with
 * the weights that their forward passes have moved.  Called by all ranks. */
int  ctt_parts_share(struct ctt_parts *p, float *w, float *dw);

#endif
