/* SPDX-License-Identifier: Apache-2.0
 * test_sim_dnn.cc: the simulated cuDNN and cuBLASLt refuse shapes that do not
 * match; what an engine writes before it reads. */
#include "tests/sim/cublasLt.h"
#include "tests/sim/dnn.h"
#include "tests/sim/test_sim.h"


static cudnnBackendDescriptor_t make_desc(cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;

    CU_ASSERT_EQUAL_FATAL(cudnnBackendCreateDescriptor(type, &d), 0);
    return d;
}

static cudnnStatus_t ints(cudnnBackendDescriptor_t d, int name,
                          std::vector<int64_t> x)
{
    return cudnnBackendSetAttribute(d, name, CUDNN_TYPE_INT64,
                                    (int64_t)x.size(), x.data());
}

static cudnnStatus_t type(cudnnBackendDescriptor_t d, int name, int x)
{
    return cudnnBackendSetAttribute(d, name, CUDNN_TYPE_DATA_TYPE, 1, &x);
}

static cudnnStatus_t set_part(cudnnBackendDescriptor_t d, int name,
                              cudnnBackendDescriptor_t x)
{
    return cudnnBackendSetAttribute(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                    &x);
}

/* A tensor of 8 x 8 channels and size x size pixels. */
static cudnnBackendDescriptor_t make_tensor(int64_t uid, int64_t size)
{
    cudnnBackendDescriptor_t d = make_desc(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

    CU_ASSERT_EQUAL(cudnnBackendFinalize(d), CUDNN_STATUS_BAD_PARAM);
    ints(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, { uid });
    type(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    ints(d, CUDNN_ATTR_TENSOR_DIMENSIONS, { 8, 8, size, size });
    ints(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, { 16 });
    CU_ASSERT_EQUAL(ints(d, CUDNN_ATTR_TENSOR_DATA_TYPE, { 0 }),
                    CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    ints(d, CUDNN_ATTR_TENSOR_STRIDES, { 8 * size * size, 1, 8 * size });
    CU_ASSERT_EQUAL(cudnnBackendFinalize(d),
                    CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    ints(d, CUDNN_ATTR_TENSOR_STRIDES, { 8 * size * size, 1, 8 * size, 8 });
    CU_ASSERT_EQUAL(cudnnBackendFinalize(d), 0);
    CU_ASSERT_EQUAL(ints(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, { 7 }),
                    CUDNN_STATUS_BAD_PARAM);
    return d;
}

static cudnnBackendDescriptor_t sliding()
{
    cudnnBackendDescriptor_t d =
        make_desc(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    int mode = CUDNN_CROSS_CORRELATION;

    ints(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, { 2 });
    type(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    cudnnBackendSetAttribute(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                             CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    ints(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, { 1, 1 });
    ints(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, { 1, 1 });
    ints(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, { 0, 0 });
    ints(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, { 0, 0 });
    return d;
}

/* A kernel of 3 x 3 turns 6 x 6 into 4 x 4; other sizes are refused. */
static void test_descriptors()
{
    const int fwd = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    cudnnBackendDescriptor_t x = make_tensor(1, 6), w = make_tensor(2, 3);
    cudnnBackendDescriptor_t y = make_tensor(3, 4), odd = make_tensor(4, 5);
    cudnnBackendDescriptor_t conv = sliding(), op = make_desc(fwd);
    double one = 1, zero = 0;

    cudnnBackendSetAttribute(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                             CUDNN_TYPE_DOUBLE, 1, &one);
    cudnnBackendSetAttribute(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                             CUDNN_TYPE_DOUBLE, 1, &zero);
    set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, odd);
    CU_ASSERT_EQUAL(
        set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv),
        CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    CU_ASSERT_EQUAL(cudnnBackendFinalize(conv), 0);
    set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
    CU_ASSERT_EQUAL(cudnnBackendFinalize(op),
                    CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    CU_ASSERT_EQUAL(cudnnBackendFinalize(op), 0);
    for (cudnnBackendDescriptor_t d : { x, w, y, odd, conv, op })
        CU_ASSERT_EQUAL(cudnnBackendDestroyDescriptor(d), 0);
    CU_ASSERT_EQUAL(cudnnBackendDestroyDescriptor(x), CUDNN_STATUS_BAD_PARAM);
    CU_ASSERT_EQUAL(ctt_sim_live(), 0);
}

/* One pixel of one channel. */
static ctt_sim_tensor number(int64_t uid, bool is_virtual)
{
    return { uid, 4, CUDNN_DATA_FLOAT, 4, is_virtual, { 1, 1, 1, 1, 1 },
             { 1, 1, 1, 1, 1 } };
}

/* x w + b of three numbers in a graph whose result is at y. */
static float fused_sum(float *x, float *w, float *b, float *y)
{
    ctt_sim_dnn_op conv = { }, add = { };

    conv.way = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    conv.x = number(1, false);
    conv.w = number(2, false);
    conv.y = add.x = number(3, true);
    add.way = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    add.mode = CUDNN_POINTWISE_ADD;
    add.b = number(4, false);
    add.y = number(5, false);
    add.has_b = true;
    conv.alpha = 1;
    for (int i = 0; i < 3; i++)
        conv.stride[i] = conv.dilation[i] = 1;
    ctt_sim_dnn_run({ conv, add }, { { 1, x }, { 2, w }, { 4, b }, { 5, y } },
                    false);
    return *y;
}

/* A sum in place is right only if the engine reads before it writes. */
static void test_hasty()
{
    float x = 2, w = 3, b = 4, y = 0;

    CU_ASSERT_EQUAL(fused_sum(&x, &w, &b, &b), 10);
    ctt_sim_dnn("hasty");
    CU_ASSERT_EQUAL(fused_sum(&x, &w, &b, &y), 16);
    CU_ASSERT_EQUAL(fused_sum(&x, &w, &b, &b), 6);
    ctt_sim_dnn(NULL);
}

/* y = x' x of a 3 x 2 matrix; sizes that do not match are refused. */
static void test_product()
{
    float *x = device({ 1, 2, 3, 4, 5, 6, 0, 0 });
    float *y = device(std::vector<float>(4)), one = 1, zero = 0;
    int32_t turn = CUBLAS_OP_T;
    cublasLtHandle_t h;
    cublasLtMatmulDesc_t d;
    cublasLtMatrixLayout_t a, b;

    cublasLtCreate(&h);
    cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, 3, 2, 3);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, 2, 2, 2);
    CU_ASSERT_EQUAL(cublasLtMatmul(h, d, &one, x, a, x, a, &zero, y, b, y, b,
                                   NULL, NULL, 0, NULL),
                    CUBLAS_STATUS_INVALID_VALUE);
    cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_TRANSA, &turn,
                                   sizeof(turn));
    CU_ASSERT_EQUAL(cublasLtMatmul(h, d, &one, x + 3, a, x, a, &zero, y, b, y,
                                   b, NULL, NULL, 0, NULL),
                    CUBLAS_STATUS_INVALID_VALUE);
    CU_ASSERT_EQUAL(cublasLtMatmul(h, d, &one, x, a, x, a, &zero, y, b, y, b,
                                   NULL, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(host(y, 4)[0], 14);
    CU_ASSERT_EQUAL(host(y, 4)[1], 32);
    CU_ASSERT_EQUAL(host(y, 4)[3], 77);
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatmulDescDestroy(d);
    cublasLtDestroy(h);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    CU_ASSERT_EQUAL(ctt_sim_live(), 0);
}

static CU_TestInfo tests[] = {
    { "descriptors that are refused", test_descriptors },
    { "engines that write before they read", test_hasty },
    { "products that are refused", test_product },
    CU_TEST_INFO_NULL
};

int main()
{
    return check_all("sim dnn", tests);
}
