/* SPDX-License-Identifier: Apache-2.0
 * emulated_fp16.c: the kernels of fp16_avx512.c, emulated: what SIMDe does not
 * have, by definition in whole numbers. */
#include "tests/device/emulated.h"
#include "tests/device/half_sums.h"

#if defined(CTT_EMULATED) && defined(CTT_X86_HALVES)
#include <string.h>

#define __mmask16 simde__mmask16
#define __m512h __m512i
#define _Float16 uint16_t

static inline __m512i get_halves(const void *from)
{
    __m512i v;

    memcpy(&v, from, sizeof(v));
    return v;
}

static inline __m512i spread(uint16_t h)
{
    uint16_t x[32];

    for (int i = 0; i < 32; i++)
        x[i] = h;
    return get_halves(x);
}

static inline __m512i multiply_add(__m512i a, __m512i b, __m512i c)
{
    uint16_t x[32], y[32], z[32];

    memcpy(x, &a, sizeof(x));
    memcpy(y, &b, sizeof(y));
    memcpy(z, &c, sizeof(z));
    for (int i = 0; i < 32; i++)
        z[i] = half_fma(x[i], y[i], z[i]);
    return get_halves(z);
}

static inline __m256i half_of(__m512i v, int high)
{
    __m256i h;

    memcpy(&h, (const char *)&v + high * sizeof(h), sizeof(h));
    return h;
}

static inline __m512 floats_of(__m256i v)
{
    uint16_t h[16];
    float x[16];

    memcpy(h, &v, sizeof(h));
    for (int i = 0; i < 16; i++)
        x[i] = ctt_of_f16(h[i]);
    return _mm512_loadu_ps(x);
}

static inline __m256i halves_of(__m512 v)
{
    float x[16];
    uint16_t h[16];
    __m256i to;

    memcpy(x, &v, sizeof(x));
    for (int i = 0; i < 16; i++)
        h[i] = ctt_f16_of(x[i]);
    memcpy(&to, h, sizeof(to));
    return to;
}

#define _mm512_loadu_ph get_halves
#define _mm512_set1_ph spread
#define _mm512_setzero_ph() spread(0)
#define _mm512_fmadd_ph multiply_add
#define _mm512_castph_si512(v) (v)
#undef _mm512_castsi512_si256
#undef _mm512_extracti64x4_epi64
#define _mm512_castsi512_si256(v) half_of(v, 0)
#define _mm512_extracti64x4_epi64 half_of
#define _mm512_cvtph_ps floats_of
#define _mm512_cvtps_ph(v, how) halves_of(v)
#ifndef _MM_FROUND_NO_EXC
#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC
#endif
#include "tests/device/emulated_masks_tmpl.h"
#define ctt_fp16_avx512 ctt_emulated_fp16
#include "device/cpu/conv/dense/fp16_avx512.c"
#else
const struct ctt_int8_isa ctt_emulated_fp16 = { NULL };
#endif
