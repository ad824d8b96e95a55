/* SPDX-License-Identifier: Apache-2.0
 * dense_avx2.c: convs of floats for AVX2. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/conv/dense/dense.h"

#define LANES 8
#define REGS 2
#define UNIT 4

typedef float elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef __m256 wvec;

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"

static inline wvec load_weights(const int8_t *w)
{
    return _mm256_loadu_ps((const float *)(const void *)w);
}

typedef ivec xvec;
#define SPREAD(unit) (ivec)_mm256_set1_epi32(unit)
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return (ivec)_mm256_fmadd_ps((__m256)x, w, (__m256)sum);
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_dense_avx2 = {
    .name = "avx2", .unit = 1, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_avx2,
    .lay = lay_line, .task = task
};
#else
#include "device/cpu/conv/dense/dense.h"

const struct ctt_int8_isa ctt_dense_avx2 = { .supported = ctt_has_avx2 };
#endif
