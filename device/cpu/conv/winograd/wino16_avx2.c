/* SPDX-License-Identifier: Apache-2.0
 * wino16_avx2.c: the Winograd kernels in whole numbers for AVX2. */
#define CTT_ISA avx2
#include "device/cpu/conv/winograd/wino16.h"
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#include "device/cpu/conv/winograd/wino16_plan.h"

#define LANES 8
#define ROWS 6

typedef uint32_t vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef int16_t shorts __attribute__((vector_size(32)));
typedef vec wvec, pvec;

static inline vec add_products(vec s, pvec a, wvec b)
{
    return s + (vec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

static inline wvec load_weights(const int16_t *p)
{
    return (wvec)_mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline pvec load_pair(const int16_t *p)
{
    int32_t two;

    memcpy(&two, p, sizeof(two));
    return (pvec)_mm256_set1_epi32(two);
}

static inline shorts load_bytes(const uint8_t *p)
{
    return (shorts)_mm256_cvtepu8_epi16(
        _mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline fvec lanes_max(fvec a, fvec b)
{
    return (fvec)_mm256_max_ps((__m256)a, (__m256)b);
}

static inline fvec lanes_min(fvec a, fvec b)
{
    return (fvec)_mm256_min_ps((__m256)a, (__m256)b);
}

struct limits { fvec low, high; int32_t zero; };

/* Numbers below the lower limit, and NaNs, are negative before packing, which
 * saturates them to 0. */
static inline void store_bytes(void *p, fvec v, const struct limits *l)
{
    __m256i w = _mm256_cvtps_epi32((__m256)lanes_min(l->high, v));
    __m128i s;

    w = _mm256_add_epi32(w, _mm256_set1_epi32(l->zero));
    s = _mm_packs_epi32(_mm256_castsi256_si128(w),
                        _mm256_extracti128_si256(w, 1));
    _mm_storel_epi64(p, _mm_packus_epi16(s, s));
}

#include "device/cpu/conv/winograd/wino16_tmpl.h"

const struct ctt_wino16_isa ctt_wino16_avx2 = {
    "avx2", LANES, ctt_has_avx2, conv_item
};
#else
const struct ctt_wino16_isa ctt_wino16_avx2 = {
    "avx2", 0, ctt_has_avx2, NULL
};
#endif
