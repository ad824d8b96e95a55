/* SPDX-License-Identifier: Apache-2.0
 * fold.c: which nodes are computed at once, as they depend on constants and
 * shapes alone. */
#include "exchange/onnx/fold.h"

#include <string.h>

/* attrs: the attributes that f knows; NULL: none. */
static const struct fold {
    const char  *op;
    ctt_fold_fn *f;
    const char  *attrs;
} folds[] = {
    { "Abs", ctt_fold_unary, NULL },
    { "Add", ctt_fold_binary, NULL },
    { "And", ctt_fold_binary, NULL },
    { "Cast", ctt_fold_cast, "round_mode saturate to" },
    { "Ceil", ctt_fold_unary, NULL },
    { "Concat", ctt_fold_concat, "axis" },
    { "Constant", ctt_fold_constant,
      "value value_float value_floats value_int value_ints" },
    { "ConstantOfShape", ctt_fold_fill, "value" },
    { "DequantizeLinear", ctt_fold_dequantize, "axis" },
    { "Div", ctt_fold_binary, NULL },
    { "Equal", ctt_fold_binary, NULL },
    { "Erf", ctt_fold_unary, NULL },
    { "Exp", ctt_fold_unary, NULL },
    { "Expand", ctt_fold_expand, NULL },
    { "Flatten", ctt_fold_reshape, "axis" },
    { "Floor", ctt_fold_unary, NULL },
    { "Gather", ctt_fold_gather, "axis" },
    { "Greater", ctt_fold_binary, NULL },
    { "GreaterOrEqual", ctt_fold_binary, NULL },
    { "Identity", ctt_fold_same, NULL },
    { "Less", ctt_fold_binary, NULL },
    { "LessOrEqual", ctt_fold_binary, NULL },
    { "Log", ctt_fold_unary, NULL },
    { "Max", ctt_fold_binary, NULL },
    { "Min", ctt_fold_binary, NULL },
    { "Mod", ctt_fold_binary, "fmod" },
    { "Mul", ctt_fold_binary, NULL },
    { "Neg", ctt_fold_unary, NULL },
    { "Not", ctt_fold_unary, NULL },
    { "Or", ctt_fold_binary, NULL },
    { "Pow", ctt_fold_binary, NULL },
    { "Range", ctt_fold_range_of, NULL },
    { "Reciprocal", ctt_fold_unary, NULL },
    { "ReduceMax", ctt_fold_reduce, "axes keepdims noop_with_empty_axes" },
    { "ReduceMin", ctt_fold_reduce, "axes keepdims noop_with_empty_axes" },
    { "ReduceProd", ctt_fold_reduce, "axes keepdims noop_with_empty_axes" },
    { "ReduceSum", ctt_fold_reduce, "axes keepdims noop_with_empty_axes" },
    { "Reshape", ctt_fold_reshape, "allowzero" },
    { "Shape", ctt_fold_shape, "end start" },
    { "Size", ctt_fold_size, NULL },
    { "Slice", ctt_fold_slices, "axes ends starts" },
    { "Split", ctt_fold_parts, "axis num_outputs split" },
    { "Sqrt", ctt_fold_unary, NULL },
    { "Squeeze", ctt_fold_reshape, "axes" },
    { "Sub", ctt_fold_binary, NULL },
    { "Transpose", ctt_fold_transpose, "perm" },
    { "Unsqueeze", ctt_fold_reshape, "axes" },
    { "Where", ctt_fold_where, NULL },
};

static const struct fold *find(const char *op)
{
    for (size_t i = 0; i < CTT_LEN(folds); i++)
        if (strcmp(folds[i].op, op) == 0)
            return &folds[i];
    return NULL;
}

int ctt_onnx_foldable(const struct ctt_onnx_node *n)
{
    return !*n->domain && find(n->op) != NULL;
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
    CTT_TRY(ctt_onnx_knows(n, find(n->op)->attrs));
    rc = find(n->op)->f(o, n);
out:
    return rc;
}
