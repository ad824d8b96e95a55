/* SPDX-License-Identifier: Apache-2.0
 * render.h: frames as a model reads them, made of the bytes of stored ones: a
 * part of each, resized, mirrored and in other colours.  All devices give the
 * same numbers: each product and sum is rounded by itself, in one order. */
#ifndef CTT_RENDER_H
#define CTT_RENDER_H

#include "base/fn.h"

#include <stddef.h>
#include <stdint.h>

/* The pixels of a side that one pixel of the result is the mean of. */
struct ctt_taps { int32_t from, n; };

/* The colours of a clip: what a byte of a channel means; if `mixed`, a pixel's
 * channels become of[k][0] a + of[k][1] b + of[k][2] c + add[k].  Before that a
 * part of the frame is filled (w 0: none). */
struct ctt_paint {
    float   table[3][256];
    float   of[3][3], add[3], fill[3];
    int32_t mixed, x, y, w, h;
};

/* A clip of `c` channels: rows of stored_w pixels become h x w, with taps
 * [w] and [h] and as many weights, of which each pixel has room for `most`; wx
 * has zeros behind those that count. */
struct ctt_render {
    int c, w, h, stored_w;
    const struct ctt_taps *x, *y;
    const float            *wx, *wy;
    int                     most_x, most_y;
    const struct ctt_paint *paint;
};

/* Writes a frame, h x w x c floats.  room: ctt_render_room() floats, for frames
 * of stored_h rows. */
typedef void ctt_render_fn(const struct ctt_render *r, const uint8_t *data,
                           float *room, float *out);
ctt_render_fn ctt_render_frame;

static inline int64_t ctt_render_room(int c, int64_t stored_w,
                                      int64_t stored_h)
{
    return (stored_h + 4) * stored_w * c + 4;
}

/* A batch of n clips as bytes in one block of memory: the paint of each clip
 * and, from these bytes of the block on, taps and weights of each clip, the
 * number of the stored frame of each [step][clip] (-1: all is 0), and frames of
 * `stored` bytes. */
struct ctt_shots {
    int     n, steps, c, w, h, stored_w, most_x, most_y;
    int64_t x, y, wx, wy, frame, data, stored, bytes;
    char   *block;
};

/* Sets where the parts lie, with room for n x steps frames. */
static inline void ctt_shots_place(struct ctt_shots *s)
{
    int64_t n = s->n, number = sizeof(float);

    s->x = n * (int64_t)sizeof(struct ctt_paint);
    s->y = s->x + n * s->w * (int64_t)sizeof(struct ctt_taps);
    s->wx = s->y + n * s->h * (int64_t)sizeof(struct ctt_taps);
    s->wy = s->wx + n * s->w * s->most_x * number;
    s->frame = s->wy + n * s->h * s->most_y * number;
    s->data = s->frame + n * s->steps * number;
    s->bytes = s->data + n * s->steps * s->stored;
}

/* Clip j of a batch whose block lies there. */
CTT_FN struct ctt_render ctt_shots_clip(const struct ctt_shots *s,
                                        const char *block, int64_t j)
{
    struct ctt_render r = { s->c, s->w, s->h, s->stored_w,
        (const struct ctt_taps *)(const void *)(block + s->x) + j * s->w,
        (const struct ctt_taps *)(const void *)(block + s->y) + j * s->h,
        (const float *)(const void *)(block + s->wx) + j * s->w * s->most_x,
        (const float *)(const void *)(block + s->wy) + j * s->h * s->most_y,
        s->most_x, s->most_y,
        (const struct ctt_paint *)(const void *)block + j };

    return r;
}

/* The stored frame of that number of [step][clip]; NULL: there is none. */
CTT_FN const uint8_t *ctt_shots_frame(const struct ctt_shots *s,
                                      const char *block, int64_t i)
{
    int32_t at = ((const int32_t *)(const void *)(block + s->frame))[i];

    return at < 0 ? NULL
                  : (const uint8_t *)(block + s->data + at * s->stored);
}

#endif
