/* SPDX-License-Identifier: Apache-2.0
 * direct.h: what direct.c computes: y = sum over taps of rows of x times
 * weights, for conv and deconv, forward and backward. */
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

/* Tap t of output place o reads the source at o * stride - pad + t or, with
 * `up`, at (o + pad - t) / stride where that is whole.  Tap t takes channel i
 * to j by w[i * step_x + t * step_tap + j * step_y]. */
struct ctt_direct {
    const struct ctt_tensor *y, *x, *plus;    /* plus: added to y, or NULL */
    const int               *kernel, *stride, *pad;
    int                      up, add, act;
    const struct ctt_weight *w;               /* of any form */
    const float             *bias;            /* may be NULL */
    int64_t                  step_x, step_tap, step_y;
};

int K(direct)(struct ctt_dev *d, const struct ctt_direct *v);

/* dw[o][tap][i] += the sum over the pixels of dy[o] x[i].  The large tensor is
 * the one that the kernel slides over: x of a conv, dy of a deconv. */
int K(direct_dw)(struct ctt_dev *d, const struct ctt_node *n,
                 const struct ctt_tensor *dy, const struct ctt_tensor *x,
                 int up, float *dw);

#endif
