/* SPDX-License-Identifier: Apache-2.0
 * random.h: the one source of chance: random bits by counter, the same on every
 * device and in every order.  Plain C11 that is also C++ and CUDA. */
#ifndef CTT_RANDOM_H
#define CTT_RANDOM_H

#include <stdint.h>

/* Philox-2x32-10 (Salmon and others 2011): random bits for element i of a
 * stream, from a key made of what the stream belongs to.  A mask that is
 * recomputed is the same mask. */
#ifdef __CUDACC__
static __host__ __device__ __forceinline__
#else
static inline
#endif
uint32_t ctt_random(uint64_t key, uint64_t i)
{
    uint32_t k = (uint32_t)(key ^ key >> 32), x = (uint32_t)i;
    uint32_t y = (uint32_t)(i >> 32);

    for (int r = 0; r < 10; r++, k += 0x9E3779B9u) {
        uint64_t p = (uint64_t)x * 0xD256D193u;
        x = (uint32_t)(p >> 32) ^ k ^ y;
        y = (uint32_t)p;
    }
    return x;
}

#endif
