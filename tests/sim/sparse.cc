/* SPDX-License-Identifier: Apache-2.0
 * sparse.cc: simulated cuSPARSE: products of a sparse matrix in rows and a
 * dense one, in columns.  Descriptors are read when the product is asked for,
 * matrices when its stream comes to it; there, indices that lie outside are an
 * error. */
#include "tests/sim/cusparse.h"
#include "tests/sim/inside.h"
#include "base/half.h"

#include <cstdlib>
#include <cstring>

enum { ROOM = 1024, PART = 16 };

struct ctt_sim_cusparseHandle_t { cudaStream_t stream; };
struct ctt_sim_cusparseSpMatDescr_t {
    int64_t       rows, cols, nnz;
    const int32_t *offsets, *columns;
    const void   *values;
    int           type;
};
struct ctt_sim_cusparseDnMatDescr_t {
    int64_t rows, cols, ld;
    void   *values;
    int     type;
};
using csr = ctt_sim_cusparseSpMatDescr_t;
using dense = ctt_sim_cusparseDnMatDescr_t;

static std::set<const void *> alive;

#define SPARSE_ENTER() CTT_SIM_ENTER(CUSPARSE_STATUS_INTERNAL_ERROR)

#define ROW(name) { #name, reinterpret_cast<void *>(name) }
static const struct { const char *name; void *at; } functions[] = {
    ROW(cusparseCreate), ROW(cusparseDestroy), ROW(cusparseSetStream),
    ROW(cusparseGetErrorString), ROW(cusparseCreateCsr),
    ROW(cusparseDestroySpMat), ROW(cusparseCreateDnMat),
    ROW(cusparseDestroyDnMat), ROW(cusparseSpMM_bufferSize), ROW(cusparseSpMM),
};

const char ctt_sim_sparse_name[] = "libcusparse.so.12";

void *ctt_sim_sparse()
{
    const char *what = getenv("CTT_SIM_SPARSE");

    return what && !strcmp(what, "none") ? NULL : (void *)functions;
}

void *ctt_sim_sparse_function(const char *name)
{
    for (auto &f : functions)
        if (!strcmp(f.name, name))
            return f.at;
    return NULL;
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
    return status == CUSPARSE_STATUS_INTERNAL_ERROR ? "internal error"
                                                    : "invalid value";
}

template <class T>
static cusparseStatus_t create(T **out, const T &from, enum ctt_sim_kind kind)
{
    *out = new T(from);
    alive.insert(*out);
    ctt_sim_count(kind, 1);
    return CUSPARSE_STATUS_SUCCESS;
}

template <class T>
static cusparseStatus_t destroy(T *p, enum ctt_sim_kind kind)
{
    ctt_sim_entry entry(false);

    if (!alive.erase(p))
        return CUSPARSE_STATUS_INVALID_VALUE;
    delete p;
    ctt_sim_count(kind, -1);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreate(cusparseHandle_t *h)
{
    SPARSE_ENTER();
    return create(h, ctt_sim_cusparseHandle_t { NULL }, CTT_SIM_SPARSE_HANDLE);
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t h)
{
    return destroy(h, CTT_SIM_SPARSE_HANDLE);
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t h, cudaStream_t s)
{
    SPARSE_ENTER();

    if (!alive.count(h))
        return CUSPARSE_STATUS_INVALID_VALUE;
    h->stream = s;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- matrices ---- */

static enum ctt_dtype type_of(int t)
{
    return t == CUDA_R_32F ? CTT_F32 : t == CUDA_R_16F ? CTT_F16 : CTT_BF16;
}

cusparseStatus_t cusparseCreateCsr(
    cusparseSpMatDescr_t *m, int64_t rows, int64_t cols, int64_t nnz,
    void *offsets, void *columns, void *values, cusparseIndexType_t of_offsets,
    cusparseIndexType_t of_columns, cusparseIndexBase_t base, cudaDataType type)
{
    SPARSE_ENTER();
    size_t each = (size_t)ctt_dtype_size(type_of(type));

    if (rows < 1 || cols < 1 || nnz < 1 || nnz > rows * cols ||
        of_offsets != CUSPARSE_INDEX_32I || of_columns != CUSPARSE_INDEX_32I ||
        base != CUSPARSE_INDEX_BASE_ZERO ||
        !ctt_sim_is_device(offsets, (size_t)(rows + 1) * 4) ||
        !ctt_sim_is_device(columns, (size_t)nnz * 4) ||
        !ctt_sim_is_device(values, (size_t)nnz * each))
        return CUSPARSE_STATUS_INVALID_VALUE;
    return create(m, csr { rows, cols, nnz, (const int32_t *)offsets,
                           (const int32_t *)columns, values, type },
                  CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t m)
{
    return destroy(m, CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *m, int64_t rows,
                                     int64_t cols, int64_t ld, void *values,
                                     cudaDataType type, cusparseOrder_t order)
{
    SPARSE_ENTER();
    int64_t each = ctt_dtype_size(type_of(type));

    if (rows < 1 || cols < 1 || ld < rows || order != CUSPARSE_ORDER_COL ||
        (uintptr_t)values % PART || ld * each % PART ||
        !ctt_sim_is_device(values, (size_t)(((cols - 1) * ld + rows) * each)))
        return CUSPARSE_STATUS_INVALID_VALUE;
    return create(m, dense { rows, cols, ld, values, type },
                  CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t m)
{
    return destroy(m, CTT_SIM_SPARSE_DESCRIPTOR);
}

/* ---- a product ---- */

static cusparseStatus_t check(cusparseHandle_t h, int op_a, int op_b,
                              const csr *a, const dense *b, const dense *y,
                              int compute, int how)
{
    if (!alive.count(h) || !alive.count(a) || !alive.count(b) ||
        !alive.count(y) || a->cols != b->rows || a->rows != y->rows ||
        b->cols != y->cols)
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (op_a || op_b || a->type != b->type || compute != CUDA_R_32F ||
        (y->type != a->type && y->type != CUDA_R_32F) ||
        (how != CUSPARSE_SPMM_CSR_ALG1 && how != CUSPARSE_SPMM_CSR_ALG3))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMM_bufferSize(
    cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b, const void *,
    cusparseDnMatDescr_t y, cudaDataType compute, cusparseSpMMAlg_t how,
    size_t *bytes)
{
    SPARSE_ENTER();

    *bytes = ROOM;
    return check(h, op_a, op_b, a, b, y, compute, how);
}

static float row_by_column(const csr &a, const dense &b, int64_t i, int64_t j)
{
    enum ctt_dtype type = type_of(a.type);
    float sum = 0;

    if (a.offsets[i] < 0 || a.offsets[i + 1] < a.offsets[i] ||
        a.offsets[i + 1] > a.nnz)
        ctt_sim_die("cuSPARSE: row %d of a matrix is damaged", (int)i);
    for (int32_t k = a.offsets[i]; k < a.offsets[i + 1]; k++) {
        if (a.columns[k] < 0 || a.columns[k] >= a.cols)
            ctt_sim_die("cuSPARSE: column %d of %d", a.columns[k],
                        (int)a.cols);
        sum += ctt_load(a.values, type, k) *
               ctt_load(b.values, type, j * b.ld + a.columns[k]);
    }
    return sum;
}

cusparseStatus_t cusparseSpMM(
    cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
    const void *alpha, cusparseSpMatDescr_t a, cusparseDnMatDescr_t b,
    const void *beta, cusparseDnMatDescr_t y, cudaDataType compute,
    cusparseSpMMAlg_t how, void *room)
{
    SPARSE_ENTER();
    cusparseStatus_t s = check(h, op_a, op_b, a, b, y, compute, how);
    float by = *(const float *)alpha, plus = *(const float *)beta;

    if (s)
        return s;
    if (!ctt_sim_is_device(room, ROOM))
        return CUSPARSE_STATUS_INVALID_VALUE;
    csr ma = *a;
    dense mb = *b, my = *y;
    return ctt_sim_give(h->stream, [=]() {
        enum ctt_dtype type = type_of(my.type);
        memset(room, 0xff, ROOM);
        for (int64_t j = 0; j < my.cols; j++)
            for (int64_t i = 0; i < my.rows; i++) {
                int64_t at = j * my.ld + i;
                float x = by * row_by_column(ma, mb, i, j);
                if (plus != 0)    /* else y is not read */
                    x += plus * ctt_load(my.values, type, at);
                ctt_store(my.values, type, at, x);
            }
    }) ? CUSPARSE_STATUS_EXECUTION_FAILED : CUSPARSE_STATUS_SUCCESS;
}
