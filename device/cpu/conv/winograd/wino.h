/* SPDX-License-Identifier: Apache-2.0
 * wino.h: Winograd convolution of stride 1, 3x3 and 5x5, channels last:
 * F(4x4,3x3), F(2x2,3x3) and F(4x4,5x5) (Winograd 1980; Lavin and Gray 2016).
 *
 * Tiles of 4x4 results are computed in the transform domain, where a
 * convolution is one matrix product per frequency (36 or 64 of them) of tiles x
 * in and in x out: 4 and 6.25 times fewer multiplications than the direct sum.
 * Tiles of 2x2 have 16 frequencies, and so fewer weights to read: 2.25 times
 * fewer multiplications.
 * Errors are 4e-6 to 2e-5 of the largest value.
 *
 * A second input with weights of its own costs its products only: both are
 * summed before the inverse transform.  If the results are the gates of an LSTM
 * cell, the cell is computed directly after that transform. */
#ifndef CTT_WINO_H
#define CTT_WINO_H

#include "device/device.h"

/* A convolution over n images of h x w pixels, c channels, and c2 channels of a
 * second input (0: none), to k channels.  The window is r x r, the padding
 * zeros, the result h + 2 pad - r + 1 high. hidden: LSTM cells per pixel, whose
 * gates the k results are; 0: none.  small: tiles of 2x2, for a forward pass of
 * 3x3 without both.  windows: packed weights are windows, as
 * ctt_wino_few_tiles() says, which are transformed where they are
 * multiplied. */
struct ctt_wino_shape {
    int64_t n, h, w, c, k;
    int     r, pad_h, pad_w;
    int64_t c2, hidden;
    int     small, windows;
};

/* The cells' states: old is read, h and c are written (c may be NULL). */
struct ctt_wino_cell {
    const float *old;
    float       *h, *c;
    int64_t      ldold, ldh, ldc;
};

/* Epilogue of each result y: y = act(sum + bias + bias2 + plus), or y += sum;
 * then the cell reads y.  NULL and 0: none. */
struct ctt_wino_epilogue {
    const float *bias, *bias2, *plus;
    int64_t      ldplus;
    int          act, add;
    const struct ctt_wino_cell *cell;
};

/* A forward pass.  y may be NULL if there is a cell, and may be end's plus. */
struct ctt_wino_job {
    const struct ctt_wino_shape *s;
    const float                 *x[2], *u;
    int64_t                      ldx[2];
    float                       *y;
    int64_t                      ldy;
    const struct ctt_wino_epilogue *end;
    int                          far;    /* set by ctt_wino_conv(): y is larger
                                            than the caches */
    struct ctt_dev              *dev;    /* whose threads; NULL: any */
};

/* The gradient of the weights, from x and dy, the gradient of the result. */
struct ctt_wino_back {
    const struct ctt_wino_shape *s;
    const float                 *x, *dy;
    int64_t                      ldx, lddy;
    struct ctt_dev              *dev;      /* whose threads; NULL: any */
    int64_t                      block;    /* set by ctt_wino_grad(): tiles that
                                              are transformed together */
};

/* One instruction set's kernels; lanes: floats in a register. */
struct ctt_wino_isa {
    const char *name;
    int         lanes;
    int       (*supported)(void);
    /* Runs item `item` of a forward pass in scratch: block item / groups, and
     * of the panels of results the share item % groups. */
    void (*conv)(const struct ctt_wino_job *j, int item, int groups,
                 int64_t block, float *scratch);
    /* Computes du, [panel][freq][c][width], of panels first .. last - 1 alone,
     * as the sums over tiles from .. to - 1. */
    void (*grad)(const struct ctt_wino_back *b, int64_t from, int64_t to,
                 int64_t first, int64_t last, float *du, float *scratch);
    /* Windows [tap][lane] to frequencies, [lane] every `step` floats, of tiles
     * of this side, and, the gradient, [freq][lane] back. */
    void (*forth)(int side, const float *win, float *u, int64_t step);
    void (*back)(int side, const float *u, float *win);
};

extern const struct ctt_wino_isa ctt_wino_avx2, ctt_wino_avx512;

/* The best instruction set of this processor; NULL: none. */
const struct ctt_wino_isa *ctt_wino_best(void);

/* The shape of the forward pass of node n on input x, and of the gradient of
 * its input, which is a convolution with the window turned by 180 degrees. */
struct ctt_wino_shape ctt_wino_fwd_shape(const struct ctt_node *n,
                                         const struct ctt_tensor *x);
struct ctt_wino_shape ctt_wino_din_shape(const struct ctt_node *n,
                                         const struct ctt_tensor *x);

/* 1 if the weights of a forward pass are long, and its tiles so few that it
 * takes no longer to transform them each time than to read four (tiles of 2x2:
 * 16/9) times as much memory. */
int ctt_wino_few_tiles(const struct ctt_wino_isa *i,
                       const struct ctt_wino_shape *s);

/* Sizes in floats: packed weights; scratch of `threads` threads, also
 * of a gradient of the weights. */
int64_t ctt_wino_packed(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s);
int64_t ctt_wino_scratch(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int threads);
int64_t ctt_wino_grad_scratch(const struct ctt_wino_isa *i,
                              const struct ctt_wino_shape *s, int threads);

/* Packs weights into u. w: (out,r,r,in) of the forward conv; w2: of the conv of
 * the second input. turned: packs for the gradient of the input, with s->c =
 * out and s->k = in. */
void ctt_wino_pack(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *w, const float *w2, int turned, int threads,
                   float *u);

/* Computes a forward pass; no bit depends on the number of threads. */
void ctt_wino_conv(const struct ctt_wino_isa *i, const struct ctt_wino_job *j,
                   int threads, float *scratch);

/* Adds the gradient of the weights to dw, (k,r,r,c).  The caller sets b->s, the
 * forward shape, x, dy, ldx and lddy.  Threads share the tiles, in parts whose
 * sums are added in one order, and the panels where that divides the work more
 * evenly, so no bit depends on the number of threads. */
void ctt_wino_grad(const struct ctt_wino_isa *i, struct ctt_wino_back *b,
                   int threads, float *scratch, float *dw);

#endif
