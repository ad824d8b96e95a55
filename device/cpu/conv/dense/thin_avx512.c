/* SPDX-License-Identifier: Apache-2.0
 * thin_avx512.c: convs of floats for AVX-512 with few channels in the result: a
 * register has two sums for each of 8 channels, of the products of every other
 * number of a window. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/conv/dense/dense.h"

#define LANES 8
#define REGS 2
#define UNIT 8
#define PARTS 2

typedef float elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef __m512 wvec, xvec, svec;

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"

static inline wvec load_weights(const int8_t *w)
{
    return _mm512_loadu_ps((const float *)(const void *)w);
}

static inline int64_t unit_stride(const struct ctt_int8_job *j)
{
    (void)j;
    return 2;
}

/* Loads two neighbours into all lanes. */
static inline xvec load_values(const elem *x, int r)
{
    double two;

    (void)r;
    memcpy(&two, x, sizeof(two));
    return (xvec)_mm512_set1_pd(two);
}

static inline svec dot(svec sum, xvec x, wvec w)
{
    return _mm512_fmadd_ps(x, w, sum);
}

static inline ivec total(svec s)
{
    const __m512i pairs = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14,
                                            1, 3, 5, 7, 9, 11, 13, 15);
    __m512 v = _mm512_permutexvar_ps(pairs, s);

    return (ivec)((fvec)_mm512_castps512_ps256(v) +
                  (fvec)_mm512_extractf32x8_ps(v, 1));
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_thin_avx512 = {
    .name = "avx512", .unit = 2, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_avx512,
    .lay = lay_line, .task = task
};
#else
#include "device/cpu/conv/dense/dense.h"

const struct ctt_int8_isa ctt_thin_avx512 = { .supported = ctt_has_avx512 };
#endif
