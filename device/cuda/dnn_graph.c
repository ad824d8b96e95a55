/* SPDX-License-Identifier: Apache-2.0
 * dnn_graph.c: builds cuDNN's operation graphs. */
#include "device/cuda/dnn_graph.h"

#include <stdbool.h>

#define DESC  cudnnBackendDescriptor_t
#define TRY   CTT_DNN_TRY
#define INTS  CTT_DNN_INTS
#define DESCS CTT_DNN_DESCS

cudnnStatus_t ctt_dnn_create(struct ctt_dnn_making *m,
                             cudnnBackendDescriptorType_t type, DESC *out)
{
    if (m->count == CTT_DNN_MADE)
        return CUDNN_STATUS_INTERNAL_ERROR;
    TRY(cudnnBackendCreateDescriptor(type, out));
    m->made[m->count++] = *out;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t ctt_dnn_describe(struct ctt_dnn_making *m,
                               cudnnBackendDescriptorType_t type,
                               const struct ctt_dnn_attr *a, DESC *out)
{
    TRY(ctt_dnn_create(m, type, out));
    for (; a->count >= 0; a++)
        if (a->count)
            TRY(cudnnBackendSetAttribute(*out, a->name, a->type, a->count,
                                         a->value));
    return cudnnBackendFinalize(*out);
}

void ctt_dnn_destroy(struct ctt_dnn_making *m, int keep)
{
    while (m->count > keep)
        if (m->made[--m->count])
            cudnnBackendDestroyDescriptor(m->made[m->count]);
}

/* ---- tensors ---- */

static cudnnDataType_t data_type(enum ctt_dtype t)
{
    static const cudnnDataType_t type[] = {
        [CTT_F32] = CUDNN_DATA_FLOAT,
        [CTT_F16] = CUDNN_DATA_HALF,
        [CTT_BF16] = CUDNN_DATA_BFLOAT16,
        [CTT_I8] = CUDNN_DATA_INT8,
        [CTT_I32] = CUDNN_DATA_INT32,
    };

    return type[t];
}

static cudnnStatus_t make_tensor(struct ctt_dnn_making *m, int64_t uid,
                                 enum ctt_dtype t, const int64_t *dims,
                                 const int64_t *steps, DESC *out)
{
    const cudnnDataType_t type = data_type(t);
    const int64_t align = 16, n = 2 + m->key->f.axes;
    const bool no_memory = uid >= CTT_DNN_VIRTUAL;

    return ctt_dnn_describe(m, CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                            (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_TENSOR_UNIQUE_ID, INTS(1, &uid) },
        { CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type },
        { CUDNN_ATTR_TENSOR_DIMENSIONS, INTS(n, dims) },
        { CUDNN_ATTR_TENSOR_STRIDES, INTS(n, steps) },
        { CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, INTS(1, &align) },
        { CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &no_memory },
        CTT_DNN_END }, out);
}

/* Fills in sizes and strides of the used axes; step: the stride of the last
 * one.  Returns the stride of an axis before them. */
static int64_t axes(const struct ctt_fold *f, const int64_t size[3],
                    int64_t step, int64_t *dims, int64_t *steps)
{
    for (int i = f->axes - 1; i >= 0; i--) {
        dims[2 + i] = size[3 - f->axes + i];
        steps[2 + i] = step;
        step *= dims[2 + i];
    }
    return step;
}

/* An image of c channels, channels last. */
static cudnnStatus_t image(struct ctt_dnn_making *m, int64_t uid,
                           enum ctt_dtype t, int64_t n, int64_t c,
                           const int64_t size[3], DESC *out)
{
    int64_t dims[5] = { n, c }, steps[5] = { 0, 1 };

    steps[0] = axes(&m->key->f, size, c, dims, steps);
    return make_tensor(m, uid, t, dims, steps, out);
}

static cudnnStatus_t large(struct ctt_dnn_making *m, int64_t uid,
                           enum ctt_dtype t, DESC *out)
{
    const struct ctt_fold *f = &m->key->f;

    return image(m, uid, t, f->n, f->ic, f->large, out);
}

static cudnnStatus_t small(struct ctt_dnn_making *m, int64_t uid,
                           enum ctt_dtype t, DESC *out)
{
    const struct ctt_fold *f = &m->key->f;

    return image(m, uid, t, f->n, f->oc, f->small, out);
}

/* cuDNN takes the number of groups from the channels of image and kernel. */
static cudnnStatus_t kernel(struct ctt_dnn_making *m, DESC *out)
{
    const struct ctt_fold *f = &m->key->f;
    int64_t dims[5] = { f->oc, f->ic / f->groups };
    int64_t steps[5] = { f->step_oc, f->step_ic };

    axes(f, f->kernel, f->step_tap, dims, steps);
    return make_tensor(m, CTT_DNN_KERNEL, m->key->type, dims, steps, out);
}

/* The result; of an operation that is not the last, a virtual tensor. */
static cudnnStatus_t result(struct ctt_dnn_making *m, int left, DESC *out)
{
    const struct ctt_dnn_key *k = m->key;
    int64_t between = CTT_DNN_VIRTUAL + left;
    enum ctt_dtype t = left ? CTT_F32 : k->type == CTT_I8 ? k->sums : k->type;

    return k->f.way == CTT_TO_SMALL
               ? small(m, left ? between : CTT_DNN_SMALL, t, out)
               : large(m, left ? between : CTT_DNN_LARGE, t, out);
}

/* ---- operations ---- */

static cudnnStatus_t sliding(struct ctt_dnn_making *m, DESC *out)
{
    const struct ctt_fold *f = &m->key->f;
    const int64_t n = f->axes, from = 3 - n;
    const cudnnDataType_t sums = m->key->type == CTT_I8 ? CUDNN_DATA_INT32
                                                        : CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;

    return ctt_dnn_describe(m, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                            (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, INTS(1, &n) },
        { CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums },
        { CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1,
          &mode },
        { CUDNN_ATTR_CONVOLUTION_DILATIONS, INTS(n, f->dilation + from) },
        { CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, INTS(n, f->stride + from) },
        { CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, INTS(n, f->pad + from) },
        { CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, INTS(n, f->after + from) },
        CTT_DNN_END }, out);
}

/* Per way: its descriptor and the names of its attributes. */
static const struct {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t  conv, large, small, kernel, alpha, beta;
} ways[] = {
    [CTT_TO_SMALL] = {
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
    [CTT_TO_LARGE] = {
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
    [CTT_TO_WEIGHTS] = {
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

/* left: how many operations follow; y: the result of this one. */
static cudnnStatus_t convolution(struct ctt_dnn_making *m, int left, DESC *y,
                                 DESC *op)
{
    const double alpha = 1, beta = m->key->add;
    enum ctt_conv_way way = m->key->f.way;
    enum ctt_dtype t = m->key->type;
    DESC conv, l, s, w;

    TRY(sliding(m, &conv));
    TRY(way == CTT_TO_LARGE ? result(m, left, &l)
                            : large(m, CTT_DNN_LARGE, t, &l));
    TRY(way == CTT_TO_SMALL ? result(m, left, &s)
                            : small(m, CTT_DNN_SMALL, t, &s));
    TRY(kernel(m, &w));
    *y = way == CTT_TO_SMALL ? s : l;
    return ctt_dnn_describe(m, ways[way].type, (struct ctt_dnn_attr[]){
        { ways[way].conv, DESCS(1, &conv) },
        { ways[way].large, DESCS(1, &l) },
        { ways[way].small, DESCS(1, &s) },
        { ways[way].kernel, DESCS(1, &w) },
        { ways[way].alpha, CUDNN_TYPE_DOUBLE, 1, &alpha },
        { ways[way].beta, CUDNN_TYPE_DOUBLE, 1, &beta },
        CTT_DNN_END }, op);
}

/* y = mode(y) or, if there is b, mode(y, b). */
static cudnnStatus_t pointwise(struct ctt_dnn_making *m,
                               cudnnPointwiseMode_t mode, const DESC *b,
                               int left, DESC *y, DESC *op)
{
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    DESC x = *y, how;

    TRY(result(m, left, y));
    TRY(ctt_dnn_describe(m, CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                         (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode },
        { CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type },
        CTT_DNN_END }, &how));
    return ctt_dnn_describe(m, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                            (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESCS(1, &how) },
        { CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESCS(1, &x) },
        { CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESCS(1, y) },
        { CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESCS(b ? 1 : 0, b) },
        CTT_DNN_END }, op);
}

static cudnnStatus_t plus(struct ctt_dnn_making *m, DESC *out)
{
    enum ctt_dtype t = m->key->type;

    return m->key->f.way == CTT_TO_SMALL ? small(m, CTT_DNN_PLUS, t, out)
                                         : large(m, CTT_DNN_PLUS, t, out);
}

static cudnnStatus_t bias(struct ctt_dnn_making *m, DESC *out)
{
    const struct ctt_fold *f = &m->key->f;
    const int64_t one[3] = { 1, 1, 1 };

    return image(m, CTT_DNN_BIAS, CTT_F32, 1,
                 f->way == CTT_TO_SMALL ? f->oc : f->ic, one, out);
}

/* ADD, which is 0: not used here; finish() of dnn.c computes it. */
static const cudnnPointwiseMode_t acts[CTT_ACT_KINDS] = {
    [CTT_ACT_RELU] = CUDNN_POINTWISE_RELU_FWD,
    [CTT_ACT_SIGMOID] = CUDNN_POINTWISE_SIGMOID_FWD,
    [CTT_ACT_TANH] = CUDNN_POINTWISE_TANH_FWD,
};

int ctt_dnn_takes_act(int act)
{
    return act == 0 || acts[act - 1] != CUDNN_POINTWISE_ADD;
}

/* cuDNN has fused engines for this order. */
cudnnStatus_t ctt_dnn_graph(struct ctt_dnn_making *m, DESC *out)
{
    const struct ctt_dnn_key *k = m->key;
    int left = ctt_dnn_fused(k);
    int64_t n = 0;
    DESC op[4], y, b;

    TRY(convolution(m, left, &y, &op[n++]));
    if (k->plus) {
        TRY(plus(m, &b));
        TRY(pointwise(m, CUDNN_POINTWISE_ADD, &b, --left, &y, &op[n++]));
    }
    if (k->bias) {
        TRY(bias(m, &b));
        TRY(pointwise(m, CUDNN_POINTWISE_ADD, &b, --left, &y, &op[n++]));
    }
    if (k->act)
        TRY(pointwise(m, acts[k->act - 1], NULL, --left, &y, &op[n++]));
    return ctt_dnn_describe(m, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                            (struct ctt_dnn_attr[]){
        { CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
          m->site->handle ? 1 : 0, &m->site->handle },
        { CUDNN_ATTR_OPERATIONGRAPH_OPS, DESCS(n, op) },
        CTT_DNN_END }, out);
}
