/* SPDX-License-Identifier: Apache-2.0
 * direct.h: direct sums: y = sum over taps of rows of x times weights, for conv
 * and deconv, forward and backward. */
#ifndef CTT_DIRECT_H
#define CTT_DIRECT_H

#include "device/cpu/cpu.h"

#if defined(__AVX512F__)
enum { CTT_VEC = 16 };
#elif defined(__AVX2__)
enum { CTT_VEC = 8 };
#else
enum { CTT_VEC = 4 };
#endif

/* Tap t of output position o reads the source at o * stride - pad + t *
 * dilation or, with `up`, at (o + pad - t * dilation) / stride if the division
 * leaves no remainder.  Tap t
 * takes channel i to j by w[i * step_x + t * step_tap + j * step_y].  With
 * groups, i and j are counted within a group, and the groups' weights follow
 * each other. */
struct ctt_direct {
    const struct ctt_tensor *y, *x, *plus;    /* plus: added to y, or NULL */
    const int               *kernel, *stride, *pad, *dilation;
    int                      up, add, act;
    const struct ctt_weight *w;               /* of any form */
    const float             *bias;            /* may be NULL */
    int64_t                  step_x, step_tap, step_y, groups;
};

int K(direct)(struct ctt_dev *d, const struct ctt_direct *v);

/* The gradient of the weights of call c (up: a deconv): dw[o][tap][i] += the
 * sum over the pixels of dy[o] x[i], i counted in the group of o.  The large
 * tensor, over which the kernel slides, is x of a conv or dy of a deconv. */
int K(direct_dw)(struct ctt_dev *d, const struct ctt_call *c, int up);

#endif
