/* SPDX-License-Identifier: Apache-2.0
 * op.h: the shape rules, one an op; only op.c and shape.c need them. */
#ifndef CTT_OP_H
#define CTT_OP_H

#include "net/graph.h"

/* From the inputs' shapes and the attributes: out, w, nw, fixed.  May put
 * numbers in the place of attributes that mean "whatever fits". */
#define OP(E, s, lo, hi, k, l) \
    int ctt_shape_##s(const struct ctt_graph *g, struct ctt_node *n);
#include "net/ops.def"
#undef OP

#endif
