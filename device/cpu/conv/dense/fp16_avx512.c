/* SPDX-License-Identifier: Apache-2.0
 * fp16_avx512.c: convs of 16 bits for AVX512-FP16: short sums in half
 * precision, which are added up in floats (doc/format.md).
 * tests/device/test_dense.c compiles it for any processor. */
#include "device/cpu/features.h"

#if defined(CTT_X86_HALVES)
#ifndef CTT_EMULATED
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512fp16,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#endif
#include "device/cpu/conv/dense/dense.h"

#define LANES 32
#define REGS 4
#define UNIT 2
#define PARTS 2
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define ADDS_RUNS

typedef uint16_t elem;

struct sums { __m512 low, high; };
#define ivec struct sums
#define svec struct sums

/* Products of a sum in half precision; most rows of a tile. */
enum { CHAIN = 32, ROWS = 12,
       NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

#define total(s) (s)

INLINE __m512h load_halves(const int8_t *w)
{
    return _mm512_loadu_ph(w);
}

INLINE __m512h spread_half(const elem *x)
{
    _Float16 h;

    memcpy(&h, x, sizeof(h));
    return _mm512_set1_ph(h);
}

INLINE void add_halves(svec *sum, __m512h part)
{
    __m512i all = _mm512_castph_si512(part);
    __m256i low = _mm512_castsi512_si256(all);
    __m256i high = _mm512_extracti64x4_epi64(all, 1);

    sum->low = _mm512_add_ps(sum->low, _mm512_cvtph_ps(low));
    sum->high = _mm512_add_ps(sum->high, _mm512_cvtph_ps(high));
}

/* P and R are constants.  The sums in floats are read and written once for
 * CHAIN products, so they need no registers. */
INLINE void add_run(int P, int R, const struct ctt_int8_job *j,
                    const elem *const *x, int64_t at, const int8_t *w,
                    svec sum[][REGS])
{
    int64_t end = at + j->steps;

    while (at != end) {
        int64_t stop = end - at > CHAIN ? at + CHAIN : end;
        __m512h part[ROWS][REGS];

        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                part[p][r] = _mm512_setzero_ph();
        for (; at != stop; at++, w += R * LANES * UNIT) {
            __m512h b[REGS];
            UNROLL for (int r = 0; r < R; r++)
                b[r] = load_halves(w + r * LANES * UNIT);
            UNROLL for (int p = 0; p < P; p++)
                UNROLL for (int r = 0; r < R; r++)
                    part[p][r] = _mm512_fmadd_ph(spread_half(x[p] + at), b[r],
                                                 part[p][r]);
        }
        UNROLL for (int p = 0; p < P; p++)
            UNROLL for (int r = 0; r < R; r++)
                add_halves(&sum[p][r], part[p][r]);
    }
}

INLINE __m256i short_of(__m512 v)
{
    return _mm512_cvtps_ph(v, NEAREST);
}

#define HALF CTT_F16
#include "device/cpu/conv/dense/half_tmpl.h"

const struct ctt_int8_isa ctt_fp16_avx512 = {
    .name = "avx512", .unit = 1, .lanes = LANES, .block = BLOCK,
    .type = HALF, .bytes = sizeof(elem), .supported = ctt_has_avx512fp16,
    .lay = lay_line, .task = task
};
#else
#include "device/cpu/conv/dense/dense.h"

const struct ctt_int8_isa ctt_fp16_avx512 = {
    .type = CTT_F16, .supported = ctt_has_avx512fp16
};
#endif
