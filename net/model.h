/* SPDX-License-Identifier: Apache-2.0
 * model.h: a model in memory: its graph, weights, labels, history and training
 * state. */
#ifndef CTT_MODEL_H
#define CTT_MODEL_H

#include "net/constraint.h"
#include "net/graph.h"
#include "net/weight.h"

/* A named array of the /train section. */
struct ctt_array {
    char    name[CTT_NAME];
    int     size;       /* bytes per element: 1 (u8), 4 (f32), 8 (i64) */
    int64_t count;
    void   *data;
    int     lent;       /* 1: data is another's */
};

/* The training state: with it, a resumed run continues as if it had not been
 * interrupted.  Only libtrain interprets the arrays. */
struct ctt_state {
    char             *settings;    /* text, one name=value per line, or NULL */
    struct ctt_array *array;
    int               count, room;
};

/* A model; owns everything that it points to. */
struct ctt_model {
    struct ctt_graph *g;       /* sealed */
    char            **label;   /* names of the classes, one block; or NULL */
    int               labels;
    float            *w;       /* flat block of g->weights floats */
    struct ctt_constraint constraint;    /* on these weights */
    char             *history; /* text, one line per stage of training or
                                  compression, or NULL */
    char             *decision; /* early decisions: the text of
                                  net/file/decision.h, or NULL.  Copies and
                                  edits of the model have none */
    struct ctt_state *train;   /* NULL: none */
    struct ctt_lates *late;    /* weights that are not in w but in the file
                                  (late.h), or NULL */
    int64_t           untouched;    /* bytes of w that are theirs */
};

/* A weight of this shape stays in the file: its part of w does not count as
 * memory. */
void ctt_model_leaves(struct ctt_model *m, const struct ctt_tensor *t);

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

/* CTT_ENAN, with a message that names the weight, if a number is not finite or
 * the variance of a batch norm is negative. */
int  ctt_model_finite(const struct ctt_model *m);

/* 1 if n floats are all finite. */
int  ctt_all_finite(const float *w, int64_t n);

/* Makes the weights satisfy the constraint: pruned ones become 0, those that
 * share a value get the mean of their values. */
void ctt_model_hold(struct ctt_model *m);

/* The number of parameters that are not pruned. */
int64_t ctt_model_params(const struct ctt_model *m);

/* The /train section in memory.  add copies count elements of `size` bytes;
 * data NULL: zeros; CTT_EINVAL for an illegal or repeated name or another size.
 * lend adds the caller's own data, which must stay.  find returns NULL if there
 * is no array of that name. */
int  ctt_state_new(struct ctt_state **out);
void ctt_state_free(struct ctt_state **s);
int  ctt_state_add(struct ctt_state *s, const char *name, int size,
                   int64_t count, const void *data);
int  ctt_state_lend(struct ctt_state *s, const char *name, int size,
                    int64_t count, const void *data);
const struct ctt_array *ctt_state_find(const struct ctt_state *s,
                                       const char *name);

#endif
