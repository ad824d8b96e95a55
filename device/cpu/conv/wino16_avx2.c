/* SPDX-License-Identifier: Apache-2.0
 * wino16_avx2.c: the Winograd kernels in whole numbers for AVX2. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#define CTT_ISA avx2
#include "device/cpu/conv/wino16_plan.h"

#define LANES 8
#define ROWS 6

typedef uint32_t vec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef int16_t shorts __attribute__((vector_size(32)));

static inline vec add_products(vec s, vec a, vec b)
{
    return s + (vec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

static inline vec load_pair(const int16_t *p)
{
    int32_t two;

    memcpy(&two, p, sizeof(two));
    return (vec)_mm256_set1_epi32(two);
}

static inline shorts load_bytes(const uint8_t *p)
{
    return (shorts)_mm256_cvtepu8_epi16(
        _mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline vec shift(vec v, int n)
{
    return (vec)_mm256_srai_epi32((__m256i)v, n);
}

static inline fvec to_floats(vec v)
{
    return (fvec)_mm256_cvtepi32_ps((__m256i)v);
}

static inline vec to_whole(fvec v)
{
    return (vec)_mm256_cvtps_epi32((__m256)v);
}

static inline fvec larger(fvec a, fvec b)
{
    return (fvec)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline fvec smaller(fvec a, fvec b)
{
    return (fvec)_mm256_min_ps((__m256)a, (__m256)b);
}

static inline void store_bytes(void *p, vec v)
{
    __m128i s = _mm_packus_epi32(_mm256_castsi256_si128((__m256i)v),
                                 _mm256_extracti128_si256((__m256i)v, 1));

    _mm_storel_epi64(p, _mm_packus_epi16(s, s));
}

#include "device/cpu/conv/wino16_tmpl.h"

const struct ctt_wino16_isa ctt_wino16_avx2 = {
    "avx2", LANES, ctt_has_avx2, conv
};
#else
#include "device/cpu/conv/wino16.h"

const struct ctt_wino16_isa ctt_wino16_avx2 = {
    "avx2", 0, ctt_has_avx2, NULL
};
#endif
