/* SPDX-License-Identifier: Apache-2.0
 * wino16_avx512_tmpl.h: the Winograd kernels in whole numbers for AVX-512; with
 * VNNI, if WINO16_VNNI is defined. */
#include "device/cpu/conv/winograd/wino16_plan.h"

#define LANES 16
#define ROWS 14

typedef uint32_t vec __attribute__((vector_size(LANES * 4)));
typedef int16_t shorts __attribute__((vector_size(32)));
typedef vec wvec, pvec;
typedef uint8_t some_bytes __attribute__((vector_size(LANES)));

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

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

struct limits { fvec low, high; int32_t zero; };

static inline void store_bytes(void *p, fvec v, const struct limits *l)
{
    ivec w;
    some_bytes b;

    v = lanes_min(lanes_max(v, l->low), l->high);
    v = (v + 12582912.0f) - 12582912.0f;
    w = __builtin_convertvector(v, ivec) + l->zero;
    b = __builtin_convertvector(w, some_bytes);
    memcpy(p, &b, sizeof(b));
}

#ifndef CTT_EMULATED
/* Stores up to four pixels at once: numbers below the lower limit, and NaNs,
 * are negative before packing, which saturates them to 0. */
#define STORE_PIXELS
static inline __attribute__((always_inline))
void store_pixels(int pixels, char *p, int64_t step, const fvec *v,
                  const struct limits *l)
{
    ivec zero = (ivec)_mm512_set1_epi16((short)l->zero), w[4];
    some_bytes b[4];

    for (int i = 0; i < 4; i++)
        w[i] = WHOLE(lanes_min(l->high, v[i < pixels ? i : 0]));
    w[0] = in_order(pack_bytes(pack_two(w[0], w[1], zero),
                               pack_two(w[2], w[3], zero)));
    b[0] = (some_bytes)_mm512_castsi512_si128((__m512i)w[0]);
    b[1] = (some_bytes)_mm512_extracti32x4_epi32((__m512i)w[0], 1);
    b[2] = (some_bytes)_mm512_extracti32x4_epi32((__m512i)w[0], 2);
    b[3] = (some_bytes)_mm512_extracti32x4_epi32((__m512i)w[0], 3);
    for (int i = 0; i < pixels; i++)
        memcpy(p + i * step, &b[i], LANES);
}
#endif

#include "device/cpu/conv/winograd/wino16_tmpl.h"
