/* SPDX-License-Identifier: Apache-2.0
 * chance.h: the random numbers of training.  Each use has a key of its own, so
 * that it does not depend on how many numbers the others draw. */
#ifndef CTT_CHANCE_H
#define CTT_CHANCE_H

#include "net/init.h"
#include "base/random.h"

/* The uses: their keys are ctt_key(seed, one of these, or CTT_KEY_INIT). */
enum { CTT_KEY_ORDER = CTT_KEY_INIT + 1, CTT_KEY_IMAGE, CTT_KEY_OBSERVE,
       CTT_KEY_DROPOUT, CTT_KEY_TRUTH, CTT_KEY_SAMPLE, CTT_KEY_FOLD,
       CTT_KEY_SEARCH };

/* The i-th number of a key, uniform in [0, 1). */
static inline float ctt_uniform(uint64_t key, uint64_t i)
{
    return (float)(ctt_random(key, i) >> 8) * 0x1p-24f;
}

#endif
