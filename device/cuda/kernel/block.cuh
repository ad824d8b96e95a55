/* SPDX-License-Identifier: Apache-2.0
 * block.cuh: sums over the threads of a block. */
#ifndef CTT_BLOCK_CUH
#define CTT_BLOCK_CUH

#include "device/cuda/kernel/num.cuh"

/* The sum over a block's threads, in a fixed order; all threads get it.
 * shared: CTT_THREADS doubles. */
CTT_GPU double over_block(double x, double *shared)
{
    int t = threadIdx.x;

    shared[t] = x;
    for (int o = CTT_THREADS / 2; o > 0; o /= 2) {
        __syncthreads();
        if (t < o)
            shared[t] += shared[t + o];
    }
    __syncthreads();
    return shared[0];
}

/* A join() of sums.cuh and rows.cuh that adds the K numbers. */
template <int Count> struct plain_sums {
    enum { K = Count };
    static __device__ __forceinline__ void join(float *a, const float *b,
                                                float, float)
    {
        CTT_UNROLL
        for (int i = 0; i < K; i++)
            a[i] += b[i];
    }
};

#endif
