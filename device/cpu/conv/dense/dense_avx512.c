/* SPDX-License-Identifier: Apache-2.0
 * dense_avx512.c: convs of floats for AVX-512. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/conv/dense/dense.h"

#define LANES 16
#define REGS 4
#define UNIT 4

typedef float elem;
typedef __m512 wvec;

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

static inline wvec load_weights(const int8_t *w)
{
    return _mm512_loadu_ps((const float *)(const void *)w);
}

typedef ivec xvec;
#define SPREAD(unit) (ivec)_mm512_set1_epi32(unit)
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return (ivec)_mm512_fmadd_ps((__m512)x, w, (__m512)sum);
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_dense_avx512 = {
    .name = "avx512", .unit = 1, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_avx512,
    .lay = lay_line, .task = task
};
#else
#include "device/cpu/conv/dense/dense.h"

const struct ctt_int8_isa ctt_dense_avx512 = { .supported = ctt_has_avx512 };
#endif
