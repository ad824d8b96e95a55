/* SPDX-License-Identifier: Apache-2.0
 * half.h: the types of numbers: their sizes and words, their values as floats;
 * IEEE half precision and bfloat16, rounded to the nearest, ties to even.  Too
 * large a number becomes infinite; a NaN stays one.  Plain C11; arrays are
 * converted by device/cpu/cast.c.
 *
 * Code that depends on the type is a switch without default, so that the
 * compiler warns when a type is added, or a table in which a missing type is
 * an error.  An unknown type is never treated as another. */
#ifndef CTT_HALF_H
#define CTT_HALF_H

#include "base/ctt.h"

#include <assert.h>
#include <string.h>

/* Bytes of a number. */
static inline int64_t ctt_dtype_size(enum ctt_dtype t)
{
    switch (t) {
    case CTT_F32:  return 4;
    case CTT_F16:  return 2;
    case CTT_BF16: return 2;
    case CTT_I8:   return 1;
    case CTT_U8:   return 1;
    case CTT_I32:  return 4;
    }
    assert(!"a type of numbers");
    return 0;
}

/* The word of a type in options and plans: "fp32". */
static inline const char *ctt_dtype_word(enum ctt_dtype t)
{
    switch (t) {
    case CTT_F32:  return "fp32";
    case CTT_F16:  return "fp16";
    case CTT_BF16: return "bf16";
    case CTT_I8:   return "int8";
    case CTT_U8:   return "uint8";
    case CTT_I32:  return "int32";
    }
    return "unknown";
}

static inline uint16_t ctt_bf16_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40);    /* quiet */
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static inline float ctt_of_bf16(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

/* Small numbers are rounded by the addition of a number whose last place is
 * the smallest half's. */
static inline uint16_t ctt_f16_of(float x)
{
    uint32_t u, sign;
    float a;

    memcpy(&u, &x, sizeof(u));
    sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (u >> 13 & 0x1ffu));
    if (u >= 0x477ff000u)    /* 65520 and above */
        return (uint16_t)(sign | 0x7c00u);
    if (u < 0x38800000u) {   /* below 2^-14 */
        memcpy(&a, &u, sizeof(a));
        a += 0.5f;
        memcpy(&u, &a, sizeof(u));
        return (uint16_t)(sign | (u - 0x3f000000u));
    }
    u += 0xc8000000u + 0xfffu + (u >> 13 & 1);    /* exponent - 112 */
    return (uint16_t)(sign | u >> 13);
}

static inline float ctt_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, m = h & 0x7fffu, u;
    float x;

    if (m >= 0x7c00u) {
        u = sign | 0x7f800000u | (m & 0x3ffu) << 13;
        memcpy(&x, &u, sizeof(x));
        return x;
    }
    if (m < 0x400u) {        /* a multiple of 2^-24 */
        x = (float)m * 0x1p-24f;
        memcpy(&u, &x, sizeof(u));
        u |= sign;    /* -x might lose that of 0 */
        memcpy(&x, &u, sizeof(x));
        return x;
    }
    u = sign | ((m << 13) + 0x38000000u);
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* 1 if half precision holds x exactly: the same bits come back. */
static inline int ctt_is_f16(float x)
{
    float back = ctt_of_f16(ctt_f16_of(x));

    return memcmp(&back, &x, sizeof(x)) == 0;
}

/* Element i of an array of any type, as a float. */
static inline float ctt_load(const void *p, enum ctt_dtype t, int64_t i)
{
    switch (t) {
    case CTT_F32:  return ((const float *)p)[i];
    case CTT_F16:  return ctt_of_f16(((const uint16_t *)p)[i]);
    case CTT_BF16: return ctt_of_bf16(((const uint16_t *)p)[i]);
    case CTT_I8:   return ((const int8_t *)p)[i];
    case CTT_U8:   return ((const uint8_t *)p)[i];
    case CTT_I32:  return (float)((const int32_t *)p)[i];
    }
    assert(!"a type of numbers");
    return 0;
}

/* 1 if floats can be stored as that type: floating-point types only; no
 * rounding is defined for integers. */
static inline int ctt_is_float_type(enum ctt_dtype t)
{
    return t == CTT_F32 || t == CTT_F16 || t == CTT_BF16;
}

/* Stores x as element i of an array of a floating-point type. */
static inline void ctt_store(void *p, enum ctt_dtype t, int64_t i, float x)
{
    assert(ctt_is_float_type(t));
    switch (t) {
    case CTT_F32:  ((float *)p)[i] = x; break;
    case CTT_F16:  ((uint16_t *)p)[i] = ctt_f16_of(x); break;
    case CTT_BF16: ((uint16_t *)p)[i] = ctt_bf16_of(x); break;
    case CTT_I8:
    case CTT_U8:
    case CTT_I32:  break;
    }
}

#endif
