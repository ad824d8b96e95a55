/* SPDX-License-Identifier: Apache-2.0
 * depthwise_avx2.c: depthwise convs of floats for AVX2. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/conv/depthwise/depthwise.h"

#include <math.h>

#define LANES 8
#define REGS 2

typedef float fvec __attribute__((vector_size(LANES * 4)));

static inline fvec mac_lanes(fvec s, fvec a, fvec b)
{
    return (fvec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)s);
}

static inline fvec at_most(fvec most, fvec v)
{
    return (fvec)_mm256_min_ps((__m256)most, (__m256)v);
}

static inline fvec at_least(fvec least, fvec v)
{
    return (fvec)_mm256_max_ps((__m256)least, (__m256)v);
}

static inline __m256i mask_of_some(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline fvec some_lanes(const float *p, int64_t n)
{
    return (fvec)_mm256_maskload_ps(p, mask_of_some(n));
}

static inline void put_some_lanes(float *p, fvec v, int64_t n)
{
    _mm256_maskstore_ps(p, mask_of_some(n), (__m256)v);
}

#include "device/cpu/conv/depthwise/depthwise_tmpl.h"

const struct ctt_dw_isa ctt_dw_avx2 = {
    .name = "avx2", .lanes = LANES, .regs = REGS,
    .supported = ctt_has_avx2, .sum = sum_pixels,
    .line = filter_line, .act = K(act_row)
};
#else
#include "device/cpu/conv/depthwise/depthwise.h"

const struct ctt_dw_isa ctt_dw_avx2 = { .supported = ctt_has_avx2 };
#endif
