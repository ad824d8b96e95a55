/* SPDX-License-Identifier: Apache-2.0
 * isa_avx2.c: the kernels of the plain files for AVX2 and FMA. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#pragma GCC target("avx2,fma,f16c")
#define CTT_ISA avx2
#include "device/cpu/isa.h"
#endif
