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

static inline void put_shorts(void *to, unsigned mask, __m256i v)
{
    uint16_t x[16];

    memcpy(x, &v, sizeof(x));
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((char *)to + 2 * i, &x[i], 2);
}

static inline void put_floats(void *to, unsigned mask, __m512 v)
{
    float x[16];

    memcpy(x, &v, sizeof(x));
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((char *)to + 4 * i, &x[i], 4);
}

static inline __m512 get_floats(unsigned mask, const float *from)
{
    float x[16] = { 0 };

    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            x[i] = from[i];
    return _mm512_loadu_ps(x);
}

#define _mm512_cvtneps_pbh convert
#define _mm256_mask_storeu_epi16 put_shorts
#define _mm512_mask_storeu_ps put_floats
#define _mm512_maskz_loadu_ps get_floats
#define ctt_bf16_avx512 ctt_emulated_bf16
#include "device/cpu/conv/dense/bf16_avx512.c"
#else
const struct ctt_int8_isa ctt_emulated_bf16 = { NULL };
#endif
