/* SPDX-License-Identifier: Apache-2.0
 * pixels.h: the values that a model reads of the bytes of its frames: gamma,
 * then a mean and a deviation, given or those of the frames seen so far.
 * doc/format.md, section 2, is their definition. */
#ifndef CTT_PIXELS_H
#define CTT_PIXELS_H

#include "net/graph.h"

enum {
    CTT_PIXELS_WHITE  = 65535,    /* a byte of 255, after gamma */
    CTT_PIXELS_MEMORY = 256       /* frames */
};
#define CTT_PIXELS_MOST (INT64_C(1) << 30)    /* values of a frame */

/* One stream of frames; 4 KB. */
struct ctt_pixels {
    struct ctt_input in;        /* mean, std: those of the last frame */
    uint16_t light[256];        /* of a byte after gamma, 65535: white */
    int      bent, alike;       /* gamma is not 1; channels have one mean and
                                   one std */
    float    mul[3], add[3];    /* value = byte mul + add; if bent, */
    float    table[3][256];     /* value = table[channel][byte] */
    int      frames;            /* normalise=clip: counted so far, at most
                                   CTT_PIXELS_MEMORY; of these the sums of */
    uint64_t mean, square;      /* their means 2^32, mean squares 2^16 */
};

/* Before the first frame of a stream that a model with this input reads; reset:
 * the next frame is the first of another stream. */
void ctt_pixels_begin(struct ctt_pixels *p, const struct ctt_input *in);
void ctt_pixels_reset(struct ctt_pixels *p);

/* The next frame of the stream, in->h rows of in->w x in->c bytes that begin
 * `row` bytes apart: from now on values are those of its bytes.  Whole numbers
 * are added up, so they are the same whoever computes them. */
void ctt_pixels_next(struct ctt_pixels *p, const uint8_t *frame, size_t row);

/* The same with the values of a frame that is not made of bytes: in->h x
 * in->w x in->c of them, 0..1 after gamma, rounded to whole numbers of 0 to
 * CTT_PIXELS_WHITE. */
void ctt_pixels_next_values(struct ctt_pixels *p, const float *value);

/* The values of n pixels of that frame that begin `step` bytes apart, which may
 * be negative: n x in->c floats. */
void ctt_pixels_float(const struct ctt_pixels *p, const uint8_t *pixel,
                      int64_t n, int step, float *out);

/* CTT_EUNSUP if values cannot be turned back into bytes, as a model must that
 * predicts frames: with normalise=clip the next frame is not known, with gamma
 * dark steps are lost. */
int ctt_pixels_reversible(const struct ctt_node *input);

#endif
