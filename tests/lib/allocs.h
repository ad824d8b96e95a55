/* SPDX-License-Identifier: Apache-2.0
 * allocs.h: a training run's progress watched for steps that allocate. */
#ifndef CTT_TEST_ALLOCS_H
#define CTT_TEST_ALLOCS_H

#include "libtrain/train.h"

/* Epochs up to `after` may still meet new shapes. */
struct alloc_watch { int after; long calls, worst; };

static inline void watch_allocs(void *arg, const struct ctt_progress *p)
{
    struct alloc_watch *w = arg;
    long now = ctt_alloc_calls();

    if (p->epoch > w->after && p->batch > 1 && now - w->calls > w->worst)
        w->worst = now - w->calls;
    w->calls = now;
}

#endif
