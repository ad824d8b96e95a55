/* SPDX-License-Identifier: Apache-2.0
 * lr_range.h: the learning rate range test. */
#ifndef CTT_LR_RANGE_H
#define CTT_LR_RANGE_H

#include "libtrain/train.h"

/* Steps of the test, and its first and last rate. */
enum { CTT_RANGE_STEPS = 100 };
#define CTT_RANGE_FROM 1e-7f
#define CTT_RANGE_TO 10.0f

/* Rates and the mean loss of a step at each; steps without a finite loss are
 * left out. */
struct ctt_lr_range {
    int    steps;
    double lr[CTT_RANGE_STEPS], loss[CTT_RANGE_STEPS];
};

/* Trains a copy of m for CTT_RANGE_STEPS batches of d, with the settings of cfg
 * but a rate that rises evenly in its logarithm (Smith 2017), until a loss is
 * not finite.  Depends on cfg->seed only.  CTT_ESTOP if ctt_stopped(). */
int ctt_lr_range_run(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                     struct ctt_data *d, struct ctt_lr_range *out);

/* The rate to train with: a tenth of that at which the loss, smoothed, is
 * lowest before it diverges, rounded to two digits (the rule "minimum" of
 * Howard and Gugger 2020).  at: the rate of the lowest loss, or NULL.
 * CTT_EINVAL if the loss is lowest at the beginning: no rate lets it fall. */
int ctt_lr_range_choose(const struct ctt_lr_range *r, double *lr, double *at);

#endif
