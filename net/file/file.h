/* SPDX-License-Identifier: Apache-2.0
 * file.h: a model with its weights, and the HDF5 file that holds it
 * (doc/format.md). */
#ifndef CTT_FILE_H
#define CTT_FILE_H

#include "net/constraint.h"
#include "net/graph.h"
#include "net/weight.h"

/* A named array of the /train section. */
struct ctt_array {
    char    name[CTT_NAME];
    int     size;       /* bytes per element: 1 (u8), 4 (f32), 8 (i64) */
    int64_t count;
    void   *data;
};

/* The training state: with it, a resumed run continues as if it had not been
 * interrupted.  Only libtrain interprets the arrays. */
struct ctt_state {
    char             *settings;    /* text, one name=value per line, or NULL */
    struct ctt_array *array;
    int               count, room;
};

/* Owns all that it points to. */
struct ctt_model {
    struct ctt_graph *g;       /* sealed */
    char            **label;   /* names of the classes, one block; or NULL */
    int               labels;
    float            *w;       /* flat block of g->weights floats */
    struct ctt_constraint constraint;    /* on these weights */
    char             *history; /* how the model was made: text, one line per
                                  stage, or NULL */
    char             *decision; /* when to decide before a clip ends: the text
                                  of decision.h, or NULL.  Copies and edits
                                  of the model have none */
    struct ctt_state *train;   /* NULL: none */
};

/* A model of a sealed graph, with zero weights.  It takes g over; on failure
 * g is freed. */
int  ctt_model_new(struct ctt_graph *g, struct ctt_model **out);
void ctt_model_free(struct ctt_model **m);
int  ctt_model_copy(const struct ctt_model *m, struct ctt_model **out);

/* Replaces the labels of m by copies of these. */
int  ctt_model_labels(struct ctt_model *m, char *const *label, int labels);

/* The k-th weight of a node: its name in files ("w", "b", "gamma", ...), NULL
 * if there is none; its full name ("c1.w"); its shape in files: 5 dimensions
 * (out, kd, kh, kw, in) for a kernel, else 1.  Returns the number of
 * dimensions. */
enum { CTT_WEIGHT_NAME = CTT_NAME + 8 };
const char *ctt_weight_name(const struct ctt_node *n, int k);
void ctt_weight_title(const struct ctt_node *n, int k,
                      char title[CTT_WEIGHT_NAME]);
int  ctt_weight_shape(const struct ctt_node *n, int k, int64_t dim[5]);

/* The number of weights of all nodes: the lines of a file's index. */
int  ctt_weight_count(const struct ctt_graph *g);

/* The k-th weight of a node, as floats with a mask if some are pruned; and all
 * weights in the order of the index, an array that the caller frees.  Both
 * point into m. */
struct ctt_weight ctt_model_weight(const struct ctt_model *m,
                                   const struct ctt_node *n, int k);
int  ctt_model_weights(const struct ctt_model *m, struct ctt_weight **out);

/* CTT_ENAN, and a message that names the weight, if one is not finite or if the
 * variance of a batch norm is negative. */
int  ctt_model_finite(const struct ctt_model *m);

/* Makes the weights satisfy the constraint: pruned ones become 0, those that
 * share a value the mean of what they were. */
void ctt_model_hold(struct ctt_model *m);

/* The number of parameters that are not pruned. */
int64_t ctt_model_params(const struct ctt_model *m);

/* Reads a model file; with_train: with its /train section, if there is one.
 * CTT_EFORMAT if it is damaged or not a model, CTT_EUNSUP if it needs a newer
 * convtt, CTT_EIO if it cannot be read; every message names the file. */
int  ctt_model_load(const char *path, int with_train, struct ctt_model **out);

/* The same from the bytes of a file, p[size]; path is used in messages. */
int  ctt_model_load_image(const char *path, const uint8_t *p, int64_t size,
                          int with_train, struct ctt_model **out);

/* Writes a model file under a temporary name and renames it, so that path is at
 * any time the complete old file or the complete new one.  Before that, the
 * bytes to be written are loaded and compared with m: CTT_EIO unless they are
 * the same.  A decision that was not calibrated for this very model is not
 * written. */
int  ctt_model_save(const char *path, const struct ctt_model *m);

/* The same to a new file that is open, which the caller finishes or drops. */
struct ctt_newfile;
int  ctt_model_put(struct ctt_newfile *f, const struct ctt_model *m);

/* How a file stores one weight, for reports. */
struct ctt_stored {
    char    name[CTT_WEIGHT_NAME];  /* "c1.w" */
    char    positions[16], values[16], bytes[16];    /* its codings */
    int64_t params, kept, size;     /* elements, those not pruned, bytes */
};

/* Reads and checks the whole file: an array of *count weights, which the caller
 * frees with ctt_free, and the size of the file. */
int  ctt_model_stored(const char *path, struct ctt_stored **out, int *count,
                      int64_t *file_bytes);

/* The /train section in memory.  add copies count elements of `size` bytes;
 * data NULL: zeros; CTT_EINVAL for an illegal or repeated name or another size.
 * take takes *data as it is, and sets it to NULL; after an error it is still
 * the caller's.  find returns NULL if there is no such array. */
int  ctt_state_new(struct ctt_state **out);
void ctt_state_free(struct ctt_state **s);
int  ctt_state_add(struct ctt_state *s, const char *name, int size,
                   int64_t count, const void *data);
int  ctt_state_take(struct ctt_state *s, const char *name, int size,
                    int64_t count, void **data);
const struct ctt_array *ctt_state_find(const struct ctt_state *s,
                                       const char *name);

#endif
