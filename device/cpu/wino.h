/* SPDX-License-Identifier: Apache-2.0
 * wino.h: Winograd convolution of stride 1, 3x3 and 5x5, channels last:
 * F(4x4,3x3) and F(4x4,5x5) (Winograd 1980; Lavin and Gray 2016).
 *
 * Tiles of 4x4 results are computed in the transform domain, where a
 * convolution is one matrix product a frequency (36 or 64 of them) of tiles x
 * in and in x out: 4 and 6.25 times fewer multiplications than the direct sum.
 * Errors are 4e-6 to 2e-5 of the largest value. */
#ifndef CTT_WINO_H
#define CTT_WINO_H

#include "device/device.h"

/* A convolution over n images of h x w pixels, c channels to k, window r x r,
 * zeros around: the result is (h + 2 pad - r + 1) high. */
struct ctt_wino_shape { int64_t n, h, w, c, k; int r, pad_h, pad_w; };

/* What is done with each result y: y = act(sum + bias + plus), or y += sum.
 * NULL and 0: not. */
struct ctt_wino_end {
    const float *bias, *plus;
    int64_t      ldplus;
    int          act, add;
};

/* One instruction set's kernels; lanes: floats in a register. */
struct ctt_wino_isa {
    const char *name;
    int         lanes;
    int       (*supported)(void);
    /* Runs item `item` of `items` of a forward pass in scratch. */
    void (*conv)(const struct ctt_wino_shape *s, int item, int groups,
                 int64_t tiles, const float *x, int64_t ldx, const float *u,
                 float *y, int64_t ldy, const struct ctt_wino_end *end,
                 float *scratch);
    /* Adds the product of tiles first .. last - 1 to du, [freq][c][kp]. */
    void (*grad)(const struct ctt_wino_shape *s, int64_t first, int64_t last,
                 int64_t tiles, const float *x, int64_t ldx, const float *dy,
                 int64_t lddy, float *du, float *scratch);
};

extern const struct ctt_wino_isa ctt_wino_avx2, ctt_wino_avx512;

/* The best one this machine has, or NULL. */
const struct ctt_wino_isa *ctt_wino_best(void);

/* 1 if a conv with this window, stride and size can be done here. */
int ctt_wino_can(const struct ctt_node *n);

/* The shape of the forward pass of node n on nimages, and of the way back to
 * its input, which is a convolution with the turned window. */
struct ctt_wino_shape ctt_wino_fwd_shape(const struct ctt_node *n,
                                         const struct ctt_tensor *x);
struct ctt_wino_shape ctt_wino_din_shape(const struct ctt_node *n,
                                         const struct ctt_tensor *x);

/* Floats of packed weights, and of scratch for `threads` threads. */
int64_t ctt_wino_packed(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s);
int64_t ctt_wino_scratch(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int threads);
int64_t ctt_wino_grad_scratch(const struct ctt_wino_isa *i,
                              const struct ctt_wino_shape *s, int threads);

/* w is (out,r,r,in) of the forward conv; turned: pack for the way back, where
 * s->c = out and s->k = in. */
void ctt_wino_pack(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *w, int turned, int threads, float *u);

void ctt_wino_conv(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *x, int64_t ldx, const float *u, float *y,
                   int64_t ldy, const struct ctt_wino_end *end, int threads,
                   float *scratch);

/* dw, (k,r,r,c), += the gradient; s is the forward shape.  The sum's order
 * depends on the number of threads and on nothing else. */
void ctt_wino_grad(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *x, int64_t ldx, const float *dy, int64_t lddy,
                   float *dw, int threads, float *scratch);

#endif
