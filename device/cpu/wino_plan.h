/* SPDX-License-Identifier: Apache-2.0
 * wino_plan.h: the sizes that follow from the shape of a Winograd conv. */
#ifndef CTT_WINO_PLAN_H
#define CTT_WINO_PLAN_H

#include "device/cpu/wino.h"

struct ctt_wino_plan {
    int64_t oh, ow, th, tw, tiles;    /* of the result: pixels, tiles */
    int64_t c, cp, panels;    /* channels in, also rounded up; panels of
                                 channels out, each two registers wide */
    int64_t block;            /* tiles that are worked on together */
    int     side, freqs;      /* 6, 36 or 8, 64 */
};

static inline struct ctt_wino_plan
ctt_wino_plan(const struct ctt_wino_shape *s, int lanes, int64_t block)
{
    struct ctt_wino_plan p;

    p.c = s->c;
    p.cp = ctt_align(s->c, lanes);
    p.block = block;
    p.side = s->r + 3;
    p.freqs = p.side * p.side;
    p.oh = s->h + 2 * s->pad_h - s->r + 1;
    p.ow = s->w + 2 * s->pad_w - s->r + 1;
    p.th = (p.oh + 3) / 4;
    p.tw = (p.ow + 3) / 4;
    p.tiles = s->n * p.th * p.tw;
    p.panels = (s->k + 2 * lanes - 1) / (2 * lanes);
    return p;
}

#endif
