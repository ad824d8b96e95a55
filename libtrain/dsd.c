/* SPDX-License-Identifier: Apache-2.0
 * dsd.c: dense-sparse-dense training (Han and others 2017): for a part of the
 * run the smallest weights are held at zero, then they are trained again. */
#include "libtrain/trainer.h"
#include "net/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a run at which the sparse phase begins and ends, and the factor
 * of the learning rate after it. */
#define BEGIN 0.5
#define END   0.8
#define RATE  0.1

enum { LEAST = 5 };    /* steps, so that each phase has one */

static int64_t step_at(double part, int64_t steps)
{
    return (int64_t)ceil(part * (double)steps);
}

static int due(const void *arg, int64_t step, int64_t steps)
{
    (void)arg;
    return step == step_at(BEGIN, steps) || step == step_at(END, steps);
}

static int ascending_magnitude(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Prunes the `gone` smallest of n weights; of equal ones, the first. */
static int prune(float *w, int64_t n, int64_t gone, uint8_t *keep)
{
    float *sorted = ctt_calloc((size_t)n, sizeof(*sorted)), limit;
    int64_t equal = gone;

    if (!sorted)
        return CTT_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        sorted[i] = fabsf(w[i]);
    qsort(sorted, (size_t)n, sizeof(*sorted), ascending_magnitude);
    limit = sorted[gone];
    for (int64_t i = 0; i < gone && sorted[i] < limit; i++)
        equal--;
    for (int64_t i = 0; i < n; i++)
        if (fabsf(w[i]) < limit || (fabsf(w[i]) == limit && equal-- > 0))
            w[i] = keep[i] = 0;
    ctt_free(sorted);
    return 0;
}

/* Begins the sparse phase, or ends it: a mask that is all ones stays until the
 * run ends, as calls hold its address. */
static int change_phase(void *arg, struct ctt_model *m, int64_t step,
                        int64_t steps)
{
    const struct ctt_train_cfg *cfg = arg;
    int sparse = step < step_at(END, steps), rc = 0;

    CTT_TRY(ctt_constraint_mask(&m->constraint, m->g->weights));
    if (!sparse)
        memset(m->constraint.keep, 1, (size_t)m->g->weights);
    for (int i = 0; sparse && i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t count = ctt_is_conv(n) ? ctt_volume(&n->w[0]) : 0;
        if (count > 0)
            CTT_TRY(prune(m->w + n->at[0], count,
                          (int64_t)((double)cfg->dsd * (double)count),
                          m->constraint.keep + n->at[0]));
    }
out:
    return rc;
}

static int tell_phase(const void *arg, int64_t step, int64_t steps, char *line,
                      size_t size)
{
    const struct ctt_train_cfg *cfg = arg;

    if (step < step_at(END, steps))
        snprintf(line, size, "--dsd: the smallest %g%% of each weight are zero "
                 "until %g%% of the run", 100 * (double)cfg->dsd, 100 * END);
    else
        snprintf(line, size, "--dsd: all weights train again, at %g of the "
                 "learning rate; the best model is chosen from here on",
                 RATE);
    return 1;
}

void ctt_dsd_changes(const struct ctt_train_cfg *cfg, struct ctt_changes *c)
{
    *c = (struct ctt_changes){ (void *)(uintptr_t)cfg, due, change_phase,
                                tell_phase };
}

int ctt_dsd_check(const struct ctt_train_cfg *cfg, int64_t steps)
{
    int64_t begin = step_at(BEGIN, steps), end = step_at(END, steps);
    int rc = 0;

    CTT_CHECK(cfg->dsd <= 0 || (begin < end && end < steps), CTT_EINVAL,
              "--dsd has three phases, and %lld steps are too few for them: %d "
              "are the least", (long long)steps, LEAST);
out:
    return rc;
}

double ctt_dsd_rate(const struct ctt_train_cfg *cfg, int64_t step,
                    int64_t steps)
{
    return cfg->dsd > 0 && step >= step_at(END, steps) ? RATE : 1;
}
