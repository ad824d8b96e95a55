/* SPDX-License-Identifier: Apache-2.0
 * isa_table.c: the table of instruction sets and the best one of this
 * processor. */
#include "device/cpu/cpu.h"

static int anywhere(void)
{
    return 1;
}

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
}

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const struct ctt_isa ctt_isas[] = {
#if defined(__x86_64__)
    { "avx512", &ctt_avx512_kernels, &ctt_avx512_cast, &ctt_avx512_row_ops,
      has_avx512 },
    { "avx2", &ctt_avx2_kernels, &ctt_avx2_cast, &ctt_avx2_row_ops,
      has_avx2 },
#endif
    { NULL, &ctt_ref_kernels, &ctt_ref_cast, &ctt_ref_row_ops, anywhere },
};

const struct ctt_isa *ctt_isa_best(void)
{
    const struct ctt_isa *i = ctt_isas;

    while (!i->supported())
        i++;
    return i;
}

const struct ctt_isa *ctt_isa_plain(void)
{
    return &ctt_isas[CTT_LEN(ctt_isas) - 1];
}
