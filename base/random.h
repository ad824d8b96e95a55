/* SPDX-License-Identifier: Apache-2.0
 * random.h: the only random numbers: counter-based, so the same on every device
 * and in every order.  Plain C11 that is also C++ and CUDA. */
#ifndef CTT_RANDOM_H
#define CTT_RANDOM_H

#include "base/fn.h"

#include <stdint.h>

/* Philox-2x32-10 (Salmon and others 2011): random bits for element i of a
 * stream, from a key made of the numbers that name the stream.  A mask that is
 * recomputed is the same mask. */
CTT_FN uint32_t ctt_random(uint64_t key, uint64_t i)
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

/* The finalizer of SplitMix64 (Steele, Lea and Flood 2014). */
CTT_FN uint64_t ctt_splitmix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The key of a node's call, from the key of the run, the node's index and the
 * step. */
CTT_FN uint64_t ctt_call_key(uint64_t run, uint64_t node, uint64_t at)
{
    return ctt_splitmix(ctt_splitmix(run + node) + at);
}

/* Derives a key from key a for number b of an epoch, a step or a clip. */
static inline uint64_t ctt_key(uint64_t a, uint64_t b)
{
    return (uint64_t)ctt_random(a, 2 * b) << 32 | ctt_random(a, 2 * b + 1);
}

#endif
