/* SPDX-License-Identifier: Apache-2.0
 * sparse_vnni.c: sparse convs of quantised values for AVX-512 VNNI: a unit is
 * four bytes. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/conv/sparse/sparse.h"

#define LANES 16
#define REGS 1
#define UNIT 4

typedef uint8_t elem;

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

static inline ivec dot(ivec sum, ivec x, ivec w)
{
    return (ivec)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_layout_tmpl.h"
#include "device/cpu/conv/sparse/sparse_avx512_tmpl.h"

#define SHIFTS
#define ENDS
#include "device/cpu/conv/sparse/sparse_bytes_tmpl.h"
#include "device/cpu/conv/sparse/sparse_tmpl.h"
#include "device/cpu/conv/sparse/sparse_cell_tmpl.h"

const struct ctt_sparse_isa ctt_sparse_vnni = {
    .name = "vnni", .is_int8 = 1, .unit = UNIT, .lanes = LANES,
    .columns = 1, .bytes = sizeof(elem), .convert = convert_row, .blank = blank,
    .supported = ctt_has_vnni, .lay = lay_registers, .task = task, .cell = cell
};
#else
#include "device/cpu/conv/sparse/sparse.h"

const struct ctt_sparse_isa ctt_sparse_vnni = { .supported = ctt_has_vnni };
#endif
