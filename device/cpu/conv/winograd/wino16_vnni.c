/* SPDX-License-Identifier: Apache-2.0
 * wino16_vnni.c: the Winograd kernels in whole numbers for AVX-512 with
 * VNNI. */
#define CTT_ISA avx512
#include "device/cpu/conv/winograd/wino16.h"
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS)
#include <immintrin.h>
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,avx512vnni")
#pragma GCC target("prefer-vector-width=512")
#define WINO16_VNNI
#include "device/cpu/conv/winograd/wino16_avx512_tmpl.h"

const struct ctt_wino16_isa ctt_wino16_vnni = {
    "avx512_vnni", LANES, ctt_has_vnni, conv_item
};
#else
const struct ctt_wino16_isa ctt_wino16_vnni = {
    "avx512_vnni", 0, ctt_has_vnni, NULL
};
#endif
