/* SPDX-License-Identifier: Apache-2.0
 * isa_table.c: the table of instruction sets and the best one of this
 * processor. */
#include "device/cpu/cpu.h"
#include "device/cpu/features.h"

static int anywhere(void)
{
    return 1;
}

const struct ctt_isa ctt_isas[] = {
#if defined(CTT_X86_SETS)
    { "avx512", &ctt_avx512_kernels, &ctt_avx512_cast, &ctt_avx512_row_ops,
      ctt_avx512_render, ctt_has_avx512 },
    { "avx2", &ctt_avx2_kernels, &ctt_avx2_cast, &ctt_avx2_row_ops,
      ctt_avx2_render, ctt_has_avx2 },
#endif
    { NULL, &ctt_ref_kernels, &ctt_ref_cast, &ctt_ref_row_ops,
      ctt_ref_render, anywhere },
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

void ctt_render_frame(const struct ctt_render *r, const uint8_t *data,
                      float *room, float *out)
{
    ctt_isa_best()->render(r, data, room, out);
}
