/* SPDX-License-Identifier: Apache-2.0
 * int8.h: convs of quantised values: products and sums of integers, as
 * doc/format.md, section 2, defines them.  All kernels give the same bits. */
#ifndef CTT_INT8_H
#define CTT_INT8_H

#include "device/cpu/cpu.h"
#include "net/quant.h"

/* Epilogue of a conv: from integer sums to results. factor: by output channel,
 * the quantisation step of the values times the step of the channel's
 * weights. */
struct ctt_int8_epilogue {
    const struct ctt_call *c;
    const float           *factor;
};

/* Writes output channels from .. from + n - 1 of a row of the result: act(sum *
 * factor + bias + plus), each operation rounded; quantised if the result is
 * bytes. */
void K(int8_epilogue)(const struct ctt_int8_epilogue *e, int64_t row,
                      int64_t from, int64_t n, const int32_t *sum);

/* Computes the forward call by direct sums: the reference of all kernels.
 * CTT_ENOMEM. */
int K(int8_sums)(struct ctt_dev *d, const struct ctt_call *c);

#endif
