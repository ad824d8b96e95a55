/* SPDX-License-Identifier: Apache-2.0
 * wino16_avx512.c: the Winograd kernels in whole numbers for AVX-512. */
#define CTT_ISA avx512
#include "device/cpu/conv/winograd/wino16.h"
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#include "device/cpu/conv/winograd/wino16_avx512_tmpl.h"

const struct ctt_wino16_isa ctt_wino16_avx512 = {
    "avx512", LANES, ctt_has_avx512, conv_item
};
#else
const struct ctt_wino16_isa ctt_wino16_avx512 = {
    "avx512", 0, ctt_has_avx512, NULL
};
#endif
