/* SPDX-License-Identifier: Apache-2.0
 * sched.c: the learning rate over the steps. */
#include "libtrain/optim.h"

#include <math.h>

/* at: steps since the warm-up, out of `of`; epochs: since the start; falls:
 * epochs since --schedule=sampled began to decrease the rate, or 0. */
struct when { double at, of, epochs, falls; };

/* Each function returns a factor of cfg->lr. */
static double constant(const struct ctt_train_cfg *c, const struct when *t)
{
    (void)c, (void)t;
    return 1;
}

static double stairs(const struct ctt_train_cfg *c, const struct when *t)
{
    return pow(c->gamma, floor(t->epochs / c->step_epochs));
}

/* Loshchilov and Hutter 2017, one period. */
static double cosine(const struct ctt_train_cfg *c, const struct when *t)
{
    double x = t->of > 0 ? t->at / t->of : 1;

    x = x < 1 ? x : 1;
    return c->lr_end + (1 - c->lr_end) * 0.5 * (1 + cos(x * acos(-1.0)));
}

/* Su and others 2020. */
static double sampled(const struct ctt_train_cfg *c, const struct when *t)
{
    return pow(c->gamma, floor(t->falls / c->step_epochs));
}

static double (*const schedules[])(const struct ctt_train_cfg *,
                                   const struct when *) = {
    [CTT_CONSTANT] = constant, [CTT_STEPS] = stairs, [CTT_COSINE] = cosine,
    [CTT_SAMPLED] = sampled,
};

/* Steps of the warm-up as set. */
static double warm_up(const struct ctt_train_cfg *cfg, int64_t epoch)
{
    return floor((double)cfg->warmup * (double)epoch);
}

double ctt_lr_warm_up(const struct ctt_train_cfg *cfg, double until,
                      int64_t epoch)
{
    double warm = warm_up(cfg, epoch);

    return warm < until || cfg->schedule != CTT_COSINE ? warm
                                                       : floor(until / 2);
}

double ctt_lr_until(const struct ctt_train_cfg *cfg, int64_t step,
                    int64_t total, int64_t epoch, double used)
{
    if (!(used > 0))
        return (double)total;
    return fmin((double)total,
                fmax((double)step / used, warm_up(cfg, epoch) + 1));
}

double ctt_lr(const struct ctt_train_cfg *cfg, int64_t step, double until,
              int64_t epoch, int64_t falls)
{
    double warm = ctt_lr_warm_up(cfg, until, epoch), s = (double)step;
    double rise = s < warm ? (s + 1) / (warm + 1) : 1;
    struct when t = { s < warm ? 0 : s - warm, until - warm,
                      s / (double)epoch, 0 };

    if (cfg->wiring.lr_to > 0)
        return (double)cfg->lr * pow((double)(cfg->wiring.lr_to / cfg->lr),
                                     s / fmax(until - 1, 1));
    if (falls >= 0 && step > falls)
        t.falls = (s - (double)falls) / (double)epoch;
    return (double)cfg->lr * rise * schedules[cfg->schedule](cfg, &t);
}
