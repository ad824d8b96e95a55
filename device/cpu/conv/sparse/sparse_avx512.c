/* SPDX-License-Identifier: Apache-2.0
 * sparse_avx512.c: sparse convs of floats for AVX-512. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/conv/sparse/sparse.h"

#define LANES 16
#define REGS 1
#define UNIT 1

typedef float elem;

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

static inline ivec dot(ivec sum, ivec x, ivec w)
{
    return (ivec)_mm512_fmadd_ps((__m512)x, (__m512)w, (__m512)sum);
}

#define FLOATS

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_layout_tmpl.h"
#include "device/cpu/conv/sparse/sparse_avx512_tmpl.h"

#define SHIFTS
#include "device/cpu/conv/sparse/sparse_tmpl.h"
#include "device/cpu/conv/sparse/sparse_cell_tmpl.h"

const struct ctt_sparse_isa ctt_sparse_avx512 = {
    .name = "avx512", .is_int8 = 0, .unit = UNIT, .lanes = LANES, .columns = 1,
    .bytes = sizeof(elem), .convert = convert_row, .blank = blank,
    .supported = ctt_has_avx512, .lay = lay_registers, .task = task,
    .cell = cell
};
#else
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_sparse_isa ctt_sparse_avx512 = { .supported = ctt_has_avx512 };
#endif
