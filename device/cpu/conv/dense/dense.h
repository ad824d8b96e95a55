/* SPDX-License-Identifier: Apache-2.0
 * dense.h: convs of floats, and convs that multiply numbers of 16 bits
 * (bfloat16) and add them up in floats, by the loops of the kernels of
 * quantised load_values (int8_job.h).
 *
 * An element has 32 or 16 bits, a unit is one element or two.  Weights are
 * packed in the order of int8_job.h, and every sum starts at 0. */
#ifndef CTT_DENSE_H
#define CTT_DENSE_H

#include "device/cpu/conv/int8/int8_job.h"

/* Kernels by instruction set and type. */
extern const struct ctt_int8_isa ctt_bf16_avx512, ctt_dense_avx512,
                                 ctt_dense_avx2, ctt_thin_avx512;

/* 1 if the processor has instructions for bf16. */
int  ctt_bf16_supported(void);

/* 1 if the bf16 kernels compute the forward call: bf16 products are allowed,
 * values and result are bf16 or floats, and the processor has the
 * instructions. */
int  ctt_bf16_takes(const struct ctt_call *c);

/* dense_run.c: shape of a call's job; values are read in place if they need no
 * layout of their own. */
struct ctt_int8_job ctt_dense_plan(const struct ctt_int8_isa *isa,
                                   const struct ctt_call *c);

/* dense_run.c: packs the call's weights, unless k holds them already.
 * CTT_ENOMEM. */
int  ctt_dense_pack_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                            const struct ctt_int8_job *j,
                            struct ctt_int8_weights *k);

/* dense_run.c: computes the forward call; bf16 kernels round floats to the
 * nearest.  CTT_ENOMEM. */
int  ctt_dense_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                   const struct ctt_call *c, struct ctt_int8_weights *k);

#endif
