/* SPDX-License-Identifier: Apache-2.0
 * cast.h: conversion between number types in host memory.  Sources have any
 * type of half.h, results a type of ctt_is_float_type(), which the caller has
 * checked; the rounding is that of half.h by every instruction set, floats are
 * copied.  Threads share long arrays.  x and y are not the same memory. */
#ifndef CTT_CAST_H
#define CTT_CAST_H

#include "device/dev.h"

/* n numbers in a row: y = x. */
void ctt_cast_to(struct ctt_dev *d, const float *x, enum ctt_dtype type,
                 void *y, int64_t n);

/* y += x, each sum made in floats and rounded once. */
void ctt_cast_sum(struct ctt_dev *d, enum ctt_dtype type, const void *x,
                  void *y, int64_t n);

/* Rows of a tensor from (put) and to (get) dense floats, bytes of quantised
 * values too.  The gaps between the rows of a view stay as they are. */
void ctt_cast_put(struct ctt_dev *d, const float *x,
                  const struct ctt_tensor *y);
void ctt_cast_get(struct ctt_dev *d, const struct ctt_tensor *x, float *y);

/* Conversions on one thread, compiled for one instruction set. */
struct ctt_cast {
    void (*to)(const float *x, enum ctt_dtype type, void *y, int64_t n);
    void (*from)(enum ctt_dtype type, const void *x, float *y, int64_t n);
    void (*sum)(enum ctt_dtype type, const void *x, void *y, int64_t n);
    /* Quantised values from and to bytes (base/byte.h). */
    void (*to_bytes)(const float *x, float scale, int zero, uint8_t *y,
                     int64_t n);
    void (*from_bytes)(const uint8_t *x, float scale, int zero, float *y,
                       int64_t n);
};
extern const struct ctt_cast ctt_ref_cast, ctt_avx2_cast, ctt_avx512_cast;

/* Conversions for the device's instruction set: plain C on "ref", else the
 * best. */
const struct ctt_cast *ctt_cast_of(const struct ctt_dev *d);

#endif
