/* SPDX-License-Identifier: Apache-2.0
 * stop.h: training that is asked to stop, as a signal does it. */
#ifndef CTT_TEST_STOP_H
#define CTT_TEST_STOP_H

#include "libtrain/train.h"
#include "base/limits.h"

#include <stdatomic.h>

/* Callbacks of the run set it to 1. */
static atomic_int stop_now;

static inline int stop_asked(void)
{
    return stop_now;
}

/* ctt_train() until stop_now is set. */
static inline int stop_train(struct ctt_model *m,
                             const struct ctt_train_cfg *cfg,
                             struct ctt_data *train, struct ctt_data *val,
                             const struct ctt_events *ev, struct ctt_result *r)
{
    int rc;

    stop_now = 0;
    ctt_stop_set(stop_asked);
    rc = ctt_train(m, cfg, train, val, ev, r);
    ctt_stop_set(NULL);
    return rc;
}

#endif
