/* SPDX-License-Identifier: Apache-2.0
 * cut.h: how much a frame looks like the first one of another scene. */
#ifndef CTT_CUT_H
#define CTT_CUT_H

#include "base/ctt.h"

enum { CTT_CUT_SIDE = 8, CTT_CUT_MAX = CTT_CUT_SIDE * CTT_CUT_SIDE * 3 };

/* Zero before the first frame of a stream. */
struct ctt_cut {
    int    begun;
    int    cells, channels;        /* of the last frame */
    float  mean[CTT_CUT_MAX];      /* of its cells, 0 to 255 */
    double change;                 /* from the one before it */
};

/* 0 to 1 for the next frame, h x w x c <= 3 bytes: the mean absolute difference
 * of 8 x 8 cells from the frame before (Zhang, Kankanhalli and Smoliar 1993
 * compare pixels; means of cells ignore noise and small motion), or how much
 * that differs from the difference before if this is less, as in FFmpeg's
 * filter scdet: steady motion is no cut. */
double ctt_cut_next(struct ctt_cut *s, const uint8_t *data, int h, int w,
                    int c);

#endif
