/* SPDX-License-Identifier: Apache-2.0
 * block.cuh: sums and the largest number over the threads of a block. */
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

/* The largest magnitude of a row, in all threads of the block.  most:
 * CTT_THREADS floats. */
CTT_GPU float row_most(const float *row, int64_t each, float *most)
{
    int t = threadIdx.x;

    most[t] = 0;
    for (int64_t i = t; i < each; i += CTT_THREADS) {
        float a = row[i] < 0 ? -row[i] : row[i];
        most[t] = a > most[t] ? a : most[t];
    }
    for (int o = CTT_THREADS / 2; o > 0; o /= 2) {
        __syncthreads();
        if (t < o && most[t + o] > most[t])
            most[t] = most[t + o];
    }
    __syncthreads();
    return most[0];
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
