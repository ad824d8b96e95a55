/* SPDX-License-Identifier: Apache-2.0
 * cuda_fp16.h: half precision in kernels; conversions are those of base/half.h,
 * which the tests compare with the processor's. */
#ifndef CTT_SIM_CUDA_FP16_H
#define CTT_SIM_CUDA_FP16_H

#include "tests/sim/cuda_runtime.h"
#include "base/half.h"

#ifdef __cplusplus

/* A number of 16 bits and a pair of them, as in CUDA's headers. */
#define CTT_SIM_HALF(type, type2, of, back)                             \
    struct type {                                                       \
        unsigned short bits;                                            \
        type() = default;                                               \
        type(float x) : bits(of(x)) {}                                  \
        operator float() const { return back(bits); }                   \
    };                                                                  \
    struct __attribute__((aligned(4))) type2 { type x, y; };            \
    static inline float2 ctt_sim_floats(type2 a)                        \
    {                                                                   \
        return make_float2(a.x, a.y);                                   \
    }
CTT_SIM_HALF(__half, __half2, ctt_f16_of, ctt_of_f16)

static inline __half __float2half(float x) { return __half(x); }
static inline __half __float2half_rn(float x) { return __half(x); }
static inline float __half2float(__half h) { return h; }
static inline float2 __half22float2(__half2 a) { return ctt_sim_floats(a); }
static inline __half2 __floats2half2_rn(float x, float y)
{
    return __half2 { x, y };
}
static inline __half2 __float22half2_rn(float2 a)
{
    return __half2 { a.x, a.y };
}

typedef __half half;
typedef __half2 half2;

#endif

#endif
