/* SPDX-License-Identifier: Apache-2.0
 * sched.c: the learning rate over the steps. */
#include "libtrain/optim.h"

#include <math.h>

/* Each gives the factor of cfg->lr; at: step since the warm-up, of `of`. */
static double constant(const struct ctt_train_cfg *c, double at, double of,
                       double epochs)
{
    (void)c, (void)at, (void)of, (void)epochs;
    return 1;
}

static double stairs(const struct ctt_train_cfg *c, double at, double of,
                     double epochs)
{
    (void)at, (void)of;
    return pow(c->gamma, floor(epochs / c->step_epochs));
}

/* Loshchilov and Hutter 2017, one period. */
static double cosine(const struct ctt_train_cfg *c, double at, double of,
                     double epochs)
{
    double x = of > 0 ? at / of : 1;

    (void)epochs;
    x = x < 1 ? x : 1;
    return c->lr_end + (1 - c->lr_end) * 0.5 * (1 + cos(x * acos(-1.0)));
}

static double (*const schedules[])(const struct ctt_train_cfg *, double,
                                   double, double) = {
    [CTT_CONSTANT] = constant, [CTT_STEPS] = stairs, [CTT_COSINE] = cosine,
};

double ctt_lr(const struct ctt_train_cfg *cfg, int64_t step, int64_t total,
              int64_t epoch)
{
    double warm = floor((double)cfg->warmup * (double)epoch);
    double s = (double)step, rise = s < warm ? (s + 1) / (warm + 1) : 1;
    double at = s < warm ? 0 : s - warm;

    return (double)cfg->lr * rise *
           schedules[cfg->schedule](cfg, at, (double)total - warm,
                                    s / (double)epoch);
}
