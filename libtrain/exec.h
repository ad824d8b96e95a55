/* SPDX-License-Identifier: Apache-2.0
 * exec.h: the way back through a run: gradients of values and weights. */
#ifndef CTT_EXEC_H
#define CTT_EXEC_H

#include "device/run.h"

struct ctt_exec {
    struct ctt_run *r;        /* forward; its values are all kept */
    float          *dw;       /* gradients of the flat block of weights */
    float          *grad;     /* of values, laid out as the run's values; what
                                 reaches the history is dropped */
    char           *need;     /* of a node: its gradient leads to a weight */
    char           *sole;     /* of a node with memory: exactly one reader, and
                                 it may overwrite the gradient */
};

/* As ctt_run_open, with train = 1. */
int  ctt_exec_open(const struct ctt_graph *g, struct ctt_dev *dev,
                   const float *w, int n, int room, int asks,
                   struct ctt_exec **out);
void ctt_exec_close(struct ctt_exec **x);

/* Forward from the first step: resets, runs `steps` steps, then the clip part
 * for r->ask[0 .. asks - 1]; asks = 0: not at all.  The inputs have been
 * written to ctt_run_value(x->r, input, step). */
int  ctt_exec_forward(struct ctt_exec *x, int steps, int asks);

/* Backward of that window.  First ctt_exec_clear() sets the gradients to zero
 * where they are added to (values' and weights'), then the caller writes the
 * gradient of the output node to ctt_exec_grad() for the steps (or asks) that
 * have one, then this adds to dw.  Free components go back as one batch; bound
 * nodes give din step by step and their weight gradient in one call after the
 * loop. */
int    ctt_exec_clear(struct ctt_exec *x, int steps, int asks);
float *ctt_exec_grad(const struct ctt_exec *x, int node, int step);
int    ctt_exec_backward(struct ctt_exec *x, int steps, int asks);

#endif
