/* SPDX-License-Identifier: Apache-2.0
 * shape.h: the shape rules, one per op; only op.c and shape.c need them. */
#ifndef CTT_SHAPE_H
#define CTT_SHAPE_H

#include "net/graph.h"

/* From the inputs' shapes and the attributes: out, w and nw.  May put numbers
 * in the place of attributes that mean "whatever fits". */
#define OP(E, s, ...) \
    int ctt_shape_##s(const struct ctt_graph *g, struct ctt_node *n);
#include "net/ops.def"
#undef OP

#endif
