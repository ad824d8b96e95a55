/* SPDX-License-Identifier: Apache-2.0
 * launch.h: how .cu files launch kernels, on a GPU or in the simulation on the
 * host (tests/sim, CTT_SIM).  For its sake threads cooperate only by static
 * __shared__ arrays, __syncthreads() and what mma.cuh has.  Kernels are
 * grid-stride loops: right for any grid size. */
#ifndef CTT_LAUNCH_H
#define CTT_LAUNCH_H

#include <cuda_runtime.h>
#include <stdint.h>

/* Threads per block, in all kernels. */
enum { CTT_THREADS = 256 };

/* Put a template of several arguments in parentheses: (add<float, 2>). */
#ifdef CTT_SIM
#define CTT_LAUNCH(kernel, grid, stream, ...)                           \
    ctt_sim_launch((grid), CTT_THREADS, (cudaStream_t)(stream), kernel, \
                   __VA_ARGS__)
#else
#define CTT_LAUNCH(kernel, grid, stream, ...)                           \
    (kernel)<<<(grid), CTT_THREADS, 0, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#endif

/* Blocks for one thread per item; at most 2^20, and then threads loop. */
static inline unsigned ctt_blocks(int64_t n)
{
    int64_t blocks = (n + CTT_THREADS - 1) / CTT_THREADS;

    return (unsigned)(blocks < 1 ? 1 : blocks < 1 << 20 ? blocks : 1 << 20);
}

#endif
