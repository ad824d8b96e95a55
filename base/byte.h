/* SPDX-License-Identifier: Apache-2.0
 * byte.h: rounding to 8 bits: of values to bytes, of weights to whole numbers.
 * The same operations of IEEE 754 in the same order on every device, so that
 * all get the same bits.  Plain C11 that is also C++ and CUDA. */
#ifndef CTT_BYTE_H
#define CTT_BYTE_H

#include "base/fn.h"

#include <stdint.h>
#include <string.h>

/* How much less than bytes the signed ones of a GPU are. */
enum { CTT_I8_LESS = 128 };

/* A quotient of IEEE 754: nvcc's own are not (build-aux/cuda.am). */
#ifdef __CUDA_ARCH__
#define CTT_QUOTIENT(x, y) __fdiv_rn(x, y)
#else
#define CTT_QUOTIENT(x, y) ((x) / (y))
#endif

/* x as a whole number of steps, 1 / inv each, that a byte holds in which `zero`
 * stands for 0: half to even (the sum with 1.5 * 2^23 rounds), saturated; of a
 * NaN the least.  The byte is that number + zero, the value that number times
 * the step. */
CTT_FN float ctt_quant(float x, float inv, float zero)
{
    float least = -zero, most = 255.0f - zero;

    x = x * inv;
    x = x > least ? x : least;
    x = x < most ? x : most;
    return (x + 12582912.0f) - 12582912.0f;
}

/* The gradient passes where nothing is saturated (the straight-through
 * estimator: Hinton 2012; Bengio and others 2013). */
CTT_FN float ctt_quant_bwd(float x, float inv, float zero, float dy)
{
    x = x * inv;
    return x >= -0.5f - zero && x <= 255.5f - zero ? dy : 0;
}

/* A weight as a whole number of steps, -127 to 127; scale: the step of its
 * channel. */
CTT_FN float ctt_quant_weight(float w, float scale)
{
    w = CTT_QUOTIENT(w, scale);
    w = w > -127.0f ? w : -127.0f;
    w = w < 127.0f ? w : 127.0f;
    return (w + 12582912.0f) - 12582912.0f;
}

/* The step of weights of which the largest has the absolute value `most`: a
 * 127th of it, rounded up to 16 significant bits, so that products with whole
 * numbers up to 127 are exact, and a second rounding changes nothing. */
CTT_FN float ctt_quant_step(float most)
{
    float s = CTT_QUOTIENT(most, 127.0f);
    uint32_t u;

    memcpy(&u, &s, sizeof(u));
    u = (u + 0xffu) & ~0xffu;
    memcpy(&s, &u, sizeof(s));
    return s >= 0x1p-107f && s <= 0x1p93f ? s : 1.0f;
}

#endif
