/* SPDX-License-Identifier: Apache-2.0
 * optim.h: from gradients to weights: the optimizer over the flat block, and
 * the learning rate over the steps. */
#ifndef CTT_OPTIM_H
#define CTT_OPTIM_H

#include "device/memory.h"
#include "libtrain/train.h"

/* The weights that are trained, in the device's memory: they are the masters,
 * and always floats.  Where the program shares that memory they are the model's
 * own array, else a copy, and push and pull keep the two alike. */
struct ctt_optim {
    const struct ctt_train_cfg *cfg;
    struct ctt_dev  *dev;
    struct ctt_flat  flat;     /* its dw is of the last ctt_optim_norm() */
    float           *host;     /* the model's weights */
    enum ctt_dtype   type;     /* of the copy in 16 bits, */
    void            *w16;      /* or NULL: there is none */
    int64_t          weights, t;    /* t: updates so far */
};

/* w: the model's weights of g; c: what they are under, or NULL.  cfg, c, dev
 * and w must stay. */
int  ctt_optim_open(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                    const struct ctt_constraint *c, float *w,
                    struct ctt_dev *dev, struct ctt_optim **out);
void ctt_optim_close(struct ctt_optim **o);

/* The model's weights have been changed: takes them over.  pull: gives back
 * what they have become. */
int  ctt_optim_push(struct ctt_optim *o);
int  ctt_optim_pull(struct ctt_optim *o);

/* Makes the gradient, which lies in the device's memory, one that the
 * constraint allows and finds the length of the whole; not finite if any of it
 * is not.  The sum does not depend on the number of threads. */
int  ctt_optim_norm(struct ctt_optim *o, float *dw, double *norm);

/* One update with the gradient of that length, which is the true one times
 * `scale`: it is divided by it first and then cut to cfg->clip_norm. */
int  ctt_optim_step(struct ctt_optim *o, double norm, double scale, double lr);

/* sched.c: the rate of a step (from 0), of `total` steps, `epoch` of them
 * through the data once; --schedule=sampled begins to fall at the step `falls`,
 * or -1. */
double ctt_lr(const struct ctt_train_cfg *cfg, int64_t step, int64_t total,
              int64_t epoch, int64_t falls);

#endif
