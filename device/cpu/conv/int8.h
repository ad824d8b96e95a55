/* SPDX-License-Identifier: Apache-2.0
 * int8.h: convs of quantised values: products and sums of whole numbers, as
 * doc/format.md, section 2, defines them.  All ways to compute them give the
 * same bits. */
#ifndef CTT_INT8_H
#define CTT_INT8_H

#include "device/cpu/cpu.h"
#include "net/quant.h"

/* The factor of a sum: the step of the values times that of the weights of the
 * output channel. */
static inline float ctt_int8_factor(const struct ctt_tensor *x, float step)
{
    return x->scale * step;
}

/* The forward call by direct sums: the reference for the others. */
int K(int8_sums)(struct ctt_dev *d, const struct ctt_call *c);

#endif
