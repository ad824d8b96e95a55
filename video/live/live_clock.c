/* SPDX-License-Identifier: Apache-2.0
 * live_clock.c: the time of a live source's frames. */
#include "video/live/live_inside.h"

#include <math.h>

/* Seconds: how far a stamp may go back, as with frames out of order, and
 * leap ahead; how long a window is.  FAST: against the clock. */
#define BACK 0.5
#define LEAP 10
#define WINDOW 5
#define FAST 1.5

/* SKIPPED: windows that do not count, as a sender may begin with stored frames.
 * WRONG: wrong windows in a row after which the clock is used. */
enum { SKIPPED = 1, WRONG = 2 };

static void begin_window(struct ctt_live_clock *c, double t, double arrived)
{
    c->since = t;
    c->since_arrived = arrived;
}

void ctt_live_clock_again(struct ctt_live_clock *c)
{
    c->anchored = 0;
    c->windows = c->wrong = 0;
}

/* Judges by a window whether the stamps run as the clock does. */
static void judge_speed(struct ctt_live_clock *c, double t, double arrived)
{
    double span = arrived - c->since_arrived;
    int way;

    if (span < WINDOW)
        return;
    c->speed = (t - c->since) / span;
    way = c->speed > FAST ? 1 : c->speed < 1 / FAST ? -1 : 0;
    begin_window(c, t, arrived);
    if (c->windows++ < SKIPPED)
        return;
    c->wrong = way == 0 || way * c->wrong < 0 ? way : c->wrong + way;
    c->by_clock = c->wrong >= WRONG || c->wrong <= -WRONG;
}

/* Stamps count from t on. */
static void anchor(struct ctt_live_clock *c, double t, double stamp,
                   double arrived)
{
    c->offset = t - stamp;
    c->anchored = 1;
    begin_window(c, t, arrived);
}

double ctt_live_clock_time(struct ctt_live_clock *c, double stamp,
                           double arrived)
{
    double passed = c->begun && arrived > c->arrived ? arrived - c->arrived :
                    0;
    double t = c->last + passed, by_stamp = stamp + c->offset;

    if (c->by_clock || isnan(stamp))
        ;
    else if (!c->anchored)
        anchor(c, t, stamp, arrived);
    else if (by_stamp < c->last - BACK || by_stamp - c->last > passed + LEAP) {
        c->jumps++;
        anchor(c, t, stamp, arrived);
    } else {
        t = by_stamp > c->last ? by_stamp : c->last;
        judge_speed(c, t, arrived);
    }
    c->begun = 1;
    c->last = t;
    c->arrived = arrived;
    return t;
}
