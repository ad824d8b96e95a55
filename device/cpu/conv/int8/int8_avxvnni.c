/* SPDX-License-Identifier: Apache-2.0
 * int8_avxvnni.c: convs of quantised values for AVX-VNNI: sums of four products
 * of bytes in registers of 256 bits, for processors without AVX-512.
 * tests/device/test_int8_emulated.c compiles it for any processor. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#ifndef CTT_EMULATED
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c,avxvnni")
#define CTT_ISA avx2
#endif
#include "device/cpu/conv/int8/int8_job.h"

#define LANES 8
#define REGS 2
#define UNIT 4

typedef uint8_t elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef __m256i wvec;

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"

static inline wvec load_weights(const int8_t *w)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

typedef ivec xvec;
#define SPREAD(unit) (ivec)_mm256_set1_epi32(unit)
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return (ivec)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, w);
}

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_int8_avxvnni = {
    .name = "avxvnni", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_avxvnni,
    .lay = lay_line, .task = task
};
#else
#include "device/cpu/conv/int8/int8_job.h"

const struct ctt_int8_isa ctt_int8_avxvnni = { .supported = ctt_has_avxvnni };
#endif
