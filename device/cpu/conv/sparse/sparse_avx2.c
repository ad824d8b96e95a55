/* SPDX-License-Identifier: Apache-2.0
 * sparse_avx2.c: sparse convs of floats for AVX2. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/conv/sparse/sparse.h"

#define LANES 8
#define REGS 1
#define UNIT 1

typedef float elem;
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec __attribute__((vector_size(LANES * 4)));

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"

static inline ivec dot(ivec sum, ivec x, ivec w)
{
    return (ivec)_mm256_fmadd_ps((__m256)x, (__m256)w, (__m256)sum);
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_layout_tmpl.h"
#include "device/cpu/conv/sparse/sparse_tmpl.h"
#include "device/cpu/conv/sparse/sparse_cell_tmpl.h"

const struct ctt_sparse_isa ctt_sparse_avx2 = {
    .name = "avx2", .is_int8 = 0, .unit = UNIT, .lanes = LANES,
    .bytes = sizeof(elem), .convert = convert_row, .blank = blank,
    .supported = ctt_has_avx2, .lay = lay_registers, .task = task, .cell = cell
};
#else
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_sparse_isa ctt_sparse_avx2 = { .supported = ctt_has_avx2 };
#endif
