/* SPDX-License-Identifier: Apache-2.0
 * depthwise_avx512.c: depthwise convs of floats for AVX-512. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/conv/depthwise/depthwise.h"

#include <math.h>

#define LANES 16
#define REGS 4

typedef float fvec __attribute__((vector_size(LANES * 4)));

static inline fvec mac_lanes(fvec s, fvec a, fvec b)
{
    return (fvec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)s);
}

static inline fvec at_most(fvec most, fvec v)
{
    return (fvec)_mm512_min_ps((__m512)most, (__m512)v);
}

static inline fvec at_least(fvec least, fvec v)
{
    return (fvec)_mm512_max_ps((__m512)least, (__m512)v);
}

static inline __mmask16 mask_of_some(int64_t n)
{
    return (__mmask16)((1u << n) - 1);
}

static inline fvec some_lanes(const float *p, int64_t n)
{
    return (fvec)_mm512_maskz_loadu_ps(mask_of_some(n), p);
}

static inline void put_some_lanes(float *p, fvec v, int64_t n)
{
    _mm512_mask_storeu_ps(p, mask_of_some(n), (__m512)v);
}

#include "device/cpu/conv/depthwise/depthwise_tmpl.h"

const struct ctt_dw_isa ctt_dw_avx512 = {
    .name = "avx512", .lanes = LANES, .regs = REGS,
    .supported = ctt_has_avx512, .sum = sum_pixels,
    .line = filter_line, .act = K(act_row)
};
#else
#include "device/cpu/conv/depthwise/depthwise.h"

const struct ctt_dw_isa ctt_dw_avx512 = { .supported = ctt_has_avx512 };
#endif
