/* SPDX-License-Identifier: Apache-2.0
 * pick.h: which decoded frames are those of a model's steps, by their times. */
#ifndef CTT_PICK_H
#define CTT_PICK_H

#include "base/ctt.h"

/* The later of two frames must be nearer by this many seconds, so that times
 * rounded to milliseconds do not change the choice. */
#define CTT_PICK_TIE 0.002

/* 1 if the frame shown at `next` is nearer to t than the one at `now`. */
static inline int ctt_pick_later(double now, double next, double t)
{
    return next - t < t - now - CTT_PICK_TIE;
}

/* 1 if a step at t still belongs to a clip that ends at `end`. */
static inline int ctt_pick_within(double end, double t, double fps)
{
    return t + 0.5 / fps < end;
}

/* A stream of frames.  fps: steps a second; 0: each frame is one.  fill: where
 * the next frame is not known but expected, a step for which none came in time
 * gets a later frame if that is shown within so many seconds; else it is lost.
 * 0: a frame counts until the next one, as in clips. */
struct ctt_pick {
    double  fps, fill;
    double  zero;      /* the time of step 0 */
    int64_t k;         /* the next step without a frame */
};

/* The stream begins anew with a frame shown at `now`: step 0. */
void ctt_pick_begin(struct ctt_pick *p, double now);

/* For how many steps, from p->k on, the frame at `now` is the nearest if the
 * next one is shown at `next`, or the stream ends then; *lost: the steps before
 * them that no frame has.  p->k is then behind them.  No step is over 2^50,
 * whatever the times are. */
int64_t ctt_pick_frame(struct ctt_pick *p, double now, double next, int ended,
                       int64_t *lost);

#endif
