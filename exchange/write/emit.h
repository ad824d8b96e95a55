/* SPDX-License-Identifier: Apache-2.0
 * emit.h: a graph of ONNX while it is built, node by node, and its file.
 *
 * A failed allocation is kept in rc of the parts and found at the end.  Names
 * of values are those of the model's nodes; what is between them has names that
 * no node can have, with a slash. */
#ifndef CTT_EMIT_H
#define CTT_EMIT_H

#include "exchange/exchange.h"
#include "exchange/write/proto.h"

enum { CTT_EMIT_OPSET = 17, CTT_EMIT_IR = 8 };

/* Data types of ONNX. */
enum ctt_emit_type {
    CTT_EMIT_FLOAT = 1, CTT_EMIT_UINT8 = 2, CTT_EMIT_INT8 = 3,
    CTT_EMIT_INT64 = 7, CTT_EMIT_BOOL = 9, CTT_EMIT_FLOAT16 = 10
};

enum { CTT_EMIT_RANK = 5, CTT_EMIT_NAME = CTT_NAME + 16 };

struct ctt_emit_name { char s[CTT_EMIT_NAME]; };

/* An initialiser: bytes of the pool, or, if w is not NULL, a weight of the
 * model, which is converted while it is written: out rows of taps x in numbers
 * become out x in x taps (in_first: in x out x taps). */
struct ctt_emit_tensor {
    struct ctt_emit_name name;
    enum ctt_emit_type   type;
    int                  rank;
    int64_t              dim[CTT_EMIT_RANK];
    int64_t              at;       /* in the pool */
    int64_t              bytes;
    const float         *w;
    int64_t              out, taps, in;
    int                  in_first;
};

struct ctt_emit {
    const struct ctt_model  *m;
    const struct ctt_export *set;
    struct ctt_proto         node;     /* the one that is open */
    struct ctt_proto         nodes, inputs, outputs, properties, pool;
    struct ctt_emit_tensor  *tensor;
    int                      tensors, room;
    int                      temps;    /* names given */
    int                      volume[2];    /* 1: values have a depth, before and
                                              after clip */
    const char              *needed;   /* 1: the answer depends on the node */
    struct ctt_emit_past    *past;     /* past.h; one per node */
    int                      rc;
};

/* ---- emit.c: values and nodes ---- */

/* The name of a value between nodes. */
struct ctt_emit_name ctt_emit_temp(struct ctt_emit *x);

/* Begins a node of that kind with its result and inputs, names ended by NULL;
 * attributes and further results are then added to it. */
void ctt_emit_op(struct ctt_emit *x, const char *kind, const char *out, ...)
    __attribute__((sentinel));
void ctt_emit_in(struct ctt_emit *x, const char *in);
void ctt_emit_out(struct ctt_emit *x, const char *out);
void ctt_emit_int(struct ctt_emit *x, const char *name, int64_t v);
void ctt_emit_ints(struct ctt_emit *x, const char *name, const int64_t *v,
                   int n);
void ctt_emit_real(struct ctt_emit *x, const char *name, float v);
void ctt_emit_word(struct ctt_emit *x, const char *name, const char *v);

/* Inputs and outputs of the graph; a property of the file. */
void ctt_emit_input(struct ctt_emit *x, const char *name,
                    enum ctt_emit_type type, const int64_t *dim, int rank);
void ctt_emit_output(struct ctt_emit *x, const char *name, const int64_t *dim,
                     int rank);
void ctt_emit_property(struct ctt_emit *x, const char *key, const char *text);

/* ---- tensor.c: constants and weights ---- */

/* A constant with the shape of the n numbers (ints), or of dim. */
struct ctt_emit_name ctt_emit_const(struct ctt_emit *x, const int64_t *v,
                                    int n);
struct ctt_emit_name ctt_emit_scalar(struct ctt_emit *x,
                                     enum ctt_emit_type type, float v);

/* The kernel or another weight of a node, as the name of a float value: of
 * a conv of quantised values whole numbers times a step per channel, with
 * --half from fp16.  wide: a vector has the shape 1, c, 1, 1 of a value. */
struct ctt_emit_name ctt_emit_kernel(struct ctt_emit *x, int node);
struct ctt_emit_name ctt_emit_vector(struct ctt_emit *x, int node, int k,
                                     int wide);

/* Writes the bytes of an initialiser, t->bytes of them. */
void ctt_emit_tensor_bytes(const struct ctt_emit *x,
                           const struct ctt_emit_tensor *t, uint8_t *to);

/* ---- file.c ---- */

/* Where the bytes of a file go, in their order. */
struct ctt_emit_sink {
    int (*put)(void *arg, const void *p, int64_t n);
    void *arg;
};

/* Writes the finished graph; CTT_EUNSUP if it has 2 GiB or more. */
int  ctt_emit_save(struct ctt_emit *x, const struct ctt_emit_sink *to);

/* ---- export.c ---- */

/* ctt_export_onnx() to somewhere. */
int  ctt_emit_model(const struct ctt_model *m, const struct ctt_export *set,
                    const struct ctt_emit_sink *to);

/* ---- values.c ---- */

/* The name of a node's value in the graph. */
struct ctt_emit_name ctt_emit_value(const struct ctt_emit *x, int node);

/* 1 if the values of that node have an axis of depth: rank 5. */
int  ctt_emit_deep(const struct ctt_emit *x, int node);

/* The shape of a node's value, or of a tensor with an axis of depth or without,
 * with `copies` times its channels; its rank. */
int  ctt_emit_shape_of(const struct ctt_tensor *t, int deep, int64_t copies,
                       int64_t dim[CTT_EMIT_RANK]);
int  ctt_emit_shape(const struct ctt_emit *x, int node, int64_t copies,
                    int64_t dim[CTT_EMIT_RANK]);

/* The values v with a step and a zero as bytes, and back: result `out`. */
void ctt_emit_round(struct ctt_emit *x, const struct ctt_tensor *t,
                    const char *v, const char *out);

/* The numbers of v in another shape; those of an axis of v from .. to - 1, with
 * a stride. */
void ctt_emit_reshape(struct ctt_emit *x, const char *v, const int64_t *dim,
                      int rank, const char *out);
void ctt_emit_slice(struct ctt_emit *x, const char *v, int axis, int64_t from,
                    int64_t to, int64_t every, const char *out);

/* ---- ops.c ---- */

/* Adds the nodes of ONNX that compute a node; CTT_EUNSUP with the reason. */
int  ctt_emit_node(struct ctt_emit *x, int node);

#endif
