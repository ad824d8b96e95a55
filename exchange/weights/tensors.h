/* SPDX-License-Identifier: Apache-2.0
 * tensors.h: the named tensors of a file of weights, safetensors or .pth.  The
 * whole file is in memory, and tensors are places in it. */
#ifndef CTT_TENSORS_H
#define CTT_TENSORS_H

#include "base/half.h"

/* A type of numbers: its word in safetensors, the name of its storage in
 * pickles (NULL: none that is read), bytes; load: the i-th number as a float
 * (NULL: no floats). */
struct ctt_number {
    const char *word, *storage;
    int         size;
    float     (*load)(const uint8_t *p);
};

/* Ended by a row without a word. */
extern const struct ctt_number ctt_numbers[];

enum { CTT_NAMED_RANK = 8 };

/* Number i, j, ... of the tensor lies at data + (i stride[0] + j stride[1] ...)
 * type->size. */
struct ctt_named {
    char                    *name;    /* owned */
    const struct ctt_number *type;
    int                      rank;
    int64_t                  dim[CTT_NAMED_RANK], stride[CTT_NAMED_RANK];
    const uint8_t           *data;
};

struct ctt_tensors {
    char             *path;
    uint8_t          *image;     /* the file, and a 0 behind it */
    int64_t           size;
    struct ctt_named *tensor;    /* sorted by name */
    int               count, room;
    char             *net, *labels;    /* texts of the metadata, or NULL */
};

/* Reads a file of weights.  CTT_EFORMAT if it is damaged, CTT_EUNSUP if it
 * holds more than tensors; messages begin with the path. */
int  ctt_tensors_open(const char *path, struct ctt_tensors **out);
void ctt_tensors_free(struct ctt_tensors **t);

/* The tensor of that name, or NULL. */
const struct ctt_named *ctt_tensors_find(const struct ctt_tensors *t,
                                         const char *name);

/* The numbers of a tensor; -1: more than CTT_MAX_VOLUME. */
int64_t ctt_named_volume(const struct ctt_named *n);

/* Its number at an index, as a float. */
float ctt_named_at(const struct ctt_named *n, const int64_t *index);

/* The shape in words: "32 x 3 x 3 x 3"; "1" for a scalar. */
enum { CTT_NAMED_SHAPE = 192 };
const char *ctt_named_shape(const int64_t *dim, int rank,
                            char text[CTT_NAMED_SHAPE]);

/* ---- for the readers of a form ---- */

/* Adds a tensor whose name is copied; CTT_ENOMEM. */
int  ctt_tensors_add(struct ctt_tensors *t, const struct ctt_named *n);

/* The order of two tensors by name, for qsort() and bsearch(). */
int ctt_named_order(const void *a, const void *b);

/* Sets strides of a dense tensor. */
void ctt_named_dense(struct ctt_named *n);

/* Each sets the tensors of an image that begins as its form does. */
int  ctt_safetensors_read(struct ctt_tensors *t);
int  ctt_pth_read_zip(struct ctt_tensors *t);
int  ctt_pth_read_old(struct ctt_tensors *t);

/* How a .pth of the older form begins: a pickle of one long number. */
#define CTT_PTH_MAGIC \
    "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
enum { CTT_PTH_MAGIC_BYTES = 15 };

#endif
