/* SPDX-License-Identifier: Apache-2.0
 * wino16_neon.c: the Winograd kernels in whole numbers for NEON. */
#include "device/cpu/conv/winograd/wino16.h"
#include "device/cpu/features.h"

#if defined(CTT_ARM_SETS)
#include <arm_neon.h>
#include "device/cpu/conv/winograd/wino16_plan.h"

#define LANES 4
#define ROWS 6

typedef uint32x4_t vec;
typedef int32x4_t ivec;
typedef float32x4_t fvec;
typedef int16x8_t shorts;

/* The first and the second of pairs of weights. */
typedef int16x4x2_t wvec;
typedef int16x4_t pvec;

static inline wvec load_weights(const int16_t *p)
{
    int16x8_t all = vld1q_s16(p);

    return vuzp_s16(vget_low_s16(all), vget_high_s16(all));
}

/* Only two lanes are used. */
static inline pvec load_pair(const int16_t *p)
{
    int32_t two;

    memcpy(&two, p, sizeof(two));
    return vreinterpret_s16_s32((int32x2_t){ two });
}

static inline vec add_products(vec s, pvec a, wvec b)
{
    ivec sum = vmlal_lane_s16((ivec)s, b.val[0], a, 0);

    return (vec)vmlal_lane_s16(sum, b.val[1], a, 1);
}

static inline shorts load_bytes(const uint8_t *p)
{
    return (shorts)vmovl_u8(vld1_u8(p));
}

static inline fvec lanes_max(fvec a, fvec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline fvec lanes_min(fvec a, fvec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

struct limits { fvec low, high; int32_t zero; };

static inline void store_bytes(void *p, fvec v, const struct limits *l)
{
    int16x4_t w;
    uint8x8_t b;

    v = lanes_min(lanes_max(v, l->low), l->high);
    w = vmovn_s32(vcvtnq_s32_f32(v) + l->zero);
    b = vqmovun_s16(vcombine_s16(w, w));
    memcpy(p, &b, LANES);
}

#include "device/cpu/conv/winograd/wino16_tmpl.h"

const struct ctt_wino16_isa ctt_wino16_neon = {
    "neon", LANES, ctt_has_neon, conv_item
};
#else
const struct ctt_wino16_isa ctt_wino16_neon = {
    "neon", 0, ctt_has_neon, NULL
};
#endif
