/* SPDX-License-Identifier: Apache-2.0
 * int8_neondot.c: convs of quantised values for NEON with dot products: sums of
 * four products of signed bytes. */
#include "device/cpu/features.h"
#include "device/cpu/conv/int8/int8_job.h"

#if defined(CTT_ARM_SETS)
#pragma GCC target("arch=armv8.2-a+dotprod")
#include "device/cpu/conv/int8/int8_neon_tmpl.h"

#define UNIT 4
#define LESS 128

typedef int8_t elem;
typedef int8x16_t wvec;

static inline wvec load_weights(const int8_t *w)
{
    return vld1q_s8(w);
}

typedef int8x8_t xvec;
#define SPREAD(unit) vreinterpret_s8_s32((int32x2_t){ (unit) })
#include "device/cpu/conv/int8/int8_unit_tmpl.h"

static inline ivec dot(ivec sum, xvec x, wvec w)
{
    return vdotq_lane_s32(sum, w, x, 0);
}

#include "device/cpu/conv/int8/int8_epilogue_tmpl.h"
#include "device/cpu/conv/int8/int8_line_tmpl.h"
#include "device/cpu/conv/int8/int8_tmpl.h"

const struct ctt_int8_isa ctt_int8_neondot = {
    .name = "neondot", .unit = UNIT, .lanes = LANES, .block = BLOCK,
    .bytes = sizeof(elem), .less = LESS, .supported = ctt_has_neondot,
    .lay = lay_line, .task = task
};
#else
const struct ctt_int8_isa ctt_int8_neondot = { .supported = ctt_has_neondot };
#endif
