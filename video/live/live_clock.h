/* SPDX-License-Identifier: Apache-2.0
 * live_clock.h: the time of a live source's frames, which its own times say as
 * long as they can be believed. */
#ifndef CTT_LIVE_CLOCK_H
#define CTT_LIVE_CLOCK_H

#include "base/ctt.h"

/* Zero before the first frame. */
struct ctt_live_clock {
    int     begun;
    int     by_clock;          /* the source's times are not used any more */
    double  last, arrived;     /* of the last frame: its time, its arrival */
    double  offset;            /* time = stamp + offset */
    int     anchored;          /* offset is known */
    int64_t jumps;             /* of the stamps */
    int     windows, wrong;    /* looked at; in a row too slow (-) or fast */
    double  since, since_arrived;    /* where the current one began */
    double  speed;             /* of the last one: stamps against the clock */
};

/* The time in seconds since the first frame of one that the source says is
 * shown at stamp (NAN: it does not say) and that arrived at `arrived`; never
 * decreasing.  A stamp that goes back, or leaps ahead by 10 s more than the
 * clock, is a jump: the clock says how long it was, and stamps count from
 * there.  Stamps that run faster than 3/2 or slower than 2/3 of the clock's
 * speed for 10 s are lies, and the clock is used from then on. */
double ctt_live_clock_time(struct ctt_live_clock *c, double stamp,
                           double arrived);

/* The source was opened again: its stamps may begin anywhere. */
void ctt_live_clock_again(struct ctt_live_clock *c);

#endif
