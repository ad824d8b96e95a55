/* SPDX-License-Identifier: Apache-2.0
 * allocs.h: steps of training that allocate, and allocations that fail. */
#ifndef CTT_TEST_ALLOCS_H
#define CTT_TEST_ALLOCS_H

#include "libtrain/train.h"
#include "tests/lib/check.h"

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

/* Calls fn with the first, second, ... allocation failing, until it succeeds,
 * which must take more than `least` calls.  No block may be lost. */
static inline void fail_allocs(int (*fn)(void *arg), void *arg, long least)
{
    long live = ctt_live_blocks(), k = 1, done = 0;

    for (; !done && k < 4000; k++) {
        int rc;

        ctt_fail_alloc(k);
        rc = fn(arg);
        ctt_fail_alloc(0);
        CU_ASSERT(rc <= 0);    /* HDF5's own failures are no CTT_ENOMEM */
        if (ctt_live_blocks() != live) {
            CU_FAIL("a block is lost");
            break;
        }
        done = rc == 0;
    }
    CU_ASSERT(k > least && done);
}

#endif
