/* SPDX-License-Identifier: Apache-2.0
 * shape.h: the shape rules, one per op; only op.c and shape.c need them. */
#ifndef CTT_SHAPE_H
#define CTT_SHAPE_H

#include "net/graph.h"

/* Sets out, w and nw from the shapes of the inputs and the attributes.  May
 * replace attributes that mean "the rest" by numbers. */
#define OP(E, s, ...) \
    int ctt_shape_##s(const struct ctt_graph *g, struct ctt_node *n);
#include "net/ops.def"
#undef OP

#endif
