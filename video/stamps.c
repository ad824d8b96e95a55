/* SPDX-License-Identifier: Apache-2.0
 * stamps.c: the time of a video's frames. */
#include "video/stamps.h"

#include <math.h>

/* Seconds: how far a stamp may go back, as with frames out of order, and leap
 * ahead, without doubt. */
#define BACK 1.0
#define LEAP 10.0

int ctt_stamp_doubt(const struct ctt_stamps *t, double stamp)
{
    double at = stamp - t->start;

    return t->seen > 0 && !isnan(stamp) &&
           (at < t->last - BACK || at > t->last + t->step + LEAP ||
            (at < t->last && at < t->step));
}

/* The time of a frame in doubt at `at`. */
static double judge(struct ctt_stamps *t, double at, double later, int restarts)
{
    double follows = t->last + t->step;
    int back = at < t->last;
    /* The later one follows on this frame rather than on that before. */
    int agrees = fabs(later - at - t->step) < fabs(later - follows - t->step);

    if (back && at >= t->last - BACK && !agrees)
        return t->last;                   /* out of order */
    if (!back && (isnan(later) || agrees) && !restarts)
        return at;                        /* a long pause */
    t->jumps++;
    if (agrees || isnan(later))
        t->start += at - follows;
    return follows;
}

double ctt_stamp_time(struct ctt_stamps *t, double stamp, double later,
                      int restarts)
{
    double at = t->seen ? t->last + t->step : 0;

    if (!isnan(stamp)) {
        t->start = t->seen ? t->start : stamp;
        at = stamp - t->start;
        if (ctt_stamp_doubt(t, stamp))
            at = judge(t, at, later - t->start, restarts);
    }
    t->last = at > t->last ? at : t->last;
    t->seen++;
    return t->last;
}
