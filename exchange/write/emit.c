/* SPDX-License-Identifier: Apache-2.0
 * emit.c: nodes, attributes, inputs and outputs of an ONNX graph.  Numbers of
 * fields are those of onnx.proto. */
#include "exchange/write/emit.h"

#include <stdarg.h>
#include <stdio.h>

enum { NODE_IN = 1, NODE_OUT = 2, NODE_KIND = 4, NODE_ATTRIBUTE = 5 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_INT = 3,
       ATTRIBUTE_TEXT = 4, ATTRIBUTE_INTS = 8, ATTRIBUTE_TYPE = 20 };
enum { KIND_FLOAT = 1, KIND_INT = 2, KIND_TEXT = 3, KIND_INTS = 7 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TYPE_TENSOR = 1, TENSOR_ELEMENT = 1,
       TENSOR_SHAPE = 2, SHAPE_DIM = 1, DIM_VALUE = 1 };
enum { ENTRY_KEY = 1, ENTRY_TEXT = 2 };
enum { GRAPH_NODE = 1, GRAPH_IN = 11, GRAPH_OUT = 12, MODEL_PROPERTY = 14 };

struct ctt_emit_name ctt_emit_temp(struct ctt_emit *x)
{
    struct ctt_emit_name name;

    snprintf(name.s, sizeof(name.s), "/%d", ++x->temps);
    return name;
}

/* The open node is complete. */
static void close_node(struct ctt_emit *x)
{
    if (x->node.n)
        ctt_proto_message(&x->nodes, GRAPH_NODE, &x->node);
    x->node.n = 0;
}

void ctt_emit_op(struct ctt_emit *x, const char *kind, const char *out, ...)
{
    const char *in;
    va_list ap;

    close_node(x);
    va_start(ap, out);
    while ((in = va_arg(ap, const char *)) != NULL)
        ctt_emit_in(x, in);
    va_end(ap);
    ctt_emit_out(x, out);
    ctt_proto_text(&x->node, NODE_KIND, kind);
}

void ctt_emit_in(struct ctt_emit *x, const char *in)
{
    ctt_proto_text(&x->node, NODE_IN, in);
}

void ctt_emit_out(struct ctt_emit *x, const char *out)
{
    ctt_proto_text(&x->node, NODE_OUT, out);
}

/* ---- attributes ---- */

static struct ctt_proto attribute(const char *name, int kind)
{
    struct ctt_proto a = { NULL, 0, 0, 0 };

    ctt_proto_text(&a, ATTRIBUTE_NAME, name);
    ctt_proto_int(&a, ATTRIBUTE_TYPE, kind);
    return a;
}

static void add_attribute(struct ctt_emit *x, struct ctt_proto *a)
{
    ctt_proto_message(&x->node, NODE_ATTRIBUTE, a);
    ctt_proto_free(a);
}

void ctt_emit_int(struct ctt_emit *x, const char *name, int64_t v)
{
    struct ctt_proto a = attribute(name, KIND_INT);

    ctt_proto_int(&a, ATTRIBUTE_INT, v);
    add_attribute(x, &a);
}

void ctt_emit_ints(struct ctt_emit *x, const char *name, const int64_t *v,
                   int n)
{
    struct ctt_proto a = attribute(name, KIND_INTS);

    for (int i = 0; i < n; i++)
        ctt_proto_int(&a, ATTRIBUTE_INTS, v[i]);
    add_attribute(x, &a);
}

void ctt_emit_real(struct ctt_emit *x, const char *name, float v)
{
    struct ctt_proto a = attribute(name, KIND_FLOAT);

    ctt_proto_float(&a, ATTRIBUTE_FLOAT, v);
    add_attribute(x, &a);
}

void ctt_emit_word(struct ctt_emit *x, const char *name, const char *v)
{
    struct ctt_proto a = attribute(name, KIND_TEXT);

    ctt_proto_text(&a, ATTRIBUTE_TEXT, v);
    add_attribute(x, &a);
}

/* ---- inputs, outputs, properties ---- */

/* The parts of the graph are messages of their own until it is complete: each
 * is wrapped into the one around it. */
static void wrap(struct ctt_proto *inner, int field)
{
    struct ctt_proto outer = { NULL, 0, 0, 0 };

    ctt_proto_message(&outer, field, inner);
    ctt_proto_free(inner);
    *inner = outer;
}

static void add_value(struct ctt_proto *to, int field, const char *name,
                      enum ctt_emit_type type, const int64_t *dim, int rank)
{
    struct ctt_proto v = { NULL, 0, 0, 0 }, t = v, shape = v;

    for (int i = 0; i < rank; i++) {
        struct ctt_proto d = { NULL, 0, 0, 0 };

        ctt_proto_int(&d, DIM_VALUE, dim[i]);
        wrap(&d, SHAPE_DIM);
        ctt_proto_add(&shape, d.p, d.n);
        ctt_proto_free(&d);
    }
    ctt_proto_int(&t, TENSOR_ELEMENT, type);
    ctt_proto_message(&t, TENSOR_SHAPE, &shape);
    wrap(&t, TYPE_TENSOR);
    ctt_proto_text(&v, VALUE_NAME, name);
    ctt_proto_message(&v, VALUE_TYPE, &t);
    ctt_proto_message(to, field, &v);
    ctt_proto_free(&shape);
    ctt_proto_free(&t);
    ctt_proto_free(&v);
}

void ctt_emit_input(struct ctt_emit *x, const char *name,
                    enum ctt_emit_type type, const int64_t *dim, int rank)
{
    add_value(&x->inputs, GRAPH_IN, name, type, dim, rank);
}

void ctt_emit_output(struct ctt_emit *x, const char *name, const int64_t *dim,
                     int rank)
{
    close_node(x);
    add_value(&x->outputs, GRAPH_OUT, name, CTT_EMIT_FLOAT, dim, rank);
}

void ctt_emit_property(struct ctt_emit *x, const char *key, const char *text)
{
    struct ctt_proto entry = { NULL, 0, 0, 0 };

    ctt_proto_text(&entry, ENTRY_KEY, key);
    ctt_proto_text(&entry, ENTRY_TEXT, text);
    ctt_proto_message(&x->properties, MODEL_PROPERTY, &entry);
    ctt_proto_free(&entry);
}
