/* SPDX-License-Identifier: Apache-2.0
 * values.c: the values of a model in a graph of ONNX: names, shapes, parts of
 * them, bytes.  They have channels first: 1, c, [d,] h, w. */
#include "exchange/write/emit.h"

#include <stdio.h>

static int after_clip(const struct ctt_emit *x, int node)
{
    return node >= x->m->g->clip;
}

int ctt_emit_deep(const struct ctt_emit *x, int node)
{
    return x->volume[after_clip(x, node)];
}

/* The answer, and frames among values with a depth, have another shape outside
 * of the graph. */
struct ctt_emit_name ctt_emit_value(const struct ctt_emit *x, int node)
{
    const struct ctt_graph *g = x->m->g;
    const struct ctt_node *n = &g->node[node];
    int other = n->op == CTT_OP_INPUT ? ctt_emit_deep(x, node) &&
                n->out.d == 1 : node == ctt_graph_output(g);
    struct ctt_emit_name name;

    snprintf(name.s, sizeof(name.s), "%s%s", n->name, other ? "/value" : "");
    return name;
}

int ctt_emit_shape_of(const struct ctt_tensor *t, int deep, int64_t copies,
                      int64_t dim[CTT_EMIT_RANK])
{
    int64_t *d = dim;

    *d++ = 1;
    *d++ = t->c * copies;
    if (deep)
        *d++ = t->d;
    *d++ = t->h;
    *d++ = t->w;
    return (int)(d - dim);
}

int ctt_emit_shape(const struct ctt_emit *x, int node, int64_t copies,
                   int64_t dim[CTT_EMIT_RANK])
{
    return ctt_emit_shape_of(&x->m->g->node[node].out, ctt_emit_deep(x, node),
                             copies, dim);
}

void ctt_emit_slice(struct ctt_emit *x, const char *v, int axis, int64_t from,
                    int64_t to, int64_t every, const char *out)
{
    struct ctt_emit_name a = ctt_emit_const(x, &from, 1);
    struct ctt_emit_name b = ctt_emit_const(x, &to, 1);
    struct ctt_emit_name c = ctt_emit_const(x, (int64_t[]){ axis }, 1);
    struct ctt_emit_name d = ctt_emit_const(x, &every, 1);

    ctt_emit_op(x, "Slice", out, v, a.s, b.s, c.s, d.s, NULL);
}

void ctt_emit_reshape(struct ctt_emit *x, const char *v, const int64_t *dim,
                      int rank, const char *out)
{
    struct ctt_emit_name shape = ctt_emit_const(x, dim, rank);

    ctt_emit_op(x, "Reshape", out, v, shape.s, NULL);
}

/* A byte u stands for (u - zero) scale.  TensorRT knows signed bytes around 0:
 * where the model's are not centred, a step is wider, so that all fit. */
void ctt_emit_round(struct ctt_emit *x, const struct ctt_tensor *t,
                    const char *v, const char *out)
{
    enum { HALF = 128, MOST = 127 };
    int rt = x->set->target == CTT_EXPORT_TENSORRT;
    int most = t->zero > 255 - t->zero ? t->zero : 255 - t->zero;
    float wide = t->zero == HALF ? 1 : (float)most / MOST;
    struct ctt_emit_name step = ctt_emit_scalar(x, CTT_EMIT_FLOAT, t->scale *
                                                (rt ? wide : 1));
    struct ctt_emit_name zero = ctt_emit_scalar(
        x, rt ? CTT_EMIT_INT8 : CTT_EMIT_UINT8, rt ? 0 : (float)t->zero);
    struct ctt_emit_name bytes = ctt_emit_temp(x);

    ctt_emit_op(x, "QuantizeLinear", bytes.s, v, step.s, zero.s, NULL);
    ctt_emit_op(x, "DequantizeLinear", out, bytes.s, step.s, zero.s, NULL);
}
