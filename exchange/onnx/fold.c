/* SPDX-License-Identifier: Apache-2.0
 * fold.c: which nodes are computed at once, as they depend on constants and
 * shapes alone. */
#include "exchange/onnx/fold.h"

#include <string.h>

static const struct fold { const char *op; ctt_fold_fn *f; } folds[] = {
    { "Abs", ctt_fold_unary },
    { "Add", ctt_fold_binary },
    { "And", ctt_fold_binary },
    { "Cast", ctt_fold_cast },
    { "Ceil", ctt_fold_unary },
    { "Concat", ctt_fold_concat },
    { "Constant", ctt_fold_constant },
    { "ConstantOfShape", ctt_fold_fill },
    { "Div", ctt_fold_binary },
    { "Equal", ctt_fold_binary },
    { "Erf", ctt_fold_unary },
    { "Exp", ctt_fold_unary },
    { "Expand", ctt_fold_expand },
    { "Flatten", ctt_fold_reshape },
    { "Floor", ctt_fold_unary },
    { "Gather", ctt_fold_gather },
    { "Greater", ctt_fold_binary },
    { "GreaterOrEqual", ctt_fold_binary },
    { "Identity", ctt_fold_same },
    { "Less", ctt_fold_binary },
    { "LessOrEqual", ctt_fold_binary },
    { "Log", ctt_fold_unary },
    { "Max", ctt_fold_binary },
    { "Min", ctt_fold_binary },
    { "Mod", ctt_fold_binary },
    { "Mul", ctt_fold_binary },
    { "Neg", ctt_fold_unary },
    { "Not", ctt_fold_unary },
    { "Or", ctt_fold_binary },
    { "Pow", ctt_fold_binary },
    { "Range", ctt_fold_range_of },
    { "Reciprocal", ctt_fold_unary },
    { "ReduceMax", ctt_fold_reduce },
    { "ReduceMin", ctt_fold_reduce },
    { "ReduceProd", ctt_fold_reduce },
    { "ReduceSum", ctt_fold_reduce },
    { "Reshape", ctt_fold_reshape },
    { "Shape", ctt_fold_shape },
    { "Size", ctt_fold_size },
    { "Slice", ctt_fold_slices },
    { "Split", ctt_fold_parts },
    { "Sqrt", ctt_fold_unary },
    { "Squeeze", ctt_fold_reshape },
    { "Sub", ctt_fold_binary },
    { "Transpose", ctt_fold_transpose },
    { "Unsqueeze", ctt_fold_reshape },
    { "Where", ctt_fold_where },
};

int ctt_fold_in(const struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                const struct ctt_onnx_tensor **out)
{
    const struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);
    int rc = 0;

    CTT_CHECK(v, CTT_EUNSUP, "input %d is missing", k);
    CTT_CHECK(v->known != CTT_ONNX_CONSTANT || ctt_onnx_size(v->t.type),
              CTT_EUNSUP, "'%s' has elements of type %d", v->name, v->t.type);
    *out = &v->t;
out:
    return rc;
}

void ctt_fold_set(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                  const struct ctt_onnx_tensor *t)
{
    if (k >= n->nout || n->out[k] < 0)
        return;
    o->value[n->out[k]].known = CTT_ONNX_CONSTANT;
    o->value[n->out[k]].t = *t;
}

int ctt_fold_strides(const struct ctt_onnx_tensor *x, int rank,
                     const int64_t *dim, int64_t *stride)
{
    int64_t all = 1;
    int rc = 0;

    for (int a = rank - 1; a >= 0; a--) {
        int own = a - (rank - x->rank);
        int64_t size = own >= 0 ? x->dim[own] : 1;

        CTT_CHECK(size == 1 || size == dim[a], CTT_EUNSUP, "a size of %lld "
                  "where %lld is wanted", (long long)size, (long long)dim[a]);
        stride[a] = size == 1 ? 0 : all;
        all *= size;
    }
    CTT_CHECK(x->rank <= rank, CTT_EUNSUP, "%d axes where %d are wanted",
              x->rank, rank);
out:
    return rc;
}

int ctt_fold_broadcast(const struct ctt_onnx_tensor *a,
                       const struct ctt_onnx_tensor *b, int *rank,
                       int64_t *dim)
{
    int rc = 0;

    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < *rank; i++) {
        int j = i - (*rank - a->rank), k = i - (*rank - b->rank);
        int64_t x = j >= 0 ? a->dim[j] : 1, y = k >= 0 ? b->dim[k] : 1;

        CTT_CHECK(x == y || x == 1 || y == 1, CTT_EUNSUP, "shapes with %lld "
                  "and %lld", (long long)x, (long long)y);
        dim[i] = x == 1 ? y : x;
    }
out:
    return rc;
}

static const struct fold *find(const char *op)
{
    for (size_t i = 0; i < CTT_LEN(folds); i++)
        if (strcmp(folds[i].op, op) == 0)
            return &folds[i];
    return NULL;
}

/* A shape is known of every value that is. */
int ctt_onnx_folds(const struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct fold *f = *n->domain ? NULL : find(n->op);

    if (!f)
        return 0;
    for (int k = 0; k < n->nin; k++) {
        const struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);

        if (v && v->known != CTT_ONNX_CONSTANT &&
            !(v->known == CTT_ONNX_LIVE && (f->f == ctt_fold_shape ||
                                            f->f == ctt_fold_size)))
            return 0;
    }
    return 1;
}

int ctt_onnx_fold(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *x;
    int rc = 0;

    for (int k = 0; k < n->nin; k++)
        if (n->in[k] >= 0)
            CTT_TRY(ctt_fold_in(o, n, k, &x));
    rc = find(n->op)->f(o, n);
out:
    return rc;
}
