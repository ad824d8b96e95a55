/* SPDX-License-Identifier: Apache-2.0
 * wino16_plan.h: sizes that follow from the shape of an integer Winograd
 * conv. */
#ifndef CTT_WINO16_PLAN_H
#define CTT_WINO16_PLAN_H

#include "device/cpu/conv/winograd/wino16.h"

/* Channels in come in pairs, whose products one instruction adds; in the
 * transform domain their number is rounded up to a multiple of 16.  Channels
 * out come in panels of two registers, the last one of two or one. */
struct ctt_wino16_plan {
    int64_t oh, ow, th, tw, tiles;    /* of the result: pixels, tiles */
    int64_t cp, pairs;
    int64_t panels, kp;
    int64_t block;                    /* tiles computed together */
    int64_t vstep, mstep;             /* from one frequency to the next */
    int     side, freqs;
};

/* Columns of panel p. */
static inline int64_t ctt_wino16_width(const struct ctt_wino16_shape *s,
                                       int lanes, int64_t p)
{
    return s->k - p * 2 * lanes > lanes ? 2 * lanes : lanes;
}

/* An odd number of cache lines, so that the values of a tile do not all map to
 * the same cache sets. */
static inline int64_t ctt_wino16_step(int64_t bytes)
{
    return ((bytes + 63) / 64 | 1) * 64;
}

static inline struct ctt_wino16_plan
ctt_wino16_plan(const struct ctt_wino16_shape *s, int lanes, int64_t block)
{
    struct ctt_wino16_plan p = { .block = block };
    int m = s->tile;

    p.side = m + 2;
    p.freqs = p.side * p.side;
    p.oh = s->h + 2 * s->pad_h - 2;
    p.ow = s->w + 2 * s->pad_w - 2;
    p.th = (p.oh + m - 1) / m;
    p.tw = (p.ow + m - 1) / m;
    p.tiles = s->n * p.th * p.tw;
    p.cp = ctt_align(s->c, 16);
    p.pairs = (s->c + 1) / 2;
    p.panels = (s->k + 2 * lanes - 1) / (2 * lanes);
    p.kp = (p.panels - 1) * 2 * lanes +
           ctt_wino16_width(s, lanes, p.panels - 1);
    p.vstep = ctt_wino16_step(block * p.cp * 2) / 2;
    p.mstep = ctt_wino16_step(block * 2 * lanes * 4) / 4;
    return p;
}

/* Bytes of scratch of a thread. */
static inline int64_t ctt_wino16_room(const struct ctt_wino16_plan *p)
{
    return p->freqs * (p->vstep * 2 + p->mstep * 4);
}

#endif
