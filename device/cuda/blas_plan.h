/* SPDX-License-Identifier: Apache-2.0
 * blas_plan.h: matrix products by cuBLASLt.  A plan holds cuBLASLt's
 * descriptors and algorithm for products of given sizes, types and alignments;
 * it is made once and kept. */
#ifndef CTT_BLAS_PLAN_H
#define CTT_BLAS_PLAN_H

#include "device/cuda/cuda.h"

enum { CTT_BLAS_A, CTT_BLAS_B, CTT_BLAS_C, CTT_BLAS_Y, CTT_BLAS_MATRICES };

/* A matrix by columns, as cuBLAS stores it: column j starts ld numbers after
 * column j - 1.  The rows of our tensors are its columns. */
struct ctt_matrix {
    void          *p;
    enum ctt_dtype type;
    int64_t        rows, cols, ld;
};

/* y = op(a) op(b) (+ c) (+ bias), then the epilogue; op transposes if trans is
 * 1. */
struct ctt_product {
    struct ctt_matrix at[CTT_BLAS_MATRICES];
    int                    trans[2], add;     /* add: c is added */
    int                    epilogue;          /* cublasLtEpilogue_t */
    const float           *bias;              /* or NULL */
};

/* Convs that are one product.  PIXELS: each result depends on one
 * pixel, and a row of the product is a pixel; IMAGES: one result per image
 * depends on the whole image, and a row is an image.  columns: a tensor as a
 * matrix, whose columns are its pixels or images. */
enum ctt_product_shape {
    CTT_NO_PRODUCT, CTT_PRODUCT_PIXELS, CTT_PRODUCT_IMAGES
};
enum ctt_product_shape ctt_product_shape(const struct ctt_call *c);
struct ctt_matrix ctt_product_columns(const struct ctt_tensor *t,
                                      enum ctt_product_shape shape);

/* The plans of a device, found by product. */
struct ctt_product_plan;
struct ctt_product_plans { struct ctt_product_plan *first; };

/* Returns 1 and the plan of the product x, or 0 if cuBLASLt cannot compute it.
 * The plan is valid until ctt_product_plans_free().  c: for error messages. */
int  ctt_product_find(struct ctt_dev *d, const struct ctt_call *c,
                   struct ctt_product_plans *s, const struct ctt_product *x,
                   struct ctt_product_plan **out);
void ctt_product_plans_free(struct ctt_product_plans *s);

/* Computes x on the device's current lane; p: its plan. */
int  ctt_product_run(struct ctt_dev *d, const struct ctt_call *c,
                  const struct ctt_product *x, struct ctt_product_plan *p);

#endif
