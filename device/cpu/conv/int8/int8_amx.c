/* SPDX-License-Identifier: Apache-2.0
 * int8_amx.c: convs of quantised values by AMX. */
#include "device/cpu/features.h"
#include "device/cpu/conv/int8/amx.h"

#if defined(CTT_X86_HALVES)
static void lay_as_vnni(const struct ctt_int8_job *j, int64_t line)
{
    ctt_int8_vnni.lay(j, line);
}

static void int8_tiles(const struct ctt_int8_job *j, int64_t at, int who)
{
    ctt_amx_task(&ctt_int8_vnni, j, at, who);
}

static void pixels_as_vnni(const struct ctt_int8_job *j, int64_t block,
                           int64_t row, int64_t n, uint8_t *y)
{
    ctt_int8_vnni.pixels(j, block, row, n, y);
}

const struct ctt_int8_isa ctt_int8_amx = {
    .name = "amx", .unit = 4, .lanes = 16, .block = 64, .bytes = 1,
    .supported = ctt_has_amx, .can = ctt_amx_can, .lay = lay_as_vnni,
    .task = int8_tiles, .room = ctt_amx_room, .pixels = pixels_as_vnni
};
#else
const struct ctt_int8_isa ctt_int8_amx = { .supported = ctt_has_amx };
#endif
