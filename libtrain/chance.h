/* SPDX-License-Identifier: Apache-2.0
 * chance.h: random numbers of the training.  Each use has a key of its own, so
 * that none depends on how many the others draw. */
#ifndef CTT_CHANCE_H
#define CTT_CHANCE_H

#include "net/random.h"

/* What is drawn with the seed of a training: ctt_key(seed, one of these). */
enum { CTT_KEY_INIT = 1, CTT_KEY_ORDER, CTT_KEY_IMAGE, CTT_KEY_OBSERVE,
       CTT_KEY_DROPOUT, CTT_KEY_TRUTH };

/* The key of part b (an epoch, a step, a clip) of what key a stands for. */
static inline uint64_t ctt_key(uint64_t a, uint64_t b)
{
    return (uint64_t)ctt_random(a, 2 * b) << 32 | ctt_random(a, 2 * b + 1);
}

/* Number i of a key, uniform in [0, 1). */
static inline float ctt_uniform(uint64_t key, uint64_t i)
{
    return (float)(ctt_random(key, i) >> 8) * 0x1p-24f;
}

#endif
