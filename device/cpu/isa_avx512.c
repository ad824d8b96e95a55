/* SPDX-License-Identifier: Apache-2.0
 * isa_avx512.c: the kernels of the plain files for AVX-512. */
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#define CTT_ISA avx512
#include "device/cpu/isa.h"
#endif
