/* SPDX-License-Identifier: Apache-2.0
 * key.h: keys of random numbers, derived from a seed. */
#ifndef CTT_KEY_H
#define CTT_KEY_H

#include "base/random.h"

/* Derives a key from key a for number b of an epoch, a step or a clip. */
static inline uint64_t ctt_key(uint64_t a, uint64_t b)
{
    return (uint64_t)ctt_random(a, 2 * b) << 32 | ctt_random(a, 2 * b + 1);
}

#endif
