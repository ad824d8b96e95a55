/* SPDX-License-Identifier: Apache-2.0
 * wino_avx2.c: the Winograd kernels for AVX2. */
#if defined(__x86_64__)
#pragma GCC target("avx2,fma")
#pragma GCC optimize("fp-contract=fast")
#define LANES 8
#define ROWS 6
#include "device/cpu/wino_tmpl.h"

static int supported(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") &&
           __builtin_cpu_supports("fma");
}

const struct ctt_wino_isa ctt_wino_avx2 = {
    "wino:avx2", LANES, supported, conv, grad
};
#else
#include "device/cpu/wino.h"

static int supported(void)
{
    return 0;
}

const struct ctt_wino_isa ctt_wino_avx2 = {
    "wino:avx2", 0, supported, NULL, NULL
};
#endif
