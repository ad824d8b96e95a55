/* SPDX-License-Identifier: Apache-2.0
 * fold.h: operators on constants.  Each function computes the results of a node
 * whose inputs are constants. */
#ifndef CTT_FOLD_H
#define CTT_FOLD_H

#include "exchange/onnx/onnx.h"

/* Input k, which must be there. */
int ctt_fold_in(const struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                const struct ctt_onnx_tensor **out);

/* Makes output k of a node a constant. */
void ctt_fold_set(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                  const struct ctt_onnx_tensor *t);

/* A tensor of this shape whose element at i[] is that of x at start + sum of
 * i[a] * stride[a]. */
int ctt_fold_copy(struct ctt_onnx *o, const struct ctt_onnx_tensor *x, int rank,
                  const int64_t *dim, const int64_t *stride, int64_t start,
                  struct ctt_onnx_tensor *out);

/* Strides of x in elements where it is broadcast to a shape: 0 along axes that
 * it has not; CTT_EUNSUP: it does not fit. */
int ctt_fold_strides(const struct ctt_onnx_tensor *x, int rank,
                     const int64_t *dim, int64_t *stride);

/* The shape of two tensors broadcast to one. */
int ctt_fold_broadcast(const struct ctt_onnx_tensor *a,
                       const struct ctt_onnx_tensor *b, int *rank,
                       int64_t *dim);

/* fold_shape.c: the shape of a Reshape, an Unsqueeze, a Squeeze or a Flatten of
 * x; also for values that are no constants. */
int ctt_fold_new_shape(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       const struct ctt_onnx_tensor *x, int *rank,
                       int64_t *dim);

/* fold_slice.c: first element, count and step of each axis that a Slice takes,
 * and sizes of the parts of a Split along *axis; also for values that are no
 * constants. */
struct ctt_fold_range { int64_t from, count, step; };
int ctt_fold_slice(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const struct ctt_onnx_tensor *x,
                   struct ctt_fold_range range[CTT_ONNX_RANK]);
int ctt_fold_split(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                   const struct ctt_onnx_tensor *x, int *axis, int64_t *size);

/* Rows of the table, by file. */
typedef int ctt_fold_fn(struct ctt_onnx *o, const struct ctt_onnx_node *n);
ctt_fold_fn ctt_fold_constant, ctt_fold_fill, ctt_fold_shape, ctt_fold_size,
    ctt_fold_cast, ctt_fold_same, ctt_fold_reshape, ctt_fold_range_of;
ctt_fold_fn ctt_fold_transpose, ctt_fold_expand, ctt_fold_slices,
    ctt_fold_parts, ctt_fold_gather, ctt_fold_concat;
ctt_fold_fn ctt_fold_binary, ctt_fold_unary, ctt_fold_where, ctt_fold_reduce,
    ctt_fold_dequantize;

#endif
