/* SPDX-License-Identifier: Apache-2.0
 * wino_avx512.c: the Winograd kernels for AVX512. */
#if defined(__x86_64__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#pragma GCC target("prefer-vector-width=512")
#pragma GCC optimize("fp-contract=fast")
#define LANES 16
#define ROWS 14
#include "device/cpu/wino_tmpl.h"

static int supported(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

const struct ctt_wino_isa ctt_wino_avx512 = {
    "wino:avx512", LANES, supported, conv, grad
};
#else
#include "device/cpu/wino.h"

static int supported(void)
{
    return 0;
}

const struct ctt_wino_isa ctt_wino_avx512 = {
    "wino:avx512", 0, supported, NULL, NULL
};
#endif
