/* SPDX-License-Identifier: Apache-2.0
 * file.h: a model with its numbers, and the HDF5 file it lives in
 * (doc/format.md). */
#ifndef CTT_FILE_H
#define CTT_FILE_H

#include "net/graph.h"

/* A named array of the /train section. */
struct ctt_array {
    char    name[CTT_NAME];
    int     size;       /* bytes an element: 1 (u8), 4 (f32), 8 (i64) */
    int64_t count;
    void   *data;
};

/* What a trainer needs to go on as if it had never stopped.  Only libtrain
 * knows what the arrays mean. */
struct ctt_state {
    char             *settings;    /* text: one name=value a line */
    struct ctt_array *array;
    int               count, room;
};

struct ctt_model {
    struct ctt_graph *g;
    char            **label;
    int               labels;
    float            *w;       /* flat block of g->weights floats */
    uint8_t          *keep;    /* g->weights bytes, 0 where a weight is pruned
                                  and must stay 0; NULL: nothing is pruned */
    char             *history; /* text, a line a stage: how it was made */
    struct ctt_state *train;   /* NULL: none */
};

/* A sealed graph (taken over, also on failure) with zero weights. */
int  ctt_model_new(struct ctt_graph *g, struct ctt_model **out);
void ctt_model_free(struct ctt_model **m);
int  ctt_model_copy(const struct ctt_model *m, struct ctt_model **out);
int  ctt_model_labels(struct ctt_model *m, char *const *label, int labels);

/* Makes m->keep, of ones, if it is NULL. */
int  ctt_model_mask(struct ctt_model *m);

/* The k-th weight of a node: its name in files ("w", "b", "gamma", ...), or
 * NULL; its full name ("c1.w"); and its shape as a file has it, which returns
 * the number of dimensions: (out, kd, kh, kw, in) or one. */
enum { CTT_WEIGHT_NAME = CTT_NAME + 8 };
const char *ctt_weight_name(const struct ctt_node *n, int k);
void ctt_weight_title(const struct ctt_node *n, int k,
                      char title[CTT_WEIGHT_NAME]);
int  ctt_weight_shape(const struct ctt_node *n, int k, int64_t dim[5]);

/* Numbers that are stored: all parameters, less those pruned. */
int64_t ctt_model_params(const struct ctt_model *m);

/* with_train: read the /train section too, if there is one.  Every error names
 * the file. */
int  ctt_model_load(const char *path, int with_train, struct ctt_model **out);

/* Written beside and renamed: path is the old file or the new one, whole. */
int  ctt_model_save(const char *path, const struct ctt_model *m);

/* The same for any file of n bytes. */
int  ctt_file_replace(const char *path, const uint8_t *p, int64_t n);

/* What is stored for each weight, for reports. */
struct ctt_stored {
    char    name[CTT_WEIGHT_NAME];  /* node.w */
    char    positions[12], values[12], bytes[12];    /* words of the format */
    int64_t params, kept, size;     /* numbers, not pruned, bytes on disk */
};

/* Reads and checks the whole file; the caller frees *out with ctt_free. */
int  ctt_model_stored(const char *path, struct ctt_stored **out, int *count,
                      int64_t *file_bytes);

/* The /train section in memory; settings may be NULL.  add copies data; NULL
 * makes zeros. */
int  ctt_state_new(struct ctt_state **out);
void ctt_state_free(struct ctt_state **s);
int  ctt_state_add(struct ctt_state *s, const char *name, int size,
                   int64_t count, const void *data);
const struct ctt_array *ctt_state_find(const struct ctt_state *s,
                                       const char *name);

#endif
