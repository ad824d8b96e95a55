/* SPDX-License-Identifier: Apache-2.0
 * sparse_rows_avx2.c: sparse convs of floats for AVX2, by rows: a row is two
 * registers. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/conv/sparse/sparse.h"

#define LANES 8
#define REGS 2

typedef float elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"

static inline fvec broadcast(const float *x)
{
    return (fvec)_mm256_set1_ps(*x);
}

static inline ivec dot(ivec sum, fvec x, fvec w)
{
    return (ivec)_mm256_fmadd_ps((__m256)x, (__m256)w, (__m256)sum);
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/sparse/sparse_rows_tmpl.h"

const struct ctt_int8_isa ctt_sparse_rows_avx2 = {
    .name = "avx2-rows", .unit = 1, .lanes = LANES, .block = CTT_SPARSE_ROW,
    .bytes = sizeof(elem), .supported = ctt_has_avx2, .lay = lay_line,
    .task = row_task
};
#else
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_int8_isa ctt_sparse_rows_avx2 = {
    .supported = ctt_has_avx2
};
#endif
