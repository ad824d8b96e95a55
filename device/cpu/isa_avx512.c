/* SPDX-License-Identifier: Apache-2.0
 * isa_avx512.c: the kernels of the plain files for AVX-512. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include <immintrin.h>

#define LANES 16
#define AT_ONCE 2

typedef float fvec __attribute__((vector_size(LANES * 4)));

#define bigger(a, b) ((fvec)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define smaller(a, b) ((fvec)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define less(a, b, yes, no)                                                 \
    ((fvec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)(a), (__m512)(b), \
                                                   _CMP_LT_OQ),             \
                                (__m512)(no), (__m512)(yes)))

#include "device/cpu/isa.h"
#endif
