/* SPDX-License-Identifier: Apache-2.0
 * half_sums.h: the multiply-add of half precision, rounded once. */
#ifndef CTT_TESTS_HALF_SUMS_H
#define CTT_TESTS_HALF_SUMS_H

#include "base/half.h"

#include <math.h>

/* a b + c.  The product has 22 bits, so it is exact in a double; so is the sum,
 * unless the product is below 2^-30 of c and changes nothing.  On the way to
 * half precision the double is cut to the 24 bits of a float, and what is cut
 * off leaves a mark in the last one (rounding to odd). */
static inline uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c)
{
    const uint64_t cut = ((uint64_t)1 << 29) - 1;
    double y = (double)ctt_of_f16(a) * (double)ctt_of_f16(b) +
               (double)ctt_of_f16(c);
    uint64_t u;

    memcpy(&u, &y, sizeof(u));
    if (isfinite(y) && u & cut)
        u = (u & ~cut) | (cut + 1);
    memcpy(&y, &u, sizeof(y));
    return ctt_f16_of((float)y);
}

#endif
