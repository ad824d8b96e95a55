/* SPDX-License-Identifier: Apache-2.0
 * optim.h: from gradients to weights: the optimizer over the flat block, and
 * the learning rate over the steps. */
#ifndef CTT_OPTIM_H
#define CTT_OPTIM_H

#include "libtrain/train.h"

/* A stretch of the block that is trained. */
struct ctt_span { int64_t at, count; int decay; };

struct ctt_optim {
    const struct ctt_train_cfg *cfg;
    struct ctt_span *span;
    int              spans;
    int64_t          weights, t;    /* t: updates so far */
    const uint8_t   *keep;          /* the model's mask, or NULL */
    float           *m, *v;         /* moments; v: NULL for sgd */
    double          *part;          /* sums of the norm, a block each */
};

/* cfg and keep must stay. */
int  ctt_optim_open(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                    const uint8_t *keep, struct ctt_optim **out);
void ctt_optim_close(struct ctt_optim **o);

/* Sets the gradient of pruned weights to zero and returns the length of the
 * whole gradient; not finite if any of it is not.  The sum does not depend on
 * the number of threads. */
double ctt_optim_norm(struct ctt_optim *o, float *dw);

/* One update with the gradient dw of that length, cut to cfg->clip_norm. */
void ctt_optim_step(struct ctt_optim *o, const float *dw, double norm,
                    double lr, float *w);

/* sched.c: the rate of a step (from 0), of `total` steps, `epoch` of them
 * through the data once; --schedule=sampled begins to fall at the step `falls`,
 * or -1. */
double ctt_lr(const struct ctt_train_cfg *cfg, int64_t step, int64_t total,
              int64_t epoch, int64_t falls);

#endif
