/* SPDX-License-Identifier: Apache-2.0
 * emulated_bf16.c: the kernels of bf16_avx512.c, emulated. */
#include "tests/device/emulated.h"
#include "base/half.h"

#ifdef CTT_EMULATED
#include <string.h>

/* Those that SIMDe does not have: conversions, and memory by a mask. */
#define __mmask16 simde__mmask16

static inline __m256i short_ones(const float *x)
{
    uint16_t y[16];

    for (int i = 0; i < 16; i++)
        y[i] = ctt_bf16_of(x[i]);
    return _mm256_loadu_si256((const __m256i *)(const void *)y);
}

static inline __m256i convert(__m512 v)
{
    float x[16];

    memcpy(x, &v, sizeof(x));
    return short_ones(x);
}

#define _mm512_cvtneps_pbh convert
#include "tests/device/emulated_masks_tmpl.h"
#define ctt_bf16_avx512 ctt_emulated_bf16
#include "device/cpu/conv/dense/bf16_avx512.c"
#else
const struct ctt_int8_isa ctt_emulated_bf16 = { NULL };
#endif
