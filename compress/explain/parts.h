/* SPDX-License-Identifier: Apache-2.0
 * parts.h: the convs of a compressed model that replace a weight of the dense
 * one, and their product as one conv. */
#ifndef CTT_PARTS_H
#define CTT_PARTS_H

#include "compress/report.h"
#include "net/op.h"

/* The nodes NAME.t1, NAME.t2 .. NAME in order; one of them: not factorised. */
struct ctt_parts {
    int node[CTT_MAX_CORES], count;
};

/* The parts in `small` of the conv or deconv `node` of the graph `dense`, of
 * which NAME.t1 is no node.  count 0: there is no such conv. */
void ctt_parts_find(const struct ctt_graph *dense, int node,
                    const struct ctt_graph *small, struct ctt_parts *out);

/* Whether numbers of the kernel of node i share values; are pruned. */
int  ctt_kernel_shares(const struct ctt_model *m, int i);
int  ctt_kernel_pruned(const struct ctt_model *m, int i);

/* The window of all parts together.  0: no single conv does, as two of them
 * have a kernel along one axis. */
int  ctt_parts_together(const struct ctt_graph *g, const struct ctt_parts *p,
                        struct ctt_slide *out);

/* The model with the conv NAME in place of its parts: their product, which
 * answers the same up to rounding; quantised values between them go.  It has
 * no mask and no codes there.  CTT_EUNSUP if no conv computes what they do, or
 * if another node reads one but the last.  The caller frees *out. */
int  ctt_parts_multiply(const struct ctt_model *m, const struct ctt_parts *p,
                        struct ctt_model **out);

#endif
