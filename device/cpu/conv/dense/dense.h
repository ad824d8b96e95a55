/* SPDX-License-Identifier: Apache-2.0
 * dense.h: convs of floats, and convs that multiply numbers of 16 bits
 * (bfloat16, half precision) and add them up in floats, by the loops of the
 * kernels of quantised values (int8_job.h).
 *
 * An element has 32 or 16 bits, a unit is one element or two.  Weights are
 * packed in the order of int8_job.h, and every sum starts at 0. */
#ifndef CTT_DENSE_H
#define CTT_DENSE_H

#include "device/cpu/conv/int8/int8_job.h"

/* Kernels by instruction set and type. */
extern const struct ctt_int8_isa ctt_bf16_amx, ctt_bf16_avx512,
                                 ctt_fp16_avx512,
                                 ctt_dense_avx512, ctt_dense_avx2,
                                 ctt_thin_avx512;

/* 1 if the processor has instructions for products of this type of 16 bits. */
int  ctt_half_supported(enum ctt_dtype type);

/* ctt_dev_multiplies() of "cpu". */
int  ctt_half_speed(enum ctt_dtype type);

/* 1 if kernels of 16 bits compute the forward call: such products are allowed
 * (c->mul), values and result are of that type or floats, and the processor has
 * the instructions. */
int  ctt_half_takes(const struct ctt_call *c);

/* dense_run.c: shape of a call's job; values are read in place if they need no
 * layout of their own. */
struct ctt_int8_job ctt_dense_plan(const struct ctt_int8_isa *isa,
                                   const struct ctt_call *c);

/* dense_run.c: packs the call's weights, unless k holds them already.
 * CTT_ENOMEM. */
int  ctt_dense_pack_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                            const struct ctt_int8_job *j,
                            struct ctt_int8_weights *k);

/* dense_run.c: computes the forward call; kernels of 16 bits round floats
 * to the nearest.  gap: pixels that the result leaves out after each row of its
 * images.  CTT_ENOMEM. */
int  ctt_dense_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                   const struct ctt_call *c, int64_t gap,
                   struct ctt_int8_weights *k);

#endif
