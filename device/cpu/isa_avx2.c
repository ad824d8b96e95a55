/* SPDX-License-Identifier: Apache-2.0
 * isa_avx2.c: the kernels of the plain files for AVX2 and FMA. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/cpu.h"

#include <immintrin.h>

#define LANES 8
#define AT_ONCE 1

typedef float fvec __attribute__((vector_size(LANES * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES * 4)));

#include "device/cpu/conv/int8/int8_avx2_tmpl.h"

#define less(a, b, yes, no)                                                 \
    ((fvec)_mm256_blendv_ps((__m256)(no), (__m256)(yes),                    \
                            _mm256_cmp_ps((__m256)(a), (__m256)(b),         \
                                          _CMP_LT_OQ)))

#include "device/cpu/isa.h"
#endif
