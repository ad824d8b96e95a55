/* SPDX-License-Identifier: Apache-2.0
 * wakeup.c: one thread waits for any of many others. */
#include "tools/stream/stream_tool.h"
#include "base/ctt.h"

#include <time.h>

enum { TICK = 50000000, SECOND = 1000000000 };    /* nanoseconds */

int ctt_wakeup_open(struct ctt_wakeup *b)
{
    pthread_condattr_t a;

    if (pthread_mutex_init(&b->lock, NULL) != 0)
        return ctt_error(CTT_ENOMEM, "no lock");
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&b->news, &a);
    pthread_condattr_destroy(&a);
    b->rung = 0;
    b->made = 1;
    return 0;
}

void ctt_wakeup_close(struct ctt_wakeup *b)
{
    if (!b->made)
        return;
    pthread_cond_destroy(&b->news);
    pthread_mutex_destroy(&b->lock);
    b->made = 0;
}

void ctt_wakeup_ring(struct ctt_wakeup *b)
{
    pthread_mutex_lock(&b->lock);
    b->rung = 1;
    pthread_cond_signal(&b->news);
    pthread_mutex_unlock(&b->lock);
}

void ctt_wakeup_wait(struct ctt_wakeup *b)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (t.tv_nsec + TICK) / SECOND;
    t.tv_nsec = (t.tv_nsec + TICK) % SECOND;
    pthread_mutex_lock(&b->lock);
    while (!b->rung && pthread_cond_timedwait(&b->news, &b->lock, &t) == 0)
        ;
    b->rung = 0;
    pthread_mutex_unlock(&b->lock);
}
