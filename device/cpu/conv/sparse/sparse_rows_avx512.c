/* SPDX-License-Identifier: Apache-2.0
 * sparse_rows_avx512.c: sparse convs of floats for AVX-512, by rows: a row is a
 * register. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/conv/sparse/sparse.h"

#define LANES 16
#define REGS 1

typedef float elem;

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

static inline fvec broadcast(const float *x)
{
    return (fvec)_mm512_set1_ps(*x);
}

static inline ivec dot(ivec sum, fvec x, fvec w)
{
    return (ivec)_mm512_fmadd_ps((__m512)x, (__m512)w, (__m512)sum);
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/sparse/sparse_rows_tmpl.h"

const struct ctt_int8_isa ctt_sparse_rows_avx512 = {
    .name = "avx512-rows", .unit = 1, .lanes = LANES, .block = CTT_SPARSE_ROW,
    .bytes = sizeof(elem), .supported = ctt_has_avx512, .lay = lay_line,
    .task = row_task
};
#else
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_int8_isa ctt_sparse_rows_avx512 = {
    .supported = ctt_has_avx512
};
#endif
