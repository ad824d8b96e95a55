/* SPDX-License-Identifier: Apache-2.0
 * cublasLt.h: the part of cuBLASLt that device/cuda calls: products of two
 * column-major matrices, with a bias or an activation. */
#ifndef CTT_SIM_CUBLASLT_H
#define CTT_SIM_CUBLASLT_H

#include "tests/sim/cuda_runtime_api.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int cublasStatus_t;
enum {
    CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};

typedef int cudaDataType_t, cudaDataType;
enum {
    CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_R_32I = 10,
    CUDA_R_16BF = 14
};

typedef int cublasComputeType_t;
enum {
    CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

typedef int cublasOperation_t;
enum { CUBLAS_OP_N, CUBLAS_OP_T };

typedef int cublasLtOrder_t;
enum { CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW };

typedef int cublasLtEpilogue_t;
enum {
    CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_RELU_BIAS = 6
};

typedef int cublasLtMatmulDescAttributes_t;
enum {
    CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB,
    CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
    CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE
};

typedef int cublasLtMatrixLayoutAttribute_t;
enum {
    CUBLASLT_MATRIX_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_ORDER,
    CUBLASLT_MATRIX_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_COLS,
    CUBLASLT_MATRIX_LAYOUT_LD, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};

typedef int cublasLtMatmulPreferenceAttributes_t;
enum {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
};
enum { CUBLASLT_REDUCTION_SCHEME_NONE, CUBLASLT_REDUCTION_SCHEME_MASK = 7 };

CTT_SIM_HANDLE(cublasLtHandle_t);
CTT_SIM_HANDLE(cublasLtMatmulDesc_t);
CTT_SIM_HANDLE(cublasLtMatrixLayout_t);
CTT_SIM_HANDLE(cublasLtMatmulPreference_t);

/* An algorithm for a product: identified by the request for it. */
#define cublasLtMatmulAlgo_t struct cublasLtMatmulAlgo
struct cublasLtMatmulAlgo { uint64_t data[8]; };
#define cublasLtMatmulHeuristicResult_t struct cublasLtMatmulHeuristicResult
struct cublasLtMatmulHeuristicResult {
    struct cublasLtMatmulAlgo algo;
    size_t                    workspaceSize;
    cublasStatus_t            state;
    float                     wavesCount;
};

const char *cublasLtGetStatusName(cublasStatus_t status);
const char *cublasLtGetStatusString(cublasStatus_t status);
size_t      cublasLtGetVersion(void);

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h);
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h);
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d);
cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t name,
    const void *value, size_t bytes);
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld);
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l);
cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t name,
    const void *value, size_t bytes);
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p);
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t name,
    const void *value, size_t bytes);

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t y, cublasLtMatmulPreference_t p, int asked,
    struct cublasLtMatmulHeuristicResult *results, int *found);

/* y = alpha op(a) op(b) + beta c, then the epilogue. */
cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
    const void *a, cublasLtMatrixLayout_t la, const void *b,
    cublasLtMatrixLayout_t lb, const void *beta, const void *c,
    cublasLtMatrixLayout_t lc, void *y, cublasLtMatrixLayout_t ly,
    const struct cublasLtMatmulAlgo *algo, void *workspace, size_t bytes,
    cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
