/* SPDX-License-Identifier: Apache-2.0
 * dnn_graph.cc: simulated cuDNN: the checks when descriptors are finalized, and
 * the operations of a graph. */
#include "tests/sim/dnn.h"

using desc = ctt_sim_desc;

#define FAIL(status, ...)                                               \
    return ctt_sim_dnn_error(CUDNN_STATUS_##status, __VA_ARGS__)
#define TRY(expr)                                                       \
    do {                                                                \
        cudnnStatus_t s_ = (expr);                                      \
        if (s_)                                                         \
            return s_;                                                  \
    } while (0)

static bool is_type(int t)
{
    return t == CUDNN_DATA_FLOAT || t == CUDNN_DATA_HALF ||
           t == CUDNN_DATA_BFLOAT16 || t == CUDNN_DATA_INT8 ||
           t == CUDNN_DATA_INT32;
}

static cudnnStatus_t finalize_tensor(const desc &d)
{
    int64_t n = d.attr.at(CUDNN_ATTR_TENSOR_DIMENSIONS).count;
    int64_t align = d.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    int type = d.get<int>(CUDNN_ATTR_TENSOR_DATA_TYPE);

    if (n < 4 || n != d.attr.at(CUDNN_ATTR_TENSOR_STRIDES).count)
        FAIL(BAD_PARAM_SHAPE_MISMATCH, "a tensor of %d dimensions", (int)n);
    for (size_t i = 0; i < (size_t)n; i++)
        if (d.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, i) < 1 ||
            d.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, i) < 1)
            FAIL(BAD_PARAM_OUT_OF_BOUND, "dimension %d of a tensor", (int)i);
    if (!is_type(type))
        FAIL(BAD_PARAM, "a tensor of type %d", type);
    if (align < ctt_sim_dnn_size(type) || align & (align - 1))
        FAIL(BAD_PARAM, "a tensor aligned to %d bytes", (int)align);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t sliding(const desc &d)
{
    static const struct { int name; int64_t least; } of[] = {
        { CUDNN_ATTR_CONVOLUTION_DILATIONS, 1 },
        { CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1 },
        { CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0 },
        { CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0 },
    };
    int64_t axes = d.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);

    if (axes < 2 || axes > 3 ||
        (d.get<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT &&
         d.get<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_INT32) ||
        d.get<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
            CUDNN_CROSS_CORRELATION)
        FAIL(NOT_SUPPORTED, "a convolution of %d dimensions", (int)axes);
    for (auto &o : of) {
        if (d.attr.at(o.name).count != axes)
            FAIL(BAD_PARAM_SHAPE_MISMATCH, "attribute %d", o.name);
        for (size_t i = 0; i < (size_t)axes; i++)
            if (d.get<int64_t>(o.name, i) < o.least)
                FAIL(BAD_PARAM_OUT_OF_BOUND, "attribute %d", o.name);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ---- operations ---- */

static ctt_sim_tensor tensor_of(const desc &d)
{
    ctt_sim_tensor t = {};
    int n = (int)d.attr.at(CUDNN_ATTR_TENSOR_DIMENSIONS).count;

    t.uid = d.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    t.align = d.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    t.type = d.get<int>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    t.is_virtual = d.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
                   d.get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    t.axes = n - 2;
    t.dim[2] = 1;
    for (int i = 0; i < n; i++) {
        int to = i < 2 ? i : 5 - n + i;
        t.dim[to] = d.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, (size_t)i);
        t.step[to] = d.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, (size_t)i);
    }
    return t;
}

/* The names of the attributes, per operation. */
static const struct way {
    int type, conv, x, y, w, alpha, beta;
} ways[] = {
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

const ctt_sim_tensor &ctt_sim_dnn_op::result() const
{
    if (way == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
        return x;
    return way == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
               ? w : y;
}

/* Whether the size of the small image follows from the large one and the
 * kernel. */
static cudnnStatus_t shapes(const ctt_sim_dnn_op &op, const desc &conv)
{
    int axes = (int)conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);

    if (op.x.axes != axes || op.y.axes != axes || op.w.axes != axes ||
        op.x.dim[0] != op.y.dim[0] || op.x.dim[1] % op.w.dim[1] ||
        op.y.dim[1] != op.w.dim[0] || op.y.dim[1] % op.groups())
        FAIL(BAD_PARAM_SHAPE_MISMATCH, "channels or images of a convolution");
    for (int i = 0; i < 3; i++) {
        int64_t reach = op.dilation[i] * (op.w.dim[2 + i] - 1) + 1;
        int64_t room = op.x.dim[2 + i] + op.pad[i] - reach;
        if (i >= 3 - axes)
            room += conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                                      (size_t)(i - 3 + axes));
        if (room < 0 || room / op.stride[i] + 1 != op.y.dim[2 + i])
            FAIL(BAD_PARAM_SHAPE_MISMATCH, "axis %d of a convolution", i);
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t convolution(desc &d, const struct way &names)
{
    const desc &conv = d.desc(names.conv);
    ctt_sim_dnn_op op = {};
    int axes;

    if (conv.type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR ||
        d.desc(names.x).type != CUDNN_BACKEND_TENSOR_DESCRIPTOR ||
        d.desc(names.y).type != CUDNN_BACKEND_TENSOR_DESCRIPTOR ||
        d.desc(names.w).type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "a convolution's parts");
    op.way = d.type;
    op.x = tensor_of(d.desc(names.x));
    op.y = tensor_of(d.desc(names.y));
    op.w = tensor_of(d.desc(names.w));
    if ((op.x.type == CUDNN_DATA_INT8) != (op.w.type == CUDNN_DATA_INT8) ||
        (op.x.type == CUDNN_DATA_INT8) !=
            (conv.get<int>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) ==
             CUDNN_DATA_INT32))
        FAIL(NOT_SUPPORTED, "a convolution of types that differ");
    op.alpha = d.get<double>(names.alpha);
    op.beta = d.get<double>(names.beta);
    axes = (int)conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    for (int i = 0; i < 3; i++) {
        size_t k = (size_t)(i - 3 + axes);
        bool is = i >= 3 - axes;
        op.stride[i] = !is ? 1 :
            conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, k);
        op.dilation[i] = !is ? 1 :
            conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, k);
        op.pad[i] = !is ? 0 :
            conv.get<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, k);
    }
    TRY(shapes(op, conv));
    d.ops = { op };
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t pointwise(desc &d)
{
    const desc &how = d.desc(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const desc &x = d.desc(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const desc &y = d.desc(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    ctt_sim_dnn_op op = {};

    if (how.type != CUDNN_BACKEND_POINTWISE_DESCRIPTOR ||
        x.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR ||
        y.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "a pointwise operation's parts");
    op.way = d.type;
    op.mode = how.get<int>(CUDNN_ATTR_POINTWISE_MODE);
    op.x = tensor_of(x);
    op.y = tensor_of(y);
    op.has_b = d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    if (op.has_b)
        op.b = tensor_of(d.desc(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    if (op.has_b != (op.mode == CUDNN_POINTWISE_ADD))
        FAIL(BAD_PARAM, "the number of a pointwise operation's inputs");
    for (int i = 0; i < 5; i++)
        if (op.x.dim[i] != op.y.dim[i] ||
            (op.has_b && op.b.dim[i] != 1 && op.b.dim[i] != op.y.dim[i]))
            FAIL(BAD_PARAM_SHAPE_MISMATCH, "axis %d of a pointwise operation",
                 i);
    d.ops = { op };
    return CUDNN_STATUS_SUCCESS;
}

/* ---- graphs ---- */

static bool same_tensor(const ctt_sim_tensor &a, const ctt_sim_tensor &b)
{
    return a.type == b.type && a.is_virtual == b.is_virtual &&
           a.axes == b.axes && !memcmp(a.dim, b.dim, sizeof(a.dim)) &&
           !memcmp(a.step, b.step, sizeof(a.step));
}

static std::vector<ctt_sim_tensor> inputs(const ctt_sim_dnn_op &op)
{
    std::vector<ctt_sim_tensor> in;
    int result = (int)op.result().uid;

    if (op.way == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        in = { op.x };
    else
        for (const ctt_sim_tensor *t : { &op.x, &op.y, &op.w })
            if (t->uid != result)
                in.push_back(*t);
    if (op.has_b)
        in.push_back(op.b);
    return in;
}

/* An id names one tensor; a virtual one is written before it is read. */
static cudnnStatus_t wired(const std::vector<ctt_sim_dnn_op> &ops)
{
    std::map<int64_t, ctt_sim_tensor> known;
    std::set<int64_t> made, used;

    for (const ctt_sim_dnn_op &op : ops) {
        std::vector<ctt_sim_tensor> in = inputs(op), all = in;
        all.push_back(op.result());
        for (const ctt_sim_tensor &t : all) {
            if (known.count(t.uid) && !same_tensor(known[t.uid], t))
                FAIL(BAD_PARAM_DUPLICATED_ENTRIES, "tensor %d", (int)t.uid);
            known[t.uid] = t;
        }
        for (const ctt_sim_tensor &t : in) {
            if (t.is_virtual && !made.count(t.uid))
                FAIL(BAD_PARAM, "virtual tensor %d is made by nobody",
                     (int)t.uid);
            used.insert(t.uid);
        }
        if (!made.insert(op.result().uid).second)
            FAIL(BAD_PARAM, "tensor %d is made twice", (int)op.result().uid);
    }
    for (auto &t : known)
        if (t.second.is_virtual && !used.count(t.first))
            FAIL(BAD_PARAM, "virtual tensor %d is used by nobody",
                 (int)t.first);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize_graph(desc &d)
{
    for (auto &op : d.attr.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descs) {
        if (op->ops.size() != 1)
            FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "an operation of a graph");
        d.ops.push_back(op->ops[0]);
    }
    return wired(d.ops);
}

static cudnnStatus_t finalize_pack(const desc &d)
{
    const ctt_sim_value &ids = d.attr.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    std::set<int64_t> seen;

    if (ids.count != d.attr.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count)
        FAIL(BAD_PARAM, "as many ids as pointers");
    for (size_t i = 0; i < (size_t)ids.count; i++)
        seen.insert(d.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i));
    if ((int64_t)seen.size() != ids.count)
        FAIL(BAD_PARAM_DUPLICATED_ENTRIES, "an id stands twice");
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t ctt_sim_dnn_check(desc &d)
{
    for (auto &w : ways)
        if (w.type == d.type)
            return convolution(d, w);
    switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return finalize_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
        return sliding(d);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return pointwise(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        return finalize_graph(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return ctt_sim_dnn_choose(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return ctt_sim_dnn_build(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return finalize_pack(d);
    }
    FAIL(BAD_PARAM, "descriptor type %d is only read", d.type);
}
