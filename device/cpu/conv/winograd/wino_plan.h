/* SPDX-License-Identifier: Apache-2.0
 * wino_plan.h: sizes that follow from the shape of a Winograd conv. */
#ifndef CTT_WINO_PLAN_H
#define CTT_WINO_PLAN_H

#include "device/cpu/conv/winograd/wino.h"

/* Channels out come in panels of two registers, the last one of two, one or
 * half a one.  The panel of gates holds i, f, o and g of as many cells as half
 * a register holds. */
enum { CTT_WINO_CHUNK = 64 };     /* channels whose windows are transformed
                                     together: these stay in the cache */

struct ctt_wino_plan {
    int64_t oh, ow, th, tw, tiles;    /* of the result: pixels, tiles */
    int64_t c, cp;            /* channels in, and floats a tile for them */
    int64_t panels, kp;       /* of channels out, floats a tile for them */
    int64_t block;            /* tiles computed together */
    int     tile, side, freqs;    /* 2, 4, 16; 4, 6, 36 or 4, 8, 64 */
};

/* Floats of panel p of a result of k channels. */
static inline int64_t ctt_wino_width(const struct ctt_wino_shape *s, int lanes,
                                     int64_t p)
{
    int64_t rest = s->k - p * 2 * lanes;

    if (s->hidden || rest > lanes)
        return 2 * lanes;
    return rest > lanes / 2 || s->c2 ? lanes : lanes / 2;
}

/* Weights of a frequency and a panel of this width.  Half a register holds two
 * channels in at a time, so their number is even. */
static inline int64_t ctt_wino_slab(const struct ctt_wino_shape *s, int lanes,
                                    int64_t width)
{
    int64_t c = s->c + s->c2;

    return (width < lanes ? ctt_align(c, 2) : c) * width;
}

/* Floats from one frequency to the next: an odd number of cache lines, so that
 * the values of a tile do not all map to the same cache sets. */
static inline int64_t ctt_wino_step(int64_t floats)
{
    int64_t lines = (floats + 15) / 16;

    return (lines | 1) * 16;
}

static inline struct ctt_wino_plan
ctt_wino_plan(const struct ctt_wino_shape *s, int lanes, int64_t block)
{
    struct ctt_wino_plan p;

    p.c = s->c + s->c2;
    p.cp = s->c2 ? ctt_align(s->c + ctt_align(s->c2, lanes / 2), lanes / 2)
                 : ctt_align(s->c, lanes / 2);
    p.block = block;
    p.tile = s->small ? 2 : 4;
    p.side = s->r + p.tile - 1;
    p.freqs = p.side * p.side;
    p.oh = s->h + 2 * s->pad_h - s->r + 1;
    p.ow = s->w + 2 * s->pad_w - s->r + 1;
    p.th = (p.oh + p.tile - 1) / p.tile;
    p.tw = (p.ow + p.tile - 1) / p.tile;
    p.tiles = s->n * p.th * p.tw;
    p.panels = s->hidden ? (2 * s->hidden + lanes - 1) / lanes
                         : (s->k + 2 * lanes - 1) / (2 * lanes);
    p.kp = (p.panels - 1) * 2 * lanes +
           ctt_wino_width(s, lanes, p.panels - 1);
    return p;
}

/* Channel of column j of the panels, or -1. */
static inline int64_t ctt_wino_channel(const struct ctt_wino_shape *s,
                                       int lanes, int64_t j)
{
    int64_t half = lanes / 2, cell = j / (4 * half) * half + j % half;

    if (s->hidden)
        return cell < s->hidden ? j / half % 4 * s->hidden + cell : -1;
    return j < s->k ? j : -1;
}

#endif
