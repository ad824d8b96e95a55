/* SPDX-License-Identifier: Apache-2.0
 * int8_vnni.c: convs of quantised values for AVX-512 VNNI: sums of four
 * products of bytes.  tests/device/test_int8_emulated.c compiles it for any
 * processor. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#ifndef CTT_EMULATED
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#endif
#include "device/cpu/conv/int8_job.h"

#define LANES 16
#define REGS 4
#define UNIT 4

typedef uint8_t elem;
typedef __m512i wvec;

#include "device/cpu/conv/int8_avx512_tmpl.h"

static inline wvec get(const int8_t *w)
{
    return _mm512_loadu_si512(w);
}

typedef ivec xvec;
#define SPREAD(unit) (ivec)_mm512_set1_epi32(unit)
#include "device/cpu/conv/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return (ivec)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, w);
}

#include "device/cpu/conv/int8_end_tmpl.h"
#include "device/cpu/conv/int8_line_tmpl.h"
#include "device/cpu/conv/int8_tmpl.h"

static void pixels(const struct ctt_int8_job *j, int64_t block, int64_t row,
                   int64_t n, uint8_t *y)
{
    struct tile t = { .block = block, .left = j->outs - block * BLOCK,
                      .end = ending_of(j) };
    int64_t regs = (t.left + LANES - 1) / LANES, most, k;
    const elem *x = (const elem *)j->x + row * j->pixel;

    regs = regs < REGS ? regs : REGS;
    most = regs == 2 ? WIDE : PIXELS;
    t.end.y = (char *)y;
    t.end.ldy = BLOCK;
    for (; n > 0; n -= k, t.row += k) {
        k = (n + most - 1) / most;      /* tiles, as even as possible */
        k = (n + k - 1) / k;
        for (int64_t i = 0; i < k; i++, x += j->pixel)
            t.x[i] = x;
        tiles[regs][k](j, &t);
    }
}

const struct ctt_int8_isa ctt_int8_vnni = {
    .name = "vnni", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_vnni,
    .lay = lay, .task = task, .pixels = pixels
};
#else
#include "device/cpu/conv/int8_job.h"

const struct ctt_int8_isa ctt_int8_vnni = { .supported = ctt_has_vnni };
#endif
