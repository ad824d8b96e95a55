/* SPDX-License-Identifier: Apache-2.0
 * cusparseLt.h: the part of cuSPARSELt 0.10 that device/cuda calls: products of
 * a 2:4 matrix and a dense one. */
#ifndef CTT_SIM_CUSPARSELT_H
#define CTT_SIM_CUSPARSELT_H

#include "tests/sim/cusparse.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUSPARSELT_VER_MAJOR 0
#define CUSPARSELT_VER_MINOR 10

#define CTT_SIM_OPAQUE(name) typedef struct { int64_t data[64]; } name
CTT_SIM_OPAQUE(cusparseLtHandle_t);
CTT_SIM_OPAQUE(cusparseLtMatDescriptor_t);
CTT_SIM_OPAQUE(cusparseLtMatmulDescriptor_t);
CTT_SIM_OPAQUE(cusparseLtMatmulAlgSelection_t);
CTT_SIM_OPAQUE(cusparseLtMatmulPlan_t);

typedef int cusparseLtSparsity_t;
enum { CUSPARSELT_SPARSITY_50_PERCENT };
typedef int cusparseComputeType;
enum { CUSPARSE_COMPUTE_32I, CUSPARSE_COMPUTE_16F, CUSPARSE_COMPUTE_32F };
typedef int cusparseLtMatmulAlg_t;
enum { CUSPARSELT_MATMUL_ALG_DEFAULT };
typedef int libraryPropertyType;
enum { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL };

cusparseStatus_t cusparseLtInit(cusparseLtHandle_t *h);
cusparseStatus_t cusparseLtDestroy(const cusparseLtHandle_t *h);
cusparseStatus_t cusparseLtGetProperty(libraryPropertyType what, int *value);
const char *cusparseLtGetErrorString(cusparseStatus_t status);

cusparseStatus_t cusparseLtDenseDescriptorInit(
    const cusparseLtHandle_t *h, cusparseLtMatDescriptor_t *m, int64_t rows,
    int64_t cols, int64_t ld, uint32_t alignment, cudaDataType type,
    cusparseOrder_t order);
cusparseStatus_t cusparseLtStructuredDescriptorInit(
    const cusparseLtHandle_t *h, cusparseLtMatDescriptor_t *m, int64_t rows,
    int64_t cols, int64_t ld, uint32_t alignment, cudaDataType type,
    cusparseOrder_t order, cusparseLtSparsity_t sparsity);
cusparseStatus_t cusparseLtMatDescriptorDestroy(
    const cusparseLtMatDescriptor_t *m);

cusparseStatus_t cusparseLtMatmulDescriptorInit(
    const cusparseLtHandle_t *h, cusparseLtMatmulDescriptor_t *p,
    cusparseOperation_t op_a, cusparseOperation_t op_b,
    const cusparseLtMatDescriptor_t *a, const cusparseLtMatDescriptor_t *b,
    const cusparseLtMatDescriptor_t *c, const cusparseLtMatDescriptor_t *d,
    cusparseComputeType compute);
cusparseStatus_t cusparseLtMatmulAlgSelectionInit(
    const cusparseLtHandle_t *h, cusparseLtMatmulAlgSelection_t *s,
    const cusparseLtMatmulDescriptor_t *p, cusparseLtMatmulAlg_t how);
cusparseStatus_t cusparseLtMatmulAlgSelectionDestroy(
    const cusparseLtMatmulAlgSelection_t *s);
cusparseStatus_t cusparseLtMatmulPlanInit(
    const cusparseLtHandle_t *h, cusparseLtMatmulPlan_t *plan,
    const cusparseLtMatmulDescriptor_t *p,
    const cusparseLtMatmulAlgSelection_t *s);
cusparseStatus_t cusparseLtMatmulPlanDestroy(
    const cusparseLtMatmulPlan_t *plan);
cusparseStatus_t cusparseLtMatmulGetWorkspace(
    const cusparseLtHandle_t *h, const cusparseLtMatmulPlan_t *plan,
    size_t *bytes);

cusparseStatus_t cusparseLtSpMMACompressedSize2(
    const cusparseLtHandle_t *h, const cusparseLtMatDescriptor_t *m,
    size_t *bytes, size_t *room);
cusparseStatus_t cusparseLtSpMMACompress2(
    const cusparseLtHandle_t *h, const cusparseLtMatDescriptor_t *m,
    int is_a, cusparseOperation_t op, const void *dense, void *half,
    void *room, cudaStream_t stream);
cusparseStatus_t cusparseLtMatmul(
    const cusparseLtHandle_t *h, const cusparseLtMatmulPlan_t *plan,
    const void *alpha, const void *a, const void *b, const void *beta,
    const void *c, void *d, void *room, cudaStream_t *streams, int32_t count);

#ifdef __cplusplus
}
#endif

#endif
