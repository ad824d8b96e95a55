/* SPDX-License-Identifier: Apache-2.0
 * bf16_amx.c: convs of bfloat16 by AMX. */
#include "device/cpu/features.h"
#include "device/cpu/conv/dense/dense.h"
#include "device/cpu/conv/int8/amx.h"

#if defined(CTT_X86_HALVES)
static void lay_as_avx512(const struct ctt_int8_job *j, int64_t line)
{
    ctt_bf16_avx512.lay(j, line);
}

static void bf16_tiles(const struct ctt_int8_job *j, int64_t at, int who)
{
    ctt_amx_task(&ctt_bf16_avx512, j, at, who);
}

static int has_tiles(void)
{
    return ctt_has_amx() && ctt_has_avx512bf16();
}

const struct ctt_int8_isa ctt_bf16_amx = {
    .name = "amx", .unit = 2, .lanes = 16, .block = 64, .type = CTT_BF16,
    .bytes = 2, .supported = has_tiles, .can = ctt_amx_can,
    .lay = lay_as_avx512, .task = bf16_tiles, .room = ctt_amx_room
};
#else
const struct ctt_int8_isa ctt_bf16_amx = {
    .type = CTT_BF16, .supported = ctt_has_amx
};
#endif
