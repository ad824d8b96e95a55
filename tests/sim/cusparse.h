/* SPDX-License-Identifier: Apache-2.0
 * cusparse.h: the part of cuSPARSE that device/cuda calls: products of a sparse
 * matrix in rows and a dense one. */
#ifndef CTT_SIM_CUSPARSE_H
#define CTT_SIM_CUSPARSE_H

#include "tests/sim/cublasLt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VERSION   12600

CTT_SIM_HANDLE(cusparseHandle_t);
CTT_SIM_HANDLE(cusparseSpMatDescr_t);
CTT_SIM_HANDLE(cusparseDnMatDescr_t);

typedef int cusparseStatus_t;
enum {
    CUSPARSE_STATUS_SUCCESS = 0, CUSPARSE_STATUS_INVALID_VALUE = 3,
    CUSPARSE_STATUS_EXECUTION_FAILED = 6, CUSPARSE_STATUS_INTERNAL_ERROR = 7,
    CUSPARSE_STATUS_NOT_SUPPORTED = 10
};

typedef int cusparseOperation_t;
enum { CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE };
typedef int cusparseIndexType_t;
enum { CUSPARSE_INDEX_16U = 1, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_64I };
typedef int cusparseIndexBase_t;
enum { CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_INDEX_BASE_ONE };
typedef int cusparseOrder_t;
enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW };
typedef int cusparseSpMMAlg_t;
enum {
    CUSPARSE_SPMM_ALG_DEFAULT = 0, CUSPARSE_SPMM_CSR_ALG1 = 4,
    CUSPARSE_SPMM_CSR_ALG2 = 6, CUSPARSE_SPMM_CSR_ALG3 = 12
};

cusparseStatus_t cusparseCreate(cusparseHandle_t *h);
cusparseStatus_t cusparseDestroy(cusparseHandle_t h);
cusparseStatus_t cusparseSetStream(cusparseHandle_t h, cudaStream_t s);
const char *cusparseGetErrorString(cusparseStatus_t status);

cusparseStatus_t cusparseCreateCsr(
    cusparseSpMatDescr_t *m, int64_t rows, int64_t cols, int64_t nnz,
    void *offsets, void *columns, void *values, cusparseIndexType_t of_offsets,
    cusparseIndexType_t of_columns, cusparseIndexBase_t base,
    cudaDataType type);
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t m);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *m, int64_t rows,
                                     int64_t cols, int64_t ld, void *values,
                                     cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t m);

cusparseStatus_t cusparseSpMM_bufferSize(
    cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
    const void *beta, cusparseDnMatDescr_t y, cudaDataType compute,
    cusparseSpMMAlg_t how, size_t *bytes);
cusparseStatus_t cusparseSpMM(
    cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
    const void *beta, cusparseDnMatDescr_t y, cudaDataType compute,
    cusparseSpMMAlg_t how, void *room);

#ifdef __cplusplus
}
#endif

#endif
