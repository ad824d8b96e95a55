/* SPDX-License-Identifier: Apache-2.0
 * emulated_avxvnni.c: the kernels of int8_avxvnni.c, emulated. */
#include "tests/device/emulated.h"

#ifdef CTT_EMULATED
/* SIMDe has it under its name of AVX-512. */
#define _mm256_dpbusd_avx_epi32 simde_mm256_dpbusd_epi32
#define ctt_int8_avxvnni ctt_emulated_avxvnni
#include "device/cpu/conv/int8/int8_avxvnni.c"
#else
const struct ctt_int8_isa ctt_emulated_avxvnni = { NULL };
#endif
