/* SPDX-License-Identifier: Apache-2.0
 * amx.h: convs by AMX, Intel's tiles of 16 rows of 64 bytes: 16 pixels times 16
 * channels, of whole numbers or of bfloat16, with the weights of the AVX-512
 * kernels, whose units of 32 bits are those of a tile. */
#ifndef CTT_AMX_H
#define CTT_AMX_H

#include "device/cpu/conv/int8/int8_job.h"

/* 1 if the processor has AMX for bytes and for bfloat16 and the system lets
 * this process use it. */
int ctt_has_amx(void);

/* 1 if tiles pay for a call: enough pixels, products and channels. */
int ctt_amx_can(const struct ctt_call *c);

/* Bytes of scratch that ctt_amx_task() needs for each thread. */
int64_t ctt_amx_room(const struct ctt_int8_job *j);

/* The task of `plain`, kernels for AVX-512, by tiles; who: the thread. */
void ctt_amx_task(const struct ctt_int8_isa *plain,
                  const struct ctt_int8_job *j, int64_t task, int who);

#endif
