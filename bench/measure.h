/* SPDX-License-Identifier: Apache-2.0
 * measure.h: the clock, and numbers for weights and frames. */
#ifndef CTT_BENCH_MEASURE_H
#define CTT_BENCH_MEASURE_H

#include "base/clock.h"
#include "base/random.h"

/* Seconds of the processor if one thread computes, as other programs may run
 * beside it; of the clock for several. */
static inline double bench_seconds(int threads)
{
    return threads == 1 ? ctt_thread_seconds() : ctt_seconds();
}

/* n numbers in from..to; the same for the same key. */
static inline void bench_fill(float *x, int64_t n, uint64_t key, float from,
                              float to)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = from + (to - from) * (float)ctt_random(key, (uint64_t)i) *
                      0x1p-32f;
}

#endif
