/* SPDX-License-Identifier: Apache-2.0
 * lr_range.c: the learning rate range test (Smith 2017): at which rate the loss
 * falls, and from which on it rises. */
#include "libtrain/lr_range.h"
#include "libtrain/before.h"

#include <math.h>

/* Divergence: the smoothed loss is so many times the lowest; divisor of the
 * best rate; steps on either side of the mean. */
static const double DIVERGED = 4, SHARE = 10;
enum { BESIDE = 5 };

/* The same settings with a rising rate. */
static struct ctt_train_cfg rising_settings(const struct ctt_train_cfg *cfg)
{
    struct ctt_train_cfg c = ctt_cfg_trial(cfg);

    c.lr = CTT_RANGE_FROM;
    c.wiring.lr_to = CTT_RANGE_TO;
    c.epochs = c.max_steps = CTT_RANGE_STEPS;
    if (ctt_train_has_server(cfg)) {    /* each for itself */
        c.sync = NULL;
        c.wiring.comm = NULL;
    }
    return c;
}

static void on_step(void *arg, const struct ctt_progress *p)
{
    struct ctt_lr_range *r = arg;

    if (isnan(p->last) || r->steps >= CTT_RANGE_STEPS)
        return;
    r->lr[r->steps] = p->lr;
    r->loss[r->steps++] = p->last;
}

int ctt_lr_range_run(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                     struct ctt_data *d, struct ctt_lr_range *out)
{
    struct ctt_lr_range r = { .steps = 0 };
    const struct ctt_events ev = { .arg = &r, .progress = on_step };
    struct ctt_train_cfg c = rising_settings(cfg);
    struct ctt_model *copy = NULL;
    struct ctt_result result = { .stopped = 0 };
    int rc;

    CTT_TRY(ctt_model_copy(m, &copy));
    rc = ctt_train(copy, &c, d, NULL, &ev, &result);
    if (rc != CTT_ENAN)    /* so the highest rates do */
        CTT_TRY(rc);
    CTT_CHECK(!result.stopped, CTT_ESTOP, "stopped");
    *out = r;
    rc = 0;
out:
    ctt_model_free(&copy);
    return rc;
}

/* To two digits, as a person would write it. */
static double round_digits(double x)
{
    double unit = pow(10, floor(log10(x)) - 1);

    return round(x / unit) * unit;
}

/* The mean loss of the steps around step i: unlike one of the steps before it,
 * it does not lag behind a rate that rises. */
static double smooth(const struct ctt_lr_range *r, int i)
{
    int from = i > BESIDE ? i - BESIDE : 0, to = i + BESIDE;
    double sum = 0;

    to = to < r->steps - 1 ? to : r->steps - 1;
    for (int k = from; k <= to; k++)
        sum += r->loss[k];
    return sum / (to - from + 1);
}

int ctt_lr_range_choose(const struct ctt_lr_range *r, double *lr, double *at)
{
    double lowest = INFINITY;
    int best = 0, rc = 0;

    for (int i = 0; i < r->steps; i++) {
        double x = smooth(r, i);

        if (x > DIVERGED * lowest)
            break;
        if (x < lowest) {
            lowest = x;
            best = i;
        }
    }
    CTT_CHECK(best > BESIDE && r->lr[best] > SHARE * r->lr[0], CTT_EINVAL,
              "--lr=auto: at rates from %g on the loss of %d steps never fell "
              "below what it was: give a number", (double)CTT_RANGE_FROM,
              r->steps);
    *lr = round_digits(r->lr[best] / SHARE);
    if (at)
        *at = r->lr[best];
out:
    return rc;
}
