/* SPDX-License-Identifier: Apache-2.0
 * clock.h: the one clock for durations, and that of work done. */
#ifndef CTT_CLOCK_H
#define CTT_CLOCK_H

#include <time.h>

/* Seconds since some fixed moment, of a clock that never goes back. */
static inline double ctt_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The same in milliseconds. */
static inline double ctt_milliseconds(void)
{
    return 1e3 * ctt_seconds();
}

/* Seconds that this thread has computed: a stopped process, or a busy machine,
 * does not count. */
static inline double ctt_thread_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
