/* SPDX-License-Identifier: Apache-2.0
 * dense.h: convs of floats, and convs that multiply numbers of 16 bits
 * (bfloat16) and add them up in floats, by the loops of the kernels of
 * quantised values (int8_job.h).
 *
 * An element of the values has 32 or 16 bits, a unit is one or two of them.
 * Weights are packed as those of whole numbers are, and every sum starts with
 * 0. */
#ifndef CTT_DENSE_H
#define CTT_DENSE_H

#include "device/cpu/conv/int8/int8_job.h"

/* The kernels, by instruction set; supported(): 1 if this processor has it. */
extern const struct ctt_int8_isa ctt_bf16_avx512, ctt_dense_avx512,
                                 ctt_dense_avx2, ctt_thin_avx512;

/* 1 if the processor has the kernels of bf16. */
int  ctt_bf16_supported(void);

/* 1 if the forward call goes to the kernels of bf16: it may multiply bf16, its
 * values and its result are bf16 or floats, and the processor has them. */
int  ctt_bf16_takes(const struct ctt_call *c);

/* dense_run.c: the shape of a call's job; values that need not be laid out are
 * read where they are. */
struct ctt_int8_job ctt_dense_plan(const struct ctt_int8_isa *isa,
                                   const struct ctt_call *c);

/* dense_run.c: packs the weights of the call, if they are not those. */
int  ctt_dense_get(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                   const struct ctt_int8_job *j, struct ctt_int8_weights *k);

/* dense_run.c: the forward call by these kernels; those of bf16 round floats
 * to the nearest.  CTT_ENOMEM. */
int  ctt_dense_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                   const struct ctt_call *c, struct ctt_int8_weights *k);

#endif
