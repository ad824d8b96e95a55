/* SPDX-License-Identifier: Apache-2.0
 * ops.c: the operators that are known: what translates each, or why none does;
 * and the walk over the nodes. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* f NULL: refused, with this reason; like: the result has the shape of the
 * first input, so that nodes behind it can be looked at too.  attrs: the
 * attributes that f knows; NULL: none.  A node with another one is refused. */
static const struct op {
    const char *name;
    ctt_op_fn  *f;
    const char *why, *attrs;
    int         like;
} ops[] = {
    { .name = "Abs", .f = ctt_op_abs, .like = 1 },
    { .name = "Add", .f = ctt_op_add, .attrs = "axis broadcast" },
    { .name = "AveragePool", .f = ctt_op_avg_pool,
      .attrs = "auto_pad dilations kernel_shape "
               "pads strides ceil_mode count_include_pad" },
    { .name = "BatchNormalization", .f = ctt_op_batch_norm, .like = 1,
      .attrs = "epsilon is_test momentum spatial training_mode" },
    { .name = "Cast", .f = ctt_op_cast, .like = 1,
      .attrs = "round_mode saturate to" },
    { .name = "CastLike", .f = ctt_op_cast_like, .like = 1,
      .attrs = "round_mode saturate" },
    { .name = "Clip", .f = ctt_op_clip, .like = 1, .attrs = "max min" },
    { .name = "Concat", .f = ctt_op_concat, .attrs = "axis" },
    { .name = "Conv", .f = ctt_op_conv,
      .attrs = "auto_pad dilations kernel_shape pads strides group" },
    { .name = "ConvTranspose", .f = ctt_op_deconv,
      .attrs = "auto_pad dilations kernel_shape pads "
               "strides group output_padding output_shape" },
    { .name = "DequantizeLinear", .f = ctt_op_dequantize, .like = 1,
      .attrs = "axis" },
    { .name = "DepthToSpace", .f = ctt_op_depth_to_space,
      .attrs = "blocksize mode" },
    { .name = "Div", .f = ctt_op_div, .like = 1, .attrs = "axis broadcast" },
    { .name = "Dropout", .f = ctt_op_dropout, .like = 1,
      .attrs = "is_test ratio seed" },
    { .name = "Expand", .f = ctt_op_expand },
    { .name = "Flatten", .f = ctt_op_reshape, .attrs = "axis" },
    { .name = "Gather", .f = ctt_op_gather, .attrs = "axis" },
    { .name = "Gelu", .f = ctt_op_gelu, .like = 1, .attrs = "approximate" },
    { .name = "Gemm", .f = ctt_op_gemm,
      .attrs = "alpha beta broadcast transA transB" },
    { .name = "GlobalAveragePool", .f = ctt_op_global_avg },
    { .name = "GlobalMaxPool", .f = ctt_op_global_max },
    { .name = "HardSigmoid", .f = ctt_op_hard_sigmoid, .like = 1,
      .attrs = "alpha beta" },
    { .name = "HardSwish", .f = ctt_op_act, .like = 1 },
    { .name = "Identity", .f = ctt_op_same, .like = 1 },
    { .name = "LRN", .f = ctt_op_lrn, .like = 1,
      .attrs = "alpha beta bias size" },
    { .name = "LayerNormalization", .f = ctt_op_layer_norm, .like = 1,
      .attrs = "axis epsilon stash_type" },
    { .name = "LeakyRelu", .f = ctt_op_leaky, .like = 1, .attrs = "alpha" },
    { .name = "LogSoftmax", .f = ctt_op_softmax, .like = 1, .attrs = "axis" },
    { .name = "MatMul", .f = ctt_op_matmul },
    { .name = "Max", .f = ctt_op_max, .like = 1 },
    { .name = "MaxPool", .f = ctt_op_max_pool,
      .attrs = "auto_pad dilations kernel_shape "
               "pads strides ceil_mode storage_order" },
    { .name = "Min", .f = ctt_op_min, .like = 1 },
    { .name = "Mul", .f = ctt_op_mul, .attrs = "axis broadcast" },
    { .name = "Neg", .f = ctt_op_neg, .like = 1 },
    { .name = "PRelu", .f = ctt_op_prelu, .like = 1 },
    { .name = "Pad", .f = ctt_op_pad, .attrs = "mode pads value" },
    { .name = "QuantizeLinear", .f = ctt_op_quantize, .like = 1,
      .attrs = "axis saturate" },
    { .name = "ReduceMax", .f = ctt_op_reduce_max,
      .attrs = "axes keepdims noop_with_empty_axes" },
    { .name = "ReduceMean", .f = ctt_op_reduce_mean,
      .attrs = "axes keepdims noop_with_empty_axes" },
    { .name = "ReduceMin", .f = ctt_op_reduce_min,
      .attrs = "axes keepdims noop_with_empty_axes" },
    { .name = "ReduceSum", .f = ctt_op_reduce_sum,
      .attrs = "axes keepdims noop_with_empty_axes" },
    { .name = "Relu", .f = ctt_op_act, .like = 1 },
    { .name = "Reshape", .f = ctt_op_reshape, .attrs = "allowzero" },
    { .name = "Resize", .f = ctt_op_resize,
      .attrs = "antialias axes coordinate_transformation_mode cubic_coeff_a "
               "exclude_outside extrapolation_value "
               "keep_aspect_ratio_policy mode nearest_mode" },
    { .name = "Sigmoid", .f = ctt_op_act, .like = 1 },
    { .name = "Slice", .f = ctt_op_slice, .attrs = "axes ends starts" },
    { .name = "Softmax", .f = ctt_op_softmax, .like = 1, .attrs = "axis" },
    { .name = "SpaceToDepth", .f = ctt_op_space_to_depth,
      .attrs = "blocksize mode" },
    { .name = "Split", .f = ctt_op_split, .attrs = "axis num_outputs split" },
    { .name = "Squeeze", .f = ctt_op_reshape, .attrs = "axes" },
    { .name = "Sub", .f = ctt_op_sub, .attrs = "axis broadcast" },
    { .name = "Sum", .f = ctt_op_add },
    { .name = "Swish", .f = ctt_op_act, .like = 1, .attrs = "alpha" },
    { .name = "Tanh", .f = ctt_op_act, .like = 1 },
    { .name = "Transpose", .f = ctt_op_transpose, .attrs = "perm" },
    { .name = "Unsqueeze", .f = ctt_op_reshape, .attrs = "axes" },
    { .name = "Upsample", .f = ctt_op_upsample, .attrs = "mode scales" },
    { .name = "GRU", .why = "only cells over frames are known: convtt's lstm "
      "and convlstm" },
    { .name = "If", .why = "a branch that depends on values" },
    { .name = "InstanceNormalization", .why = "statistics of each image while "
      "it runs", .like = 1 },
    { .name = "LSTM", .why = "a sequence inside one answer; convtt's lstm goes "
      "over frames" },
    { .name = "Loop", .why = "a loop inside one answer" },
    { .name = "Pow", .why = "a power of values", .like = 1 },
    { .name = "Sqrt", .why = "a root of values", .like = 1 },
    { .name = "Scan", .why = "a loop inside one answer" },
};

static const struct op *find(const struct ctt_onnx_node *n)
{
    for (size_t i = 0; i < CTT_LEN(ops) && !*n->domain; i++)
        if (strcmp(ops[i].name, n->op) == 0)
            return &ops[i];
    return NULL;
}

/* ---- what cannot be imported ---- */

static int note_fault(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      const char *reason)
{
    struct ctt_onnx_fault *more;
    int room = o->fault_room;

    if (o->faults == room) {
        room = room ? 2 * room : 32;
        more = ctt_arena_take(&o->arena, room, sizeof(*more));
        if (!more)
            return CTT_ENOMEM;
        if (o->faults)
            memcpy(more, o->fault, (size_t)o->faults * sizeof(*more));
        o->fault = more;
        o->fault_room = room;
    }
    reason = ctt_arena_text(&o->arena, reason, strlen(reason));
    if (!reason)
        return CTT_ENOMEM;
    o->fault[o->faults++] = (struct ctt_onnx_fault){ n->name, n->op, reason };
    return 0;
}

/* Notes a node that cannot be imported, with the message of the last error as
 * the reason. */
static int blame_node(struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    return note_fault(o, n, ctt_errmsg());
}

/* Sizes that the file says of a value, or those of another one. */
static int size_known(const struct ctt_onnx_value *v,
                      const struct ctt_onnx_value *like, int *rank,
                      int64_t *dim)
{
    int known = v->said && v->rank > 0;

    for (int a = 0; a < v->rank && known; a++) {
        dim[a] = v->dim[a] < 0 && a == 0 ? 1 : v->dim[a];
        known = dim[a] > 0 && dim[a] <= CTT_MAX_SIZE;
    }
    *rank = v->rank;
    if (!known && like && like->known == CTT_ONNX_LIVE) {
        *rank = like->t.rank;
        memcpy(dim, like->t.dim, sizeof(like->t.dim));
        known = 1;
    }
    return known;
}

/* A result that cannot be computed stands in for itself where its shape is
 * known, so that the nodes behind it can be looked at. */
static int set_lost(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                    const struct op *op)
{
    static const int dims[] = { CTT_IN_N, CTT_IN_C, CTT_IN_D, CTT_IN_H,
                                CTT_IN_W };
    const struct ctt_onnx_value *like = op && op->like ?
                                        ctt_onnx_in(o, n, 0) : NULL;
    int in[CTT_ONNX_RANK], rank, rc = 0, line;
    int64_t dim[CTT_ONNX_RANK], size[CTT_IN_DIMS] = { 1, 1, 1, 1, 1 };
    struct ctt_onnx_place *p;

    for (int k = 0; k < n->nout; k++) {
        struct ctt_onnx_value *v = n->out[k] < 0 ? NULL : &o->value[n->out[k]];

        if (!v || v->known != CTT_ONNX_NEW || !v->readers)
            continue;
        v->known = CTT_ONNX_LOST;
        if (!size_known(v, like, &rank, dim) || rank > 5)
            continue;
        for (int a = 0; a < rank; a++) {
            in[a] = a < 2 ? dims[a] : CTT_IN_W - (rank - 1 - a);
            if (in[a] != CTT_IN_N)
                size[in[a]] = dim[a];
        }
        CTT_TRY(ctt_onnx_emit(o, "input", 0, NULL, size, &line));
        CTT_TRY(ctt_place_new(o, line, rank, dim, in, &p));
        CTT_TRY(ctt_op_set(o, n, k, rank, dim, p));
    }
out:
    return rc;
}

/* ---- one node ---- */

static int reads_lost(const struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    for (int k = 0; k < n->nin; k++) {
        const struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);

        if (v && (v->known == CTT_ONNX_LOST || v->known == CTT_ONNX_NEW))
            return 1;
    }
    return 0;
}

static int refuse(const struct ctt_onnx_node *n, const struct op *op)
{
    if (op)
        return ctt_error(CTT_EUNSUP, "%s", op->why);
    if (*n->domain)
        return ctt_error(CTT_EUNSUP, "an operator of '%s'", n->domain);
    return ctt_error(CTT_EUNSUP, "no such operator is known here");
}

/* Errors that no shape can mend. */
static int refuse_lost(const struct ctt_onnx *o, const struct ctt_onnx_node *n)
{
    int first = ctt_onnx_constant(o, n, 0) != NULL;
    int second = ctt_onnx_constant(o, n, 1) != NULL, rc = 0;

    CTT_CHECK(strcmp(n->op, "MatMul") != 0 || first || second, CTT_EUNSUP,
              "a product of two values (attention)");
    CTT_CHECK(strcmp(n->op, "Div") != 0 || second, CTT_EUNSUP, "a division by "
              "a value");
out:
    return rc;
}

static int translate(struct ctt_onnx *o, struct ctt_onnx_node *n,
                     const struct op *op)
{
    int rc;

    if (ctt_onnx_folds(o, n))
        return ctt_onnx_fold(o, n);
    if (!op && ctt_onnx_foldable(n) && reads_lost(o, n))
        return 0;
    if (!op || !op->f)
        return refuse(n, op);
    if (reads_lost(o, n))    /* the reason is named where it was lost */
        return refuse_lost(o, n);
    CTT_TRY(ctt_onnx_knows(n, op->attrs));
    rc = op->f(o, n);
out:
    return rc;
}

int ctt_onnx_translate(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct op *op = find(n);
    int rc;

    o->at = n->name;
    rc = translate(o, n, op);
    if (rc == CTT_EUNSUP)
        rc = blame_node(o, n);
    CTT_TRY(rc);
    CTT_TRY(set_lost(o, n, op));
out:
    return rc;
}
