/* SPDX-License-Identifier: Apache-2.0
 * bf16_avx512.c: convs of 16 bits for AVX512-BF16: sums of two products of
 * bfloat16.  tests/device/test_dense.c compiles it for any processor. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#ifndef CTT_EMULATED
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#endif
#include "device/cpu/conv/dense/dense.h"

#define LANES 16
#define REGS 4
#define UNIT 4
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

enum { PAIR = 2 };

typedef uint16_t elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef __m512i wvec;

static inline wvec load_weights(const int8_t *w)
{
    return _mm512_loadu_si512(w);
}

typedef ivec xvec;
#define SPREAD(unit) (ivec)_mm512_set1_epi32(unit)
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

/* ivec is the template's type of sums; here they are floats. */
static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return (ivec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)w);
}

/* Rounded to the nearest; subnormal numbers become 0, as in a product. */
INLINE __m256i short_of(__m512 v)
{
    return (__m256i)_mm512_cvtneps_pbh(v);
}

#define HALF CTT_BF16
#include "device/cpu/conv/dense/half_tmpl.h"
#include "device/cpu/conv/int8/int8_put_tmpl.h"

const struct ctt_int8_isa ctt_bf16_avx512 = {
    .name = "avx512", .unit = PAIR, .lanes = LANES, .block = BLOCK,
    .type = HALF, .bytes = sizeof(elem), .supported = ctt_has_avx512bf16,
    .lay = lay_line, .task = task, .put = put
};
#else
#include "device/cpu/conv/dense/dense.h"

const struct ctt_int8_isa ctt_bf16_avx512 = {
    .type = CTT_BF16, .supported = ctt_has_avx512bf16
};
#endif
