/* SPDX-License-Identifier: Apache-2.0
 * tensor.c: constants and weights of an ONNX graph: initialisers.  A weight is
 * converted only while the file is written, so that no second copy of all is in
 * memory. */
#include "exchange/write/emit.h"
#include "base/byte.h"
#include "net/op.h"
#include "net/quant.h"

#include <stdio.h>
#include <string.h>

static int64_t type_size(enum ctt_emit_type type)
{
    switch (type) {
    case CTT_EMIT_FLOAT:   return 4;
    case CTT_EMIT_FLOAT16: return 2;
    case CTT_EMIT_INT64:   return 8;
    case CTT_EMIT_UINT8:
    case CTT_EMIT_INT8:
    case CTT_EMIT_BOOL:    return 1;
    }
    return 0;
}

/* A new initialiser of that shape; the last place if memory is short, which rc
 * then says. */
static struct ctt_emit_tensor *new_tensor(struct ctt_emit *x,
                                          enum ctt_emit_type type,
                                          const int64_t *dim, int rank)
{
    static struct ctt_emit_tensor none;
    struct ctt_emit_tensor *t = ctt_grown(x->tensor, &x->room, x->tensors,
                                          sizeof(*t));

    if (!t)
        x->rc = CTT_ENOMEM;
    x->tensor = t ? t : x->tensor;
    t = t ? t + x->tensors++ : &none;
    *t = (struct ctt_emit_tensor){ .type = type, .rank = rank,
                                   .at = x->pool.n, .bytes = type_size(type) };
    for (int i = 0; i < rank; i++)
        t->bytes *= t->dim[i] = dim[i];
    return t;
}

/* ---- constants ---- */

/* Numbers in the file are little-endian. */
static void add_number(struct ctt_proto *to, uint64_t bits, int size)
{
    uint8_t byte[8];

    for (int i = 0; i < size; i++)
        byte[i] = (uint8_t)(bits >> 8 * i);
    ctt_proto_add(to, byte, size);
}

static uint64_t float_bits(float v)
{
    uint32_t u;

    memcpy(&u, &v, sizeof(u));
    return u;
}

struct ctt_emit_name ctt_emit_const(struct ctt_emit *x, const int64_t *v,
                                    int n)
{
    struct ctt_emit_name name = ctt_emit_temp(x);

    new_tensor(x, CTT_EMIT_INT64, (int64_t[]){ n }, 1)->name = name;
    for (int i = 0; i < n; i++)
        add_number(&x->pool, (uint64_t)v[i], 8);
    return name;
}

struct ctt_emit_name ctt_emit_scalar(struct ctt_emit *x,
                                     enum ctt_emit_type type, float v)
{
    struct ctt_emit_name name = ctt_emit_temp(x);

    new_tensor(x, type, NULL, 0)->name = name;
    if (type == CTT_EMIT_FLOAT)
        add_number(&x->pool, float_bits(v), 4);
    else
        add_number(&x->pool, (uint64_t)(int64_t)v, (int)type_size(type));
    return name;
}

/* ---- weights ---- */

/* end: of what the weight is made, or "". */
static struct ctt_emit_name weight_name(const struct ctt_node *n, int k,
                                        const char *end)
{
    struct ctt_emit_name name;

    snprintf(name.s, sizeof(name.s), "%.*s/%.8s%.6s", CTT_NAME - 1, n->name,
             ctt_weight_name(n, k), end);
    return name;
}

/* The weight as floats in the graph, from fp16 with --half. */
static struct ctt_emit_name put_weight(struct ctt_emit *x,
                                       struct ctt_emit_tensor *t,
                                       const struct ctt_node *n, int k)
{
    struct ctt_emit_name name = weight_name(n, k, "");

    t->name = name;
    if (t->type != CTT_EMIT_FLOAT16)
        return name;
    t->name = weight_name(n, k, "/half");
    ctt_emit_op(x, "Cast", name.s, t->name.s, NULL);
    ctt_emit_int(x, "to", CTT_EMIT_FLOAT);
    return name;
}

static enum ctt_emit_type float_type(const struct ctt_emit *x)
{
    return x->set->half ? CTT_EMIT_FLOAT16 : CTT_EMIT_FLOAT;
}

/* The steps of the channels and the whole numbers of the kernel of a conv that
 * reads quantised values.  Their zeros are 0, which ONNX Runtime wants to see:
 * without them its option session.x64quantprecision fails. */
static void put_int8(struct ctt_emit *x, int node, const char *whole,
                     const char *out)
{
    const struct ctt_node *n = &x->m->g->node[node];
    const struct ctt_tensor *w = &n->w[0];
    struct ctt_emit_name step = weight_name(n, 0, "/step");
    struct ctt_emit_name zero = weight_name(n, 0, "/zero");
    int64_t each = ctt_volume(w) / w->n;
    float scale;

    new_tensor(x, CTT_EMIT_FLOAT, &w->n, 1)->name = step;
    for (int64_t o = 0; o < w->n; o++) {
        ctt_quant_weights(x->m->w + n->at[0] + o * each, 1, each, NULL,
                          &scale);
        add_number(&x->pool, float_bits(scale), 4);
    }
    new_tensor(x, CTT_EMIT_INT8, &w->n, 1)->name = zero;
    for (int64_t o = 0; o < w->n; o++)
        add_number(&x->pool, 0, 1);
    ctt_emit_op(x, "DequantizeLinear", out, whole, step.s, zero.s, NULL);
    ctt_emit_int(x, "axis", 0);
}

/* The axes of a kernel in the file, of `axes` axes of pixels; their number. */
static int kernel_axes(const struct ctt_node *n, int axes, int64_t dim[5])
{
    int in_first = n->op == CTT_OP_DECONV;
    int64_t ours[5];

    ctt_weight_shape(n, 0, ours);
    dim[in_first] = ours[0];
    dim[!in_first] = ours[4];
    for (int i = 0; i < axes; i++)
        dim[2 + i] = ours[4 - axes + i];
    return 2 + axes;
}

struct ctt_emit_name ctt_emit_kernel(struct ctt_emit *x, int node)
{
    const struct ctt_node *n = &x->m->g->node[node];
    const struct ctt_tensor *w = &n->w[0];
    struct ctt_emit_name name = weight_name(n, 0, "");
    struct ctt_emit_name whole = weight_name(n, 0, "/int8");
    struct ctt_emit_tensor *t;
    int int8 = ctt_is_int8(x->m->g, node);
    int64_t dim[5];

    t = new_tensor(x, int8 ? CTT_EMIT_INT8 : float_type(x), dim,
                   kernel_axes(n, ctt_emit_deep(x, node) ? 3 : 2, dim));
    t->w = x->m->w + n->at[0];
    t->out = w->n;
    t->taps = w->d * w->h * w->w;
    t->in = w->c;
    t->in_first = n->op == CTT_OP_DECONV;
    if (!int8)
        return put_weight(x, t, n, 0);
    t->name = whole;
    put_int8(x, node, whole.s, name.s);
    return name;
}

struct ctt_emit_name ctt_emit_vector(struct ctt_emit *x, int node, int k,
                                     int wide)
{
    const struct ctt_node *n = &x->m->g->node[node];
    int64_t dim[5] = { 1, n->w[k].c, 1, 1, 1 };
    int rank = !wide ? 1 : ctt_emit_deep(x, node) ? 5 : 4;
    struct ctt_emit_tensor *put = new_tensor(x, float_type(x),
                                             wide ? dim : dim + 1, rank);

    put->w = x->m->w + n->at[k];
    put->out = put->taps = 1;
    put->in = n->w[k].c;
    return put_weight(x, put, n, k);
}

/* ---- bytes ---- */

/* The place in the model of number i of the file. */
static int64_t place_of(const struct ctt_emit_tensor *t, int64_t i)
{
    int64_t tap = i % t->taps, j = i / t->taps;
    int64_t o = t->in_first ? j % t->out : j / t->in;
    int64_t c = t->in_first ? j / t->out : j % t->in;

    return (o * t->taps + tap) * t->in + c;
}

static void whole_numbers(const struct ctt_emit_tensor *t, uint8_t *to)
{
    int64_t each = t->taps * t->in;

    for (int64_t o = 0; o < t->out; o++) {
        float scale;

        ctt_quant_weights(t->w + o * each, 1, each, NULL, &scale);
        for (int64_t i = o * each; i < (o + 1) * each; i++)
            to[i] = (uint8_t)(int8_t)ctt_quant_weight(t->w[place_of(t, i)],
                                                      scale);
    }
}

void ctt_emit_tensor_bytes(const struct ctt_emit *x,
                           const struct ctt_emit_tensor *t, uint8_t *to)
{
    int size = (int)type_size(t->type);

    if (!t->w) {
        memcpy(to, x->pool.p + t->at, (size_t)t->bytes);
        return;
    }
    if (t->type == CTT_EMIT_INT8) {
        whole_numbers(t, to);
        return;
    }
    for (int64_t i = 0; i < t->bytes / size; i++, to += size) {
        float v = t->w[place_of(t, i)];
        uint64_t bits = size == 2 ? ctt_f16_of(v) : float_bits(v);

        for (int b = 0; b < size; b++)
            to[b] = (uint8_t)(bits >> 8 * b);
    }
}
