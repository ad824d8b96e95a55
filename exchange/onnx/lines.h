/* SPDX-License-Identifier: Apache-2.0
 * lines.h: the lines of the model to be written, with descriptions of their
 * weights, which are copied once, at the end. */
#ifndef CTT_ONNX_LINES_H
#define CTT_ONNX_LINES_H

#include "net/model.h"
#include "exchange/onnx/onnx.h"

/* ---- where the numbers of a value lie ---- */

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

/* A kernel of shape dim[5] (out, d, h, w, in), or a vector of dim[0] numbers.
 * Number (o, d, h, w, i) is element off[0][o] + ... + off[4][i] of t, times
 * scale[o]; an offset of -1: 0, off[k] NULL: 0 for all.  groups > 1: 0 where o
 * and i are of different groups.  pick: 1 where pick[i] is o, else 0.
 * vec: the numbers themselves. */
struct ctt_onnx_weight {
    int64_t dim[5];
    const struct ctt_onnx_tensor *t;
    const int64_t *off[5], *pick;
    int64_t        groups;
    double        *scale, *vec;
};

enum { CTT_ONNX_KEYS = 256 };

struct ctt_onnx_line {
    const char *word;
    char        name[CTT_NAME];
    int         nin, in[CTT_MAX_IN];
    int64_t     size[CTT_IN_DIMS];    /* of its value; of samples 1 */
    char        keys[CTT_ONNX_KEYS];  /* " key=value ..." */
    int         folds;                /* factors that it took along */
    int         shared;               /* 1: several nodes read its value */
    int         aside;                /* 1: left out of the text */
    double     *scale, *shift;        /* input: its value is scale * x + shift
                                         for each channel of the file's x; NULL:
                                         x itself */
    int         nw;
    struct ctt_onnx_weight w[CTT_MAX_W];
};

/* Adds a line of that word with inputs and the size d, h, w, c of its value;
 * its name is made from that of the node at work.  keys are set by
 * ctt_onnx_keys(). */
int ctt_onnx_emit(struct ctt_onnx *o, const char *word, int nin, const int *in,
                  const int64_t size[CTT_IN_DIMS], int *line);

/* Appends " key=value" to the keys of a line. */
int ctt_onnx_keys(struct ctt_onnx *o, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A vector of n numbers of the arena: all x, or copies of `from`. */
int ctt_onnx_vector(struct ctt_onnx *o, int64_t n, const double *from,
                    double x, double **out);

/* The lines of the text, parsed, and the model with its weights. */
int ctt_onnx_model(struct ctt_onnx *o, struct ctt_model **out);

#endif
