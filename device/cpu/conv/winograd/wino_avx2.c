/* SPDX-License-Identifier: Apache-2.0
 * wino_avx2.c: the Winograd kernels for AVX2. */
#include "device/cpu/conv/winograd/wino.h"
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma")
#pragma GCC optimize("fp-contract=fast")
#include "device/cpu/conv/winograd/wino_plan.h"
#include "device/ewise.h"

#include <string.h>

#define LANES 8
#define ROWS 6

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef float half __attribute__((vector_size(LANES * 2)));
typedef int mask __attribute__((vector_size(LANES * 4)));

/* Mask of the first n lanes. */
static inline __m256i first(int64_t n)
{
    static const int32_t ones[2 * LANES] = { -1, -1, -1, -1, -1, -1, -1, -1 };

    return _mm256_loadu_si256((const __m256i *)(ones + LANES - n));
}

static inline vec load_some(const float *p, int64_t n)
{
    return (vec)_mm256_maskload_ps(p, first(n));
}

static inline void store_some(float *p, vec v, int64_t n)
{
    _mm256_maskstore_ps(p, first(n), (__m256)v);
}

static inline half low(vec v)
{
    return (half)_mm256_castps256_ps128((__m256)v);
}

static inline half high(vec v)
{
    return (half)_mm256_extractf128_ps((__m256)v, 1);
}

static inline vec join_halves(half a, half b)
{
    return (vec)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)a),
                                     (__m128)b, 1);
}

static inline vec load_halves(const float *p)
{
    double two;

    memcpy(&two, p, sizeof(two));
    return (vec)_mm256_set1_pd(two);
}

/* The sums of neighbours in a, then those in b. */
static inline vec add_pairs(vec a, vec b)
{
    __m256d s = (__m256d)_mm256_hadd_ps((__m256)a, (__m256)b);

    return (vec)_mm256_permute4x64_pd(s, 0xd8);
}

/* Not by streaming stores: half a cache line at a time is slower. */
static inline void store_far(float *p, vec v)
{
    _mm256_storeu_ps(p, (__m256)v);
}

static inline void wait_far(void)
{
}

#include "device/cpu/conv/winograd/wino_tmpl.h"

const struct ctt_wino_isa ctt_wino_avx2 = {
    "avx2", LANES, ctt_has_avx2, conv_item, grad_item,
    windows_to_freq, windows_from_freq
};
#else
const struct ctt_wino_isa ctt_wino_avx2 = {
    "avx2", 0, ctt_has_avx2, NULL, NULL, NULL
};
#endif
