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
#include "device/cpu/conv/int8/int8_job.h"

#define LANES 16
#define REGS 4
#define UNIT 4

typedef uint8_t elem;
typedef __m512i wvec;

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

static inline wvec load_weights(const int8_t *w)
{
    return _mm512_loadu_si512(w);
}

typedef ivec xvec;
#define SPREAD(unit) (ivec)_mm512_set1_epi32(unit)
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return (ivec)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, w);
}

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"
#include "device/cpu/conv/int8/int8_put_tmpl.h"

#include "device/cpu/conv/int8/int8_pointwise_tmpl.h"

const struct ctt_int8_isa ctt_int8_vnni = {
    .name = "vnni", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_vnni,
    .lay = lay_line, .task = task, .put = put, .pixels = pixels
};
#else
#include "device/cpu/conv/int8/int8_job.h"

const struct ctt_int8_isa ctt_int8_vnni = { .supported = ctt_has_vnni };
#endif
