/* SPDX-License-Identifier: Apache-2.0
 * stamps.h: the time of a video's frames, which its own times say unless their
 * neighbours contradict them. */
#ifndef CTT_STAMPS_H
#define CTT_STAMPS_H

#include "base/ctt.h"

/* In seconds; zero before the first frame. */
struct ctt_stamps {
    double  start;         /* stamp of a frame shown at 0 */
    double  last, step;    /* of the last frame: its time, and how long it
                              is shown */
    int64_t seen;          /* frames */
    int64_t jumps;         /* stamps that were corrected */
};

/* 1 if the next frame's stamp needs a neighbour to be judged: it goes back, or
 * leaps ahead. */
int    ctt_stamp_doubt(const struct ctt_stamps *t, double stamp);

/* The time of the next frame, never decreasing, from its stamp (NAN: it has
 * none) and that of a later one (NAN: unknown), which is asked for in doubt.
 * A stamp that the later one contradicts is replaced.  Where both go back by
 * over a second, or to the first frame, the frames follow on those before; so
 * they do where both leap ahead by over 10 s, if the format restarts. */
double ctt_stamp_time(struct ctt_stamps *t, double stamp, double later,
                      int restarts);

#endif
