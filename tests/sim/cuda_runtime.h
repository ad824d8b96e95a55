/* SPDX-License-Identifier: Apache-2.0
 * cuda_runtime.h: the keywords of CUDA C, so that a C++ compiler accepts
 * kernels; the simulation runs one thread of a block at a time. */
#ifndef CTT_SIM_CUDA_RUNTIME_H
#define CTT_SIM_CUDA_RUNTIME_H

#include "tests/sim/cuda_runtime_api.h"

#ifdef __cplusplus

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <tuple>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
/* Blocks run one after the other, so all may share one array. */
#define __shared__ static

#define CTT_SIM_VECTOR(type, word, align1, align2, align4)              \
    struct __attribute__((aligned(align1))) word##1 { type x; };        \
    struct __attribute__((aligned(align2))) word##2 { type x, y; };     \
    struct word##3 { type x, y, z; };                                   \
    struct __attribute__((aligned(align4))) word##4 { type x, y, z, w; }; \
    static inline word##2 make_##word##2(type x, type y)                \
    {                                                                   \
        return word##2 { x, y };                                        \
    }                                                                   \
    static inline word##4 make_##word##4(type x, type y, type z, type w) \
    {                                                                   \
        return word##4 { x, y, z, w };                                  \
    }
CTT_SIM_VECTOR(float, float, 4, 8, 16)
CTT_SIM_VECTOR(double, double, 8, 16, 16)
CTT_SIM_VECTOR(int, int, 4, 8, 16)
CTT_SIM_VECTOR(unsigned, uint, 4, 8, 16)
CTT_SIM_VECTOR(unsigned short, ushort, 2, 4, 8)
CTT_SIM_VECTOR(unsigned char, uchar, 1, 2, 4)
#undef CTT_SIM_VECTOR

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

/* Of the simulated thread that is running. */
extern uint3 threadIdx, blockIdx;
extern dim3  blockDim, gridDim;

/* Every thread of the block must call it. */
void __syncthreads();
static inline void __threadfence() {}

using std::max;
using std::min;
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T atomicAdd(T *p, T x)
{
    T old = *p;

    *p = old + x;
    return old;
}
static inline float __fdividef(float x, float y) { return x / y; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)((unsigned long long)x * y >> 32);
}
static inline int __float_as_int(float x)
{
    int i;

    memcpy(&i, &x, sizeof(i));
    return i;
}
static inline float __int_as_float(int i)
{
    float x;

    memcpy(&x, &i, sizeof(x));
    return x;
}

void ctt_sim_kernel(dim3 grid, dim3 block, cudaStream_t s,
                    std::function<void()> body, const char *function);

/* <<<grid, block, 0, s>>>: converts the arguments to the kernel's types at
 * once; the kernel runs when the stream gets to it. */
template <class... P, class... A>
void ctt_sim_launch(dim3 grid, dim3 block, cudaStream_t s, void (*kernel)(P...),
                    A &&...a)
{
    std::tuple<P...> args(std::forward<A>(a)...);

    ctt_sim_kernel(grid, block, s, [=]() { std::apply(kernel, args); },
                   __PRETTY_FUNCTION__);
}

#endif

#endif
