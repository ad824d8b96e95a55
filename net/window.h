/* SPDX-License-Identifier: Apache-2.0
 * window.h: the steps that a window op shows, and the places of their values.
 * Plain C11 that is also C++ and CUDA. */
#ifndef CTT_WINDOW_H
#define CTT_WINDOW_H

#include "base/fn.h"

#include <stdint.h>

/* The values of a window or a state for steps before step 0. */
enum ctt_fill { CTT_FILL_ZERO, CTT_FILL_FIRST };

/* The keys of the line: doc/format.md. */
struct ctt_window_attr { int steps, every, fill, spread; };

/* The places of values in memory, in steps from step 0 of a run: consecutive
 * steps from `oldest` (<= 0) on; before them, if `kept` is not 0, the last
 * `kept` steps of the clip that are multiples of 2^shift, counted from its
 * start. past: steps of the clip before step 0. */
struct ctt_window_place {
    int64_t past;
    int     oldest, kept, shift;
};

/* A window with spread=1 of `slots` slots shows, besides step t, only multiples
 * of 2^shift: the smallest shift with at most 2 `slots` multiples in 0 .. t.
 * Whenever shift grows, every second kept value goes. */
CTT_FN int ctt_window_shift(int slots, int64_t t)
{
    int shift = 0;

    while (t >> shift >= 2 * (int64_t)slots)
        shift++;
    return shift;
}

/* The step that a slot shows when step t is the last; with spread=0 it may be
 * negative.  Ascending with the slot, not strictly. */
CTT_FN int64_t ctt_window_step(const struct ctt_window_attr *a, int64_t slot,
                               int64_t t)
{
    int64_t gaps = a->steps - 1, two, nearest, last;
    int shift;

    if (!a->spread)
        return t - (gaps - slot) * a->every;
    if (slot == gaps)
        return t;
    shift = ctt_window_shift(a->steps, t);
    two = gaps << (shift + 1);
    nearest = (2 * slot * t + two / 2) / two;
    last = t >> shift;
    return (nearest < last ? nearest : last) << shift;
}

/* The place of the value that a slot shows when step `now` of the run is the
 * last; CTT_WINDOW_NONE: none, the slot shows zeros. */
#define CTT_WINDOW_NONE INT64_MIN
CTT_FN int64_t ctt_window_at(const struct ctt_window_attr *a,
                             const struct ctt_window_place *p, int64_t slot,
                             int64_t now)
{
    int64_t step = ctt_window_step(a, slot, p->past + now), at;

    if (step < 0 && a->fill == CTT_FILL_ZERO)
        return CTT_WINDOW_NONE;
    at = (step < 0 ? 0 : step) - p->past;
    if (a->spread && at < 0)
        return (step >> p->shift) + p->oldest - p->kept;
    return at < p->oldest ? CTT_WINDOW_NONE : at;
}

/* The first place that a slot may show. */
CTT_FN int64_t ctt_window_first(const struct ctt_window_place *p)
{
    return (int64_t)p->oldest - p->kept;
}

#endif
