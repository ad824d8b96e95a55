/* SPDX-License-Identifier: Apache-2.0
 * pixels.h: normalisation: bytes of frames to the values that a model reads, by
 * gamma, then a mean and a deviation, given or measured on the frames so far.
 * doc/format.md, section 2, is the definition. */
#ifndef CTT_PIXELS_H
#define CTT_PIXELS_H

#include "net/graph.h"

enum {
    CTT_PIXELS_WHITE  = 65535,    /* a byte of 255, after gamma */
    CTT_PIXELS_MEMORY = 256       /* frames */
};
#define CTT_PIXELS_MOST (INT64_C(1) << 30)    /* values of a frame */

/* The normalisation of one stream of frames; 4 KB. */
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

/* begin: sets *p for a stream that a model with this input reads.  reset: the
 * next frame is the first of another stream. */
void ctt_pixels_begin(struct ctt_pixels *p, const struct ctt_input *in);
void ctt_pixels_reset(struct ctt_pixels *p);

/* Passes on to the next frame of the stream, in->h rows of in->w x in->c bytes
 * that begin `row` bytes apart; with normalise=clip its bytes change mean and
 * deviation.  Sums are of whole numbers, so they have the same bits on every
 * processor. */
void ctt_pixels_next(struct ctt_pixels *p, const uint8_t *frame, size_t row);

/* The same for a frame of floats: in->h x in->w x in->c values, 0..1 after
 * gamma, which are rounded to whole numbers of 0 to CTT_PIXELS_WHITE. */
void ctt_pixels_next_values(struct ctt_pixels *p, const float *value);

/* Writes the values of n pixels of the current frame to out, n x in->c floats.
 * Pixels begin `step` bytes apart, which may be negative. */
void ctt_pixels_float(const struct ctt_pixels *p, const uint8_t *pixel,
                      int64_t n, int step, float *out);

/* CTT_EUNSUP if values of this input cannot be turned back into bytes, which a
 * model that predicts frames needs: normalise=clip depends on the frame itself,
 * and gamma loses dark steps. */
int ctt_pixels_reversible(const struct ctt_node *input);

#endif
