/* SPDX-License-Identifier: Apache-2.0
 * lt.h: products of 2:4 weights, two of each four neighbours zeros, and dense
 * values by cuSPARSELt, on tensor cores for sparse operands: y = W x, x and y
 * with a pixel or image in each column. */
#ifndef CTT_LT_H
#define CTT_LT_H

#include "device/cuda/core.h"

/* type (enum ctt_dtype): of W and x: 16 bits, which are y's too, or CTT_I8,
 * with sums of 32 bits.  No padding, as shapes are compared by memcmp. */
struct ctt_lt_shape { int64_t type, outs, ins, columns, ldx, ldy; };

struct ctt_lt_plan;

/* 1 if a product of 2:4 weights pays, otherwise 0 and q->why. */
int    ctt_lt_pays(struct ctt_conv_ask *q, const struct ctt_lt_shape *s);

/* 1 if the n weights w, in the GPU's memory, are 2:4. */
int    ctt_lt_is_two(const struct ctt_conv_ask *q, enum ctt_dtype type,
                     const void *w, int64_t n);

/* 1 and the plan of a product that pays, if the library is there and can
 * compute it, otherwise 0 and q->why.  The plan stays until ctt_lt_close();
 * room: bytes that it works in. */
int    ctt_lt_find(struct ctt_conv_ask *q, const struct ctt_lt_shape *s,
                   struct ctt_lt_plan **out);
size_t ctt_lt_room(const struct ctt_lt_plan *p);

/* 1 and the nonzero half of W (w, 2:4, by rows) in *out, from
 * ctt_cuda_malloc(); 0, NULL and q->why if it cannot be made. */
int  ctt_lt_compress(struct ctt_conv_ask *q, const struct ctt_lt_plan *p,
                     const void *w, void **out);

/* y = W x, or y += W x with add.  w: compressed. */
int  ctt_lt_multiply(const struct ctt_conv_ask *q, struct ctt_lt_plan *p,
                     const void *w, const void *x, void *y, int add,
                     void *room);

void ctt_lt_close(struct ctt_core *k);

#endif
