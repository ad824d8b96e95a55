/* SPDX-License-Identifier: Apache-2.0
 * place.h: where the numbers of a value lie.  A line of the model holds them as
 * d, h, w, c with channels innermost, an ONNX value has axes in another order.
 * Both are made of the same *atoms*: factors of an axis and of a dimension at
 * once.  A Transpose permutes axes, a Reshape regroups or divides atoms, and no
 * number moves; weights that are read along an axis are put in the order of
 * the atoms instead. */
#ifndef CTT_PLACE_H
#define CTT_PLACE_H

#include "exchange/onnx/onnx.h"

enum { CTT_PLACE_ATOMS = 24 };

/* Dimensions of a line's value in the order of memory; N: samples. */
enum { CTT_IN_N, CTT_IN_D, CTT_IN_H, CTT_IN_W, CTT_IN_C, CTT_IN_DIMS };

struct ctt_onnx_place {
    int line, rank, atoms;
    struct ctt_onnx_atom { int64_t size; int dim; } atom[CTT_PLACE_ATOMS];
                                    /* in the order of memory */
    int order[CTT_PLACE_ATOMS];     /* the atoms in the order of the axes */
    int cut[CTT_ONNX_RANK];         /* atoms of each axis */
    int low[CTT_IN_DIMS], high[CTT_IN_DIMS];    /* zeros around it that the
                                       line has not, of a Pad that the next
                                       node takes along */
};

/* A place of which each axis is a dimension: in[a] of axis a.  Axes of size 1
 * have no atoms. */
int ctt_place_new(struct ctt_onnx *o, int line, int rank, const int64_t *dim,
                  const int *in, struct ctt_onnx_place **out);

/* The same numbers with other axes; CTT_EUNSUP: a new axis has parts of two old
 * ones that do not lie behind each other. */
int ctt_place_reshape(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                      int rank, const int64_t *dim,
                      struct ctt_onnx_place **out);
int ctt_place_permute(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                      const int *perm, struct ctt_onnx_place **out);

/* The first atom of an axis in `order`. */
int ctt_place_first(const struct ctt_onnx_place *p, int axis);

/* Dimensions in which an axis has atoms, a bit each; `whole`: 1 if these
 * dimensions have no atoms of other axes. */
unsigned ctt_place_dims(const struct ctt_onnx_place *p, int axis, int *whole);

/* For a constant that is read along the axes with these strides: the stride of
 * each atom; and for a dimension of that size the offset of each index, an
 * array. */
void ctt_place_strides(const struct ctt_onnx_place *p, const int64_t *axis,
                       int64_t stride[CTT_PLACE_ATOMS]);
int  ctt_place_offsets(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                       const int64_t stride[CTT_PLACE_ATOMS], int dim,
                       int64_t size, int64_t **out);

/* The place on another line, without the atoms of some dimensions, a bit each,
 * and without zeros around it. */
int  ctt_place_drop(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                    unsigned dims, int line, struct ctt_onnx_place **out);

/* Adds a dimension of that size at the end of an axis; it must have no atoms.
 */
int  ctt_place_add(struct ctt_onnx_place *p, int axis, int dim, int64_t size);

/* 1 if two places have the same atoms in the same order of memory and axes. */
int  ctt_place_same(const struct ctt_onnx_place *a,
                    const struct ctt_onnx_place *b);

/* 1 if zeros lie around it. */
int  ctt_place_padded(const struct ctt_onnx_place *p);

#endif
