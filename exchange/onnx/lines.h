/* SPDX-License-Identifier: Apache-2.0
 * lines.h: the lines of the model to be written, with descriptions of their
 * weights, which are copied once, at the end. */
#ifndef CTT_ONNX_LINES_H
#define CTT_ONNX_LINES_H

#include "exchange/onnx/place.h"
#include "net/model.h"

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
