/* SPDX-License-Identifier: Apache-2.0
 * wino_avx512.c: the Winograd kernels for AVX512. */
#include "device/cpu/conv/winograd/wino.h"
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#pragma GCC optimize("fp-contract=fast")
#include "device/cpu/conv/winograd/wino_plan.h"
#include "device/ewise.h"

#include <string.h>

#define LANES 16
#define ROWS 14

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float half __attribute__((vector_size(LANES * 2)));
typedef int mask __attribute__((vector_size(LANES * 4)));

static inline vec load_some(const float *p, int64_t n)
{
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static inline void store_some(float *p, vec v, int64_t n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
}

static inline half low(vec v)
{
    return (half)_mm512_castps512_ps256((__m512)v);
}

static inline half high(vec v)
{
    return (half)_mm512_extractf32x8_ps((__m512)v, 1);
}

static inline vec join_halves(half a, half b)
{
    return (vec)_mm512_insertf32x8(_mm512_castps256_ps512((__m256)a),
                                   (__m256)b, 1);
}

static inline vec load_halves(const float *p)
{
    double two;

    memcpy(&two, p, sizeof(two));
    return (vec)_mm512_set1_pd(two);
}

/* The sums of neighbours in a, then those in b. */
static inline vec add_pairs(vec a, vec b)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18,
                                           20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19,
                                          21, 23, 25, 27, 29, 31);

    return (vec)_mm512_permutex2var_ps((__m512)a, even, (__m512)b) +
           (vec)_mm512_permutex2var_ps((__m512)a, odd, (__m512)b);
}

static inline void store_far(float *p, vec v)
{
    _mm512_stream_ps(p, (__m512)v);
}

static inline void wait_far(void)
{
    _mm_sfence();
}

#include "device/cpu/conv/winograd/wino_tmpl.h"

const struct ctt_wino_isa ctt_wino_avx512 = {
    "avx512", LANES, ctt_has_avx512, conv_item, grad_item,
    windows_to_freq, windows_from_freq
};
#else
const struct ctt_wino_isa ctt_wino_avx512 = {
    "avx512", 0, ctt_has_avx512, NULL, NULL, NULL
};
#endif
