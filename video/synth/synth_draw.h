/* SPDX-License-Identifier: Apache-2.0
 * synth_draw.h: draws the generated clips: random numbers, the poses of the
 * objects in a frame, and the calls that draw them.  Lengths are in units of
 * the frame's width, angles in radians, colours in 0..255. */
#ifndef CTT_SYNTH_DRAW_H
#define CTT_SYNTH_DRAW_H

#include "base/ctt.h"
#include "base/random.h"

enum { CTT_SYNTH_SHAPES = 8, CTT_SYNTH_COLOURS = 10 };

/* Position in a stream of random numbers.  Each clip uses 2^28 of them: half
 * for its script, half for pixel noise. */
struct ctt_rng { uint64_t key, i; };

static inline float ctt_rng_in(struct ctt_rng *r, float lo, float hi)
{
    float u = (float)(ctt_random(r->key, r->i++) >> 8) * 0x1p-24f;

    return lo + (hi - lo) * u;
}

static inline int ctt_rng_below(struct ctt_rng *r, int n)
{
    return (int)((uint64_t)ctt_random(r->key, r->i++) * (uint64_t)n >> 32);
}

/* An object.  It may be in two pieces: the part beyond the line through its
 * middle with normal (nx, ny), in its own coordinates, is moved along that
 * normal by gap half heights. */
struct ctt_thing {
    int   shape, colour;    /* rows of the tables in synth_draw.c */
    float x, y, s, a;       /* middle, half height, angle */
    float gap, nx, ny;
    float rgb[3], band[3];  /* colours of object and stripe */
};

struct ctt_hand {
    float x, y, s, a;       /* finger tips, size, direction of the arm */
    float skin[3], sleeve[3];
};

/* Camera of one frame: shift in frame widths, brightness gain. */
struct ctt_view { float x, y, gain; };

struct ctt_canvas {
    int    size, margin;
    float *back;            /* background, wider by margin on each side */
    float *rgb;             /* the frame being drawn, size x size x 3 */
};

extern const char *const ctt_synth_shape[CTT_SYNTH_SHAPES];
extern const char *const ctt_synth_colour[CTT_SYNTH_COLOURS];

int  ctt_canvas_new(struct ctt_canvas *v, int size);
void ctt_canvas_free(struct ctt_canvas *v);
/* Chooses shape and colours; the caller sets the pose. */
void ctt_thing_pick(struct ctt_rng *r, struct ctt_thing *t);
void ctt_hand_pick(struct ctt_rng *r, struct ctt_hand *h);
/* Distance in half heights from a shape's middle to its edge in direction
 * (nx, ny). */
float ctt_thing_edge(int shape, float nx, float ny);
void ctt_draw_back(struct ctt_canvas *v, struct ctt_rng *r);
void ctt_draw_view(struct ctt_canvas *v, const struct ctt_view *w);
void ctt_draw_thing(struct ctt_canvas *v, const struct ctt_view *w,
                    const struct ctt_thing *t);
void ctt_draw_hand(struct ctt_canvas *v, const struct ctt_view *w,
                   const struct ctt_hand *h);
/* Multiplies by gain, adds sensor noise of standard deviation sigma (one random
 * number per pixel from r on) and writes bytes. */
void ctt_draw_bytes(const struct ctt_canvas *v, const struct ctt_rng *r,
                    float gain, float sigma, uint8_t *out);

#endif
