/* SPDX-License-Identifier: Apache-2.0
 * int8.h: convs of quantised values: products and sums of whole numbers, as
 * doc/format.md, section 2, defines them.  All ways to compute them give the
 * same bits. */
#ifndef CTT_INT8_H
#define CTT_INT8_H

#include "device/cpu/cpu.h"
#include "net/quant.h"

/* The operations on the sums of a conv.  factor: by output channel, the step of
 * the values times that of the channel's weights. */
struct ctt_int8_end {
    const struct ctt_call *c;
    const float           *factor;
};

/* Output channels from .. from + n - 1 of a row of the result: act(sum * factor
 * + bias + plus), each operation rounded; as a byte if the result is bytes. */
void K(int8_end)(const struct ctt_int8_end *e, int64_t row, int64_t from,
                 int64_t n, const int32_t *sum);

/* The forward call by direct sums: the reference for the others. */
int K(int8_sums)(struct ctt_dev *d, const struct ctt_call *c);

#endif
