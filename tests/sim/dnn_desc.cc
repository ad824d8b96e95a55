/* SPDX-License-Identifier: Apache-2.0
 * dnn_desc.cc: simulated cuDNN: handles, and descriptors with a table of the
 * attributes that may be set or read. */
#include "tests/sim/dnn.h"

#include <cstdarg>
#include <cstdio>
#include <string>

using desc = ctt_sim_desc;

struct ctt_sim_cudnnHandle_t { cudaStream_t stream; };

/* The live descriptors, each with a reference. */
static std::map<void *, std::shared_ptr<desc>> descs;
static std::set<cudnnHandle_t> handles;
static char message[200];

#define DNN_ENTER()                                                     \
    CTT_SIM_ENTER(ctt_sim_dnn_error(CUDNN_STATUS_INTERNAL_ERROR,        \
                                    "a planned failure"))
#define FAIL(status, ...)                                               \
    return ctt_sim_dnn_error(CUDNN_STATUS_##status, __VA_ARGS__)

static const size_t size_of[CTT_SIM_DNN_TYPES] = {
    /* handle, data type, boolean, int64, float, double, pointer */
    sizeof(void *), sizeof(int), sizeof(bool), sizeof(int64_t), sizeof(float),
    sizeof(double), sizeof(void *),
    /* modes, note, mode, descriptor, char */
    sizeof(int), sizeof(int), sizeof(int), sizeof(int),
    sizeof(cudnnBackendDescriptor_t), 1
};

/* Use of an attribute: optional, required, read-only, or both optional and
 * read; the rules also have its most values. */
enum { OPTIONAL, NEEDED, READ, BOTH };
struct rule { int owner, name, type, how, most; };

#define T(x) CUDNN_TYPE_##x
#define CONV(word, prefix, large, small, kernel)                        \
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_##word##_DESCRIPTOR,          \
      CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_ALPHA, T(DOUBLE), NEEDED, \
      1 },                                                              \
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_##word##_DESCRIPTOR,          \
      CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_BETA, T(DOUBLE), NEEDED, \
      1 },                                                              \
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_##word##_DESCRIPTOR,          \
      CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_CONV_DESC,            \
      T(BACKEND_DESCRIPTOR), NEEDED, 1 },                               \
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_##word##_DESCRIPTOR,          \
      CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##large,              \
      T(BACKEND_DESCRIPTOR), NEEDED, 1 },                               \
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_##word##_DESCRIPTOR,          \
      CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##small,              \
      T(BACKEND_DESCRIPTOR), NEEDED, 1 },                               \
    { CUDNN_BACKEND_OPERATION_CONVOLUTION_##word##_DESCRIPTOR,          \
      CUDNN_ATTR_OPERATION_CONVOLUTION_##prefix##_##kernel,             \
      T(BACKEND_DESCRIPTOR), NEEDED, 1 },
#define R(owner, name, type, how, most)                                 \
    { CUDNN_BACKEND_##owner##_DESCRIPTOR, CUDNN_ATTR_##name, T(type), how, \
      most },

static const struct rule rules[] = {
    R(TENSOR, TENSOR_UNIQUE_ID, INT64, NEEDED, 1)
    R(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE, NEEDED, 1)
    R(TENSOR, TENSOR_DIMENSIONS, INT64, NEEDED, 5)
    R(TENSOR, TENSOR_STRIDES, INT64, NEEDED, 5)
    R(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64, NEEDED, 1)
    R(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN, OPTIONAL, 1)
    R(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64, NEEDED, 1)
    R(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE, NEEDED, 1)
    R(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, NEEDED, 1)
    R(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, NEEDED, 3)
    R(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, NEEDED, 3)
    R(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, NEEDED, 3)
    R(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, NEEDED, 3)
    CONV(FORWARD, FORWARD, X, Y, W)
    CONV(BACKWARD_DATA, BWD_DATA, DX, DY, W)
    CONV(BACKWARD_FILTER, BWD_FILTER, X, DY, DW)
    R(POINTWISE, POINTWISE_MODE, POINTWISE_MODE, NEEDED, 1)
    R(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE, NEEDED, 1)
    R(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR,
      BACKEND_DESCRIPTOR, NEEDED, 1)
    R(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR,
      NEEDED, 1)
    R(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR,
      NEEDED, 1)
    R(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR,
      OPTIONAL, 1)
    R(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, NEEDED, 8)
    R(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE, OPTIONAL, 1)
    R(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, NEEDED, 1)
    R(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE, NEEDED, 1)
    R(ENGINEHEUR, ENGINEHEUR_DEVICEPROP, BACKEND_DESCRIPTOR, OPTIONAL, 1)
    R(ENGINEHEUR, ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR, READ, 0)
    R(ENGINECFG, ENGINECFG_ENGINE, BACKEND_DESCRIPTOR, READ, 1)
    R(ENGINE, ENGINE_GLOBAL_INDEX, INT64, READ, 1)
    R(ENGINE, ENGINE_NUMERICAL_NOTE, NUMERICAL_NOTE, READ, 0)
    R(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR,
      OPTIONAL, 1)
    R(EXECUTION_PLAN, EXECUTION_PLAN_JSON_REPRESENTATION, CHAR, BOTH, 1 << 24)
    R(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE, OPTIONAL, 1)
    R(EXECUTION_PLAN, EXECUTION_PLAN_DEVICEPROP, BACKEND_DESCRIPTOR, OPTIONAL,
      1)
    R(EXECUTION_PLAN, EXECUTION_PLAN_WORKSPACE_SIZE, INT64, READ, 1)
    R(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64, NEEDED, 16)
    R(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, NEEDED, 16)
    R(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR, NEEDED, 1)
    R(DEVICEPROP, DEVICEPROP_JSON_REPRESENTATION, CHAR, NEEDED, 1 << 16)
};

static const struct rule *find_rule(int owner, int name)
{
    for (const struct rule &r : rules)
        if (r.owner == owner && r.name == name)
            return &r;
    return NULL;
}

cudnnStatus_t ctt_sim_dnn_error(cudnnStatus_t s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    return s;
}

size_t cudnnGetVersion()
{
    return CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
#define X(name, value) { value, "CUDNN_STATUS_" #name },
    static const std::map<int, const char *> text = {
        CTT_SIM_DNN_STATUSES(X)
    };
#undef X
    auto t = text.find(status);

    return t == text.end() ? "unknown" : t->second;
}

void cudnnGetLastErrorString(char *to, size_t max_size)
{
    snprintf(to, max_size, "%s", message);
    message[0] = 0;
}

/* ---- handles ---- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    DNN_ENTER();

    if (!handle)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *handle = new ctt_sim_cudnnHandle_t { NULL };
    handles.insert(*handle);
    ctt_sim_count(CTT_SIM_DNN_HANDLE, 1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    ctt_sim_entry entry(false);

    if (!handles.erase(handle))
        FAIL(BAD_PARAM, "no such handle");
    delete handle;
    ctt_sim_count(CTT_SIM_DNN_HANDLE, -1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    DNN_ENTER();

    if (!handles.count(handle) || (stream && !ctt_sim_stream(stream)))
        FAIL(BAD_PARAM, "no such handle or stream");
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors ---- */

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *d)
{
    DNN_ENTER();
    auto made = std::make_shared<desc>();

    if (!d || type < 0 || type >= CTT_SIM_DNN_DESCRIPTORS)
        FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "type %d", type);
    made->type = type;
    *d = made.get();
    descs[*d] = made;
    ctt_sim_count(CTT_SIM_DESCRIPTOR, 1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d)
{
    ctt_sim_entry entry(false);

    if (!descs.erase(d))
        FAIL(BAD_PARAM, "no such descriptor");
    ctt_sim_count(CTT_SIM_DESCRIPTOR, -1);
    return CUDNN_STATUS_SUCCESS;
}

/* The descriptors in an attribute, which must be finalized. */
static cudnnStatus_t take_descs(ctt_sim_value *v, const void *values)
{
    for (int64_t i = 0; i < v->count; i++) {
        void *p;
        memcpy(&p, (const char *)values + i * (int64_t)sizeof(p), sizeof(p));
        if (!descs.count(p))
            FAIL(BAD_PARAM, "descriptor %d does not exist", (int)i);
        if (!descs[p]->done)
            FAIL(BAD_PARAM_NOT_FINALIZED, "descriptor %d", (int)i);
        v->descs.push_back(descs[p]);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t count, const void *values)
{
    DNN_ENTER();
    const struct rule *r;
    ctt_sim_value v;

    if (!descs.count(d) || !values)
        FAIL(BAD_PARAM_NULL_POINTER, "attribute %d", name);
    r = find_rule(descs[d]->type, name);
    if (!r || r->how == READ || descs[d]->done)
        FAIL(BAD_PARAM, "attribute %d of descriptor type %d cannot be set",
             name, descs[d]->type);
    if (type != r->type)
        FAIL(BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d", name);
    if (count < 1 || count > r->most)
        FAIL(BAD_PARAM_SIZE_INSUFFICIENT, "attribute %d: %d values", name,
             (int)count);
    v.count = count;
    v.bytes.assign((const char *)values,
                   (const char *)values + (size_t)count * size_of[type]);
    if (type == CUDNN_TYPE_HANDLE && !handles.count(*(cudnnHandle_t *)values))
        FAIL(BAD_PARAM, "no such handle");
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        cudnnStatus_t s = take_descs(&v, values);
        if (s)
            return s;
    }
    descs[d]->attr[name] = v;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d)
{
    DNN_ENTER();
    cudnnStatus_t s;

    if (!descs.count(d) || descs[d]->done)
        FAIL(BAD_PARAM, "no descriptor, or one that is final");
    for (const struct rule &r : rules)
        if (r.owner == descs[d]->type && r.how == NEEDED &&
            !descs[d]->has(r.name))
            FAIL(BAD_PARAM, "attribute %d of descriptor type %d is not set",
                 r.name, r.owner);
    s = ctt_sim_dnn_check(*descs[d]);
    descs[d]->done = !s;
    return s;
}

/* ---- reading attributes ---- */

/* Fills the program's descriptor with an engine or its configuration. */
static cudnnStatus_t fill_config(void *to, int type, const desc &from,
                                 int engine)
{
    if (!descs.count(to) || descs[to]->type != type)
        FAIL(BAD_PARAM_DESCRIPTOR_TYPE, "a place for a result");
    descs[to]->ops = from.ops;
    descs[to]->engine = engine;
    descs[to]->done = true;
    return CUDNN_STATUS_SUCCESS;
}

template <class T>
static int64_t copy_values(const std::vector<T> &from, int64_t asked,
                           void *values)
{
    int64_t n = std::min((int64_t)from.size(), asked);

    if (n)
        memcpy(values, from.data(), (size_t)n * sizeof(T));
    return n;
}

static cudnnStatus_t results(const desc &h, int64_t asked, int64_t *count,
                             void **to)
{
    cudnnStatus_t s = CUDNN_STATUS_SUCCESS;

    *count = std::min((int64_t)h.engines.size(), asked);
    for (int64_t i = 0; i < *count && !s; i++)
        s = fill_config(to[i], CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, h,
                        h.engines[(size_t)i]);
    return s;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type,
                                       int64_t asked, int64_t *count,
                                       void *values)
{
    DNN_ENTER();
    const struct rule *r;
    int64_t unwanted;

    if (!descs.count(d) || (asked && !values) || asked < 0 ||
        (!asked && (!count || type != CUDNN_TYPE_CHAR)))
        FAIL(BAD_PARAM_NULL_POINTER, "attribute %d", name);
    r = find_rule(descs[d]->type, name);
    if (!r || (r->how != READ && r->how != BOTH) || r->type != type)
        FAIL(BAD_PARAM_ATTRIBUTE_TYPE, "attribute %d cannot be read", name);
    if (!descs[d]->done)
        FAIL(BAD_PARAM_NOT_FINALIZED, "attribute %d", name);
    const desc &from = *descs[d];
    count = count ? count : &unwanted;
    switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return results(from, asked, count, (void **)values);
    case CUDNN_ATTR_ENGINECFG_ENGINE:
        *count = 1;
        return fill_config(*(void **)values, CUDNN_BACKEND_ENGINE_DESCRIPTOR,
                           from, from.engine);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
        *count = asked ? copy_values(ctt_sim_dnn_text(from), asked, values)
                       : (int64_t)ctt_sim_dnn_text(from).size();
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        *count = copy_values(std::vector<int64_t> { from.engine }, asked,
                             values);
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        *count = copy_values(ctt_sim_dnn_notes(from), asked, values);
        return CUDNN_STATUS_SUCCESS;
    default:
        *count = copy_values(std::vector<int64_t> { from.workspace }, asked,
                             values);
        return CUDNN_STATUS_SUCCESS;
    }
}

/* ---- running a plan ---- */

static cudnnStatus_t tensor_data(const ctt_sim_tensor &t,
                                 const std::map<int64_t, void *> &data)
{
    int64_t last = 1;
    void *p;

    if (t.is_virtual)
        return CUDNN_STATUS_SUCCESS;
    if (!data.count(t.uid))
        FAIL(BAD_PARAM, "no pointer for tensor %d", (int)t.uid);
    p = data.at(t.uid);
    if ((uintptr_t)p % (uintptr_t)t.align)
        FAIL(BAD_PARAM_MISALIGNED_POINTER, "tensor %d", (int)t.uid);
    for (int i = 0; i < 5; i++)
        last += (t.dim[i] - 1) * t.step[i];
    if (!ctt_sim_is_device(p, (size_t)(last * ctt_sim_dnn_size(t.type))))
        FAIL(EXECUTION_FAILED, "tensor %d is not in device memory",
             (int)t.uid);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t places(const ctt_sim_dnn_op &op,
                            const std::map<int64_t, void *> &data)
{
    bool pointwise = op.way == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    cudnnStatus_t s = tensor_data(op.x, data);

    if (!s)
        s = tensor_data(op.y, data);
    if (!s && !pointwise)
        s = tensor_data(op.w, data);
    if (!s && op.has_b)
        s = tensor_data(op.b, data);
    return s;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                  cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    DNN_ENTER();
    std::map<int64_t, void *> data;
    cudnnStatus_t s = CUDNN_STATUS_SUCCESS;

    if (!handles.count(handle) || !descs.count(plan) || !descs.count(pack) ||
        descs[plan]->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        descs[pack]->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        FAIL(BAD_PARAM, "a handle, a plan and a variant pack");
    if (!descs[plan]->done || !descs[pack]->done)
        FAIL(BAD_PARAM_NOT_FINALIZED, "a plan or a variant pack");
    const desc &p = *descs[plan], &v = *descs[pack];
    size_t n = (size_t)v.attr.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count;
    void *workspace = v.get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    size_t bytes = (size_t)p.workspace;
    for (size_t i = 0; i < n; i++)
        data[v.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, i)] =
            v.get<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, i);
    for (size_t i = 0; i < p.ops.size() && !s; i++)
        s = places(p.ops[i], data);
    if (s)
        return s;
    if (bytes && !ctt_sim_is_device(workspace, bytes))
        FAIL(EXECUTION_FAILED, "%d bytes of workspace", (int)bytes);
    std::vector<ctt_sim_dnn_op> ops = p.ops;
    bool tf32 = p.engine == CTT_SIM_TF32;
    std::string name = (ops.size() > 1 ? "fused"
                        : ops[0].beta != 0 ? "add" : "eng") +
                       std::to_string(p.engine);
    if (ctt_sim_give(handle->stream, [=]() {
            if (ctt_sim_tally())
                return ctt_sim_tally_dnn(ops);
            if (bytes)
                memset(workspace, 0xff, bytes);
            ctt_sim_dnn_run(ops, data, tf32);
            ctt_sim_pass(name.c_str());
        }))
        FAIL(EXECUTION_FAILED, "%s", cudaGetErrorString(cudaGetLastError()));
    return CUDNN_STATUS_SUCCESS;
}
