/* SPDX-License-Identifier: Apache-2.0
 * onnx_made.h: ONNX files made of a text, and their answers by plain loops.
 *
 *     in x 1,3,5,5
 *     w k 4,3,3,3                         floats by chance
 *     w s 1 0.5                           these floats
 *     i shape 2 1,-1                      whole numbers of 64 bits
 *     u zero - 128                        a byte without axes
 *     Conv x,k -> a pads=1,1,1,1 group=1
 *     Relu a -> y
 *     out y 1,4,5,5
 *
 * An attribute is a list if it has a comma (axes=1,), a real number if it has
 * a point, a whole one, or a word.  An input _ is left out. */
#ifndef CTT_TEST_ONNX_MADE_H
#define CTT_TEST_ONNX_MADE_H

#include "base/ctt.h"

enum { MADE_RANK = 8, MADE_ENDS = 8, MADE_LINES = 64, MADE_WORD = 128 };

struct made_line {
    char op[MADE_WORD], in[MADE_ENDS][MADE_WORD], out[MADE_ENDS][MADE_WORD];
    char attrs[256];
    int  nin, nout;
};

/* A tensor: its numbers as floats, also whole ones. */
struct made_tensor {
    char    name[MADE_WORD];
    int     whole, rank;    /* whole: 1: of 64 bits, 2: bytes */
    int64_t dim[MADE_RANK], count;
    float  *x;
};

struct made {
    struct made_line   line[MADE_LINES];
    struct made_tensor tensor[2 * MADE_LINES];    /* inputs, constants, then
                                                     what was computed */
    int lines, tensors;
    const char *location;    /* of the constants of floats: a file beside; NULL:
                                in the file itself */
    int64_t     offset;      /* where in that file they are said to begin */
};

/* Parses a text; a wrong one fails the test. */
void made_open(struct made *m, const char *text);
void made_close(struct made *m);

/* The file of a text, which the caller frees; opset: of its operators. */
uint8_t *made_file(const struct made *m, int opset, int64_t *size);

/* Writes it to path. */
void made_write(const struct made *m, int opset, const char *path);

/* Computes all lines; the tensor of that name. */
void made_compute(struct made *m);
struct made_tensor *made_find(struct made *m, const char *name);

/* A new tensor of that shape, zeros. */
struct made_tensor *made_tensor(struct made *m, const char *name, int rank,
                                const int64_t *dim);

/* An attribute: its text, "" if there is none; numbers of a list, or `none` for
 * each of n. */
const char *made_attr(const struct made_line *l, const char *name,
                      char text[MADE_WORD]);
void made_ints(const struct made_line *l, const char *name, int n, int64_t none,
               int64_t *out);

#endif
