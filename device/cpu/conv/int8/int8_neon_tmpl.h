/* SPDX-License-Identifier: Apache-2.0
 * int8_neon_tmpl.h: operations on NEON registers for int8_epilogue_tmpl.h. */
#include <arm_neon.h>

#define LANES 4
#define REGS 2

typedef int32x4_t ivec;
typedef float32x4_t fvec;

static inline fvec lanes_max(fvec a, fvec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline fvec lanes_min(fvec a, fvec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

/* Adding and packing saturate. */
static inline void put_low(uint8_t *p, ivec v, int zero, int64_t n)
{
    int16x4_t w = vqadd_s16(vqmovn_s32(v), vdup_n_s16((int16_t)zero));
    uint8x8_t b = vqmovun_s16(vcombine_s16(w, w));

    if (n == LANES)
        memcpy(p, &b, LANES);
    else
        memcpy(p, &b, (size_t)n);
}
