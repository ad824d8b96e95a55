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
typedef float fvec __attribute__((vector_size(LANES * 4)));
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

#include "device/cpu/conv/dense/bf16_epilogue_tmpl.h"

/* ---- values laid out ---- */

static elem nothing(const struct ctt_int8_job *j)
{
    (void)j;
    return 0;
}

static void lay_floats(const float *x, elem *to, int64_t n)
{
    __mmask16 rest = (__mmask16)((1u << n % LANES) - 1);
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_si256((__m256i *)(void *)(to + i),
                            short_of(_mm512_loadu_ps(x + i)));
    if (rest)
        _mm256_mask_storeu_epi16(to + i, rest, short_of(
            _mm512_maskz_loadu_ps(rest, x + i)));
}

/* Lays out n values of row `row`, from channel `channel` on. */
static void lay_some(const struct ctt_int8_job *j, int64_t row,
                     int64_t channel, elem *to, int64_t n)
{
    const struct ctt_tensor *x = &j->c->in[0];
    int64_t at = row * x->ld + channel;

    if (x->dtype == CTT_BF16)
        memcpy(to, (const elem *)x->data + at, (size_t)n * sizeof(*to));
    else
        lay_floats((const float *)x->data + at, to, n);
}

#define LAYS_HALF
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_bf16_avx512 = {
    .name = "avx512", .unit = PAIR, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_avx512bf16,
    .lay = lay_line, .task = task
};
#else
#include "device/cpu/conv/dense/dense.h"

const struct ctt_int8_isa ctt_bf16_avx512 = {
    .supported = ctt_has_avx512bf16
};
#endif
