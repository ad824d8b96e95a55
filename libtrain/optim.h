/* SPDX-License-Identifier: Apache-2.0
 * optim.h: from gradients to weights: the optimizer over the flat block, and
 * the learning rate over the steps. */
#ifndef CTT_OPTIM_H
#define CTT_OPTIM_H

#include "device/memory.h"
#include "libtrain/train.h"

/* The trained weights (master weights) in the device's memory, always floats.
 * If the program shares that memory they are the model's own array, otherwise a
 * copy that push and pull synchronise. */
struct ctt_optim {
    struct ctt_pace {          /* weights with a rate of their own */
        double         factor;
        const uint8_t *how;    /* of them; of others of the stretch: fixed */
        struct ctt_stretch of;
        int            kernel;
    }               *pace;     /* with --lr-scale: the weights with each factor,
                                  [0] without one; layer-wise: each tensor */
    int              paces;
    const struct ctt_graph     *g;
    const struct ctt_train_cfg *cfg;
    struct ctt_dev  *dev;
    struct ctt_flat  flat;     /* dw: as of the last ctt_optim_norm() */
    float           *host;     /* the model's weights */
    enum ctt_dtype   type;     /* of w16 */
    struct ctt_stretch *shared;   /* flat.shared */
    void            *w16;      /* 16-bit copy for mixed precision, or NULL */
    float           *average;  /* of the weights, or NULL without --ema */
    int              limited;  /* 1: --clip-norm has been applied before */
    int64_t          weights, t;    /* t: updates so far */
};

/* w: the weights of g; c: their constraint, or NULL.  g, cfg, c, dev and w must
 * stay valid. */
int  ctt_optim_open(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                    const struct ctt_constraint *c, float *w,
                    struct ctt_dev *dev, struct ctt_optim **out);
void ctt_optim_close(struct ctt_optim **o);

/* push copies the model's weights, after a change, to the device; pull copies
 * the trained weights back to the model. */
int  ctt_optim_push(struct ctt_optim *o);
int  ctt_optim_pull(struct ctt_optim *o);

/* The weights to test and to save, in the device's memory: with --ema their
 * average.  pick copies them to w. */
const float *ctt_optim_picked(const struct ctt_optim *o);
int  ctt_optim_pick(const struct ctt_optim *o, float *w);

/* Applies a changed constraint c of the model's weights: pruned ones lose their
 * moments and their average. */
int  ctt_optim_constrain(struct ctt_optim *o, const struct ctt_constraint *c);

/* Applies the constraint to the gradient dw in the device's memory and computes
 * its L2 norm, which is not finite if any element is not.  The result does not
 * depend on the number of threads. */
int  ctt_optim_norm(struct ctt_optim *o, float *dw, double *norm);

/* The sum of squares of x, floats such as the gradient, over trained weights of
 * a stretch of the block; pruned ones are set to zero. */
int  ctt_optim_squares(struct ctt_optim *o, float *x, struct ctt_stretch of,
                       double *sum);

/* One update with the gradient passed to ctt_optim_norm(), whose L2 norm is
 * norm: it is divided by the loss scale `scale`, then clipped to
 * cfg->clip_norm.  Then, with --ema, of the average. */
int  ctt_optim_step(struct ctt_optim *o, double norm, double scale, double lr);

/* sched.c: the learning rate of a step (from 0).  until: the step at which the
 * schedule ends; epoch: steps per epoch; falls: step at which
 * --schedule=sampled begins to decrease it, or -1. */
double ctt_lr(const struct ctt_train_cfg *cfg, int64_t step, double until,
              int64_t epoch, int64_t falls);

/* Steps of the warm-up: as set, or half of a cosine that would end in it. */
double ctt_lr_warm_up(const struct ctt_train_cfg *cfg, double until,
                      int64_t epoch);

/* The expected end of the schedule, in steps, of a run of `total` steps, after
 * `step` steps and the share `used` of the run's time (0: no limit): at the
 * speed so far, but neither in the warm-up nor after total.  The share of the
 * schedule that is over never falls while step and used grow, and is 1 where
 * used is. */
double ctt_lr_until(const struct ctt_train_cfg *cfg, int64_t step,
                    int64_t total, int64_t epoch, double used);

#endif
