/* SPDX-License-Identifier: Apache-2.0
 * isa_avx512.c: the kernels of the plain files for AVX-512. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/cpu.h"

#include <immintrin.h>

#define LANES 16
#define AT_ONCE 2

#include "device/cpu/conv/int8/int8_avx512_tmpl.h"

#define less(a, b, yes, no)                                                 \
    ((fvec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), \
                                                   _CMP_LT_OQ),             \
                                (__m512)(no), (__m512)(yes)))

#include "device/cpu/isa.h"
#endif
