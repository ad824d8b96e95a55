/* SPDX-License-Identifier: Apache-2.0
 * launch.h: how .cu files start kernels, so that the same text also runs where
 * kernels are simulated on the host (tests/sim, CTT_SIM).  Kernels therefore
 * cooperate by static __shared__ arrays and __syncthreads() only, and walk
 * their elements by the grid's step whatever its size. */
#ifndef CTT_LAUNCH_H
#define CTT_LAUNCH_H

#include <cuda_runtime.h>
#include <stdint.h>

/* Threads of a block, in all kernels. */
enum { CTT_THREADS = 256 };

/* A template with several arguments stands in parentheses: (add<float, 2>). */
#ifdef CTT_SIM
#define CTT_LAUNCH(kernel, grid, stream, ...)                           \
    ctt_sim_launch((grid), CTT_THREADS, (cudaStream_t)(stream), kernel, \
                   __VA_ARGS__)
#else
#define CTT_LAUNCH(kernel, grid, stream, ...)                           \
    (kernel)<<<(grid), CTT_THREADS, 0, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#endif

/* Blocks that give each of n items a thread; kernels loop if there are more
 * items than that. */
static inline unsigned ctt_blocks(int64_t n)
{
    int64_t blocks = (n + CTT_THREADS - 1) / CTT_THREADS;

    return (unsigned)(blocks < 1 ? 1 : blocks < 1 << 20 ? blocks : 1 << 20);
}

#endif
