/* SPDX-License-Identifier: Apache-2.0
 * cuda_bf16.h: bfloat16 in kernels, like cuda_fp16.h. */
#ifndef CTT_SIM_CUDA_BF16_H
#define CTT_SIM_CUDA_BF16_H

#include "tests/sim/cuda_fp16.h"

#ifdef __cplusplus

CTT_SIM_HALF(__nv_bfloat16, __nv_bfloat162, ctt_bf16_of, ctt_of_bf16)

static inline __nv_bfloat16 __float2bfloat16(float x)
{
    return __nv_bfloat16(x);
}
static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    return __nv_bfloat16(x);
}
static inline float __bfloat162float(__nv_bfloat16 h) { return h; }
static inline float2 __bfloat1622float2(__nv_bfloat162 a)
{
    return ctt_sim_floats(a);
}
static inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return __nv_bfloat162 { x, y };
}
static inline __nv_bfloat162 __float22bfloat162_rn(float2 a)
{
    return __nv_bfloat162 { a.x, a.y };
}

#endif

#endif
