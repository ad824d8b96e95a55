/* SPDX-License-Identifier: Apache-2.0
 * int8_neon_depthwise.c: depthwise convs of quantised values for NEON: 16-bit
 * products of as many channels as a register has sums. */
#include "device/cpu/features.h"
#include "device/cpu/conv/int8/int8_job.h"

#if defined(CTT_ARM_SETS)
#include "device/cpu/conv/int8/int8_neon_tmpl.h"

#define UNIT 1

typedef int16_t elem;
typedef int16x4_t wvec;

static inline wvec load_weights(const int8_t *w)
{
    int32_t four;

    memcpy(&four, w, sizeof(four));
    return vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four))));
}

/* Elements from one value of a run to the next: a pixel. */
static inline int64_t unit_stride(const struct ctt_int8_job *j)
{
    return j->pixel;
}

static inline int16x4_t load_values(const elem *x, int r)
{
    return vld1_s16(x + r * LANES);
}

static inline ivec dot(ivec sum, int16x4_t x, wvec w)
{
    return vmlal_s16(sum, x, w);
}

#include "device/cpu/conv/int8/int8_depthwise_tmpl.h"
#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_int8_neon_depthwise = {
    .name = "depthwise:neon", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .depthwise = 1, .supported = ctt_has_neon,
    .lay = lay_line, .task = task, .plan = one_group_plan
};
#else
const struct ctt_int8_isa ctt_int8_neon_depthwise = {
    .supported = ctt_has_neon
};
#endif
