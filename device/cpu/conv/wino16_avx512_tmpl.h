/* SPDX-License-Identifier: Apache-2.0
 * wino16_avx512_tmpl.h: the Winograd kernels in whole numbers for AVX-512; with
 * VNNI, if WINO16_VNNI is defined. */
#include "device/cpu/conv/wino16_plan.h"

#define LANES 16
#define ROWS 14

typedef uint32_t vec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef int16_t shorts __attribute__((vector_size(32)));
typedef vec wvec, pvec;
typedef uint8_t some_bytes __attribute__((vector_size(LANES)));

static inline vec add_products(vec s, pvec a, wvec b)
{
#ifdef WINO16_VNNI
    return (vec)_mm512_dpwssd_epi32((__m512i)s, (__m512i)a, (__m512i)b);
#else
    return s + (vec)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#endif
}

static inline wvec load_weights(const int16_t *p)
{
    return (wvec)_mm512_loadu_si512(p);
}

static inline pvec load_pair(const int16_t *p)
{
    int32_t two;

    memcpy(&two, p, sizeof(two));
    return (pvec)_mm512_set1_epi32(two);
}

static inline shorts load_bytes(const uint8_t *p)
{
    return (shorts)_mm256_cvtepu8_epi16(
        _mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline fvec larger(fvec a, fvec b)
{
    return (fvec)_mm512_max_ps((__m512)a, (__m512)b);
}

static inline fvec smaller(fvec a, fvec b)
{
    return (fvec)_mm512_min_ps((__m512)a, (__m512)b);
}

struct limits { fvec low, high; int32_t zero; };

static inline void store_bytes(void *p, fvec v, const struct limits *l)
{
    ivec w;
    some_bytes b;

    v = smaller(larger(v, l->low), l->high);
    v = (v + 12582912.0f) - 12582912.0f;
    w = __builtin_convertvector(v, ivec) + l->zero;
    b = __builtin_convertvector(w, some_bytes);
    memcpy(p, &b, sizeof(b));
}

#include "device/cpu/conv/wino16_tmpl.h"
