/* SPDX-License-Identifier: Apache-2.0
 * shape_inside.h: tensors that the files of the shape rules make. */
#ifndef CTT_SHAPE_INSIDE_H
#define CTT_SHAPE_INSIDE_H

#include "net/shape.h"

static inline const struct ctt_tensor *in(const struct ctt_graph *g,
                                          const struct ctt_node *n, int i)
{
    return &g->node[n->in[i]].out;
}

static inline int same_rows(const struct ctt_tensor *a,
                            const struct ctt_tensor *b)
{
    return a->d == b->d && a->h == b->h && a->w == b->w;
}

static inline struct ctt_tensor image(int64_t d, int64_t h, int64_t w,
                                      int64_t c)
{
    return (struct ctt_tensor){ .n = 1, .d = d, .h = h, .w = w, .c = c,
                                .ld = c };
}

static inline struct ctt_tensor vector(int64_t c)
{
    return image(1, 1, 1, c);
}

/* The shape of an input, as a tensor of its own. */
static inline struct ctt_tensor like(const struct ctt_tensor *x)
{
    return image(x->d, x->h, x->w, x->c);
}

#endif
