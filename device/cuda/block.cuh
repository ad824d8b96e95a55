/* SPDX-License-Identifier: Apache-2.0
 * block.cuh: what the threads of a block do together. */
#ifndef CTT_BLOCK_CUH
#define CTT_BLOCK_CUH

#include "device/cuda/num.cuh"

/* The sum over a block's threads, in a fixed order, to all of them.
 * shared: CTT_THREADS of them. */
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

#endif
