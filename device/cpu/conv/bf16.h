/* SPDX-License-Identifier: Apache-2.0
 * bf16.h: convs that multiply numbers of 16 bits (bfloat16) and add them up in
 * floats, by the loops of the kernels of quantised values (int8_job.h).
 *
 * An element of the values is 16 bits, a unit two of them.  Weights are packed
 * as those of whole numbers are, and every sum starts with 0. */
#ifndef CTT_BF16_H
#define CTT_BF16_H

#include "device/cpu/conv/int8_job.h"

/* The kernels, by instruction set; supported(): 1 if this processor has it. */
extern const struct ctt_int8_isa ctt_bf16_avx512;

/* 1 if the forward call goes to these kernels: it may multiply bf16, its values
 * and its result are bf16 or floats, and the processor has them. */
int  ctt_bf16_takes(const struct ctt_call *c);

/* bf16_run.c: the forward call by these kernels, which round floats to the
 * nearest.  The weights are packed again if they are not those of the call. */
int  ctt_bf16_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_call *c, struct ctt_int8_weights *k);

#endif
