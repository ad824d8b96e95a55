/* SPDX-License-Identifier: Apache-2.0
 * int8_neon.c: convs of quantised values for NEON without dot products: sums of
 * 16-bit products. */
#include "device/cpu/features.h"
#include "device/cpu/conv/int8/int8_job.h"

#if defined(CTT_ARM_SETS)
#include "device/cpu/conv/int8/int8_neon_tmpl.h"

#define UNIT 2

typedef int16_t elem;

/* The weights of the first and of the second value, by channel. */
typedef int16x4x2_t wvec;

static inline wvec load_weights(const int8_t *w)
{
    int16x8_t all = vmovl_s8(vld1_s8(w));

    return vuzp_s16(vget_low_s16(all), vget_high_s16(all));
}

/* Only two lanes are used. */
typedef int16x4_t xvec;
#define SPREAD(unit) vreinterpret_s16_s32((int32x2_t){ (unit) })
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    sum = vmlal_lane_s16(sum, w.val[0], x, 0);
    return vmlal_lane_s16(sum, w.val[1], x, 1);
}

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_int8_neon = {
    .name = "neon", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .supported = ctt_has_neon,
    .lay = lay_line, .task = task
};
#else
const struct ctt_int8_isa ctt_int8_neon = { .supported = ctt_has_neon };
#endif
