/* SPDX-License-Identifier: Apache-2.0
 * blas.cc: simulated cuBLASLt: descriptors, checked as strictly as the library
 * does, and products by plain loops with sums in floats. */
#include "tests/sim/cublasLt.h"
#include "tests/sim/inside.h"
#include "base/half.h"

#include <cstring>
#include <map>

enum { WORKSPACE = 4096, ALIGN = 256 };

struct ctt_sim_cublasLtHandle_t { int unused; };
struct ctt_sim_cublasLtMatmulDesc_t {
    int32_t     compute, scale, trans_a, trans_b, epilogue, bias_type;
    const void *bias;
};
struct ctt_sim_cublasLtMatrixLayout_t {
    int32_t  type, order, batch;
    uint64_t rows, cols;
    int64_t  ld, offset;
};
struct ctt_sim_cublasLtMatmulPreference_t {
    uint64_t workspace;
    uint32_t scheme, align[4];
};
using desc = ctt_sim_cublasLtMatmulDesc_t;
using layout = ctt_sim_cublasLtMatrixLayout_t;
using preference = ctt_sim_cublasLtMatmulPreference_t;

static std::set<const void *> alive;

#define BLAS_ENTER() CTT_SIM_ENTER(CUBLAS_STATUS_INTERNAL_ERROR)

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    static const std::map<int, const char *> name = {
        { CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS" },
        { CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED" },
        { CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED" },
        { CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE" },
        { CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED" },
        { CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR" },
        { CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED" },
    };
    auto n = name.find(status);

    return n == name.end() ? "unknown" : n->second;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return cublasLtGetStatusName(status);
}

size_t cublasLtGetVersion()
{
    return 130000;
}

/* ---- handles and descriptors ---- */

template <class T>
static cublasStatus_t create_object(T **out, const T &from,
                                    enum ctt_sim_kind kind)
{
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    *out = new T(from);
    alive.insert(*out);
    ctt_sim_count(kind, 1);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
static cublasStatus_t destroy(T *p, enum ctt_sim_kind kind)
{
    ctt_sim_entry entry(false);

    if (!p)
        return CUBLAS_STATUS_SUCCESS;
    if (!alive.erase(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    delete p;
    ctt_sim_count(kind, -1);
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
static cublasStatus_t set_field(T *field, const void *value, size_t bytes)
{
    if (!value || bytes != sizeof(*field))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h)
{
    BLAS_ENTER();
    return create_object(h, ctt_sim_cublasLtHandle_t(), CTT_SIM_BLAS_HANDLE);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
    return destroy(h, CTT_SIM_BLAS_HANDLE);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    BLAS_ENTER();
    return create_object(d, desc { compute, scale, CUBLAS_OP_N, CUBLAS_OP_N,
                                   CUBLASLT_EPILOGUE_DEFAULT, -1, NULL },
                         CTT_SIM_BLAS_DESCRIPTOR);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    return destroy(d, CTT_SIM_BLAS_DESCRIPTOR);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t name,
    const void *value, size_t bytes)
{
    BLAS_ENTER();

    if (!alive.count(d))
        return CUBLAS_STATUS_INVALID_VALUE;
    switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set_field(&d->trans_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set_field(&d->trans_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set_field(&d->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set_field(&d->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        return set_field(&d->bias_type, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    BLAS_ENTER();
    return create_object(l, layout { type, CUBLASLT_ORDER_COL, 1, rows, cols,
                                     ld, 0 }, CTT_SIM_BLAS_DESCRIPTOR);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    return destroy(l, CTT_SIM_BLAS_DESCRIPTOR);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t name,
    const void *value, size_t bytes)
{
    BLAS_ENTER();

    if (!alive.count(l))
        return CUBLAS_STATUS_INVALID_VALUE;
    switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
        return set_field(&l->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
        return set_field(&l->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
        return set_field(&l->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
        return set_field(&l->cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
        return set_field(&l->ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return set_field(&l->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return set_field(&l->offset, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    BLAS_ENTER();
    return create_object(p, preference { 0, CUBLASLT_REDUCTION_SCHEME_MASK,
                                         { ALIGN, ALIGN, ALIGN, ALIGN } },
                         CTT_SIM_BLAS_DESCRIPTOR);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    return destroy(p, CTT_SIM_BLAS_DESCRIPTOR);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t name,
    const void *value, size_t bytes)
{
    BLAS_ENTER();
    int operand = name - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;

    if (!alive.count(p))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return set_field(&p->workspace, value, bytes);
    if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return set_field(&p->scheme, value, bytes);
    if (operand < 0 || operand > 3)
        return CUBLAS_STATUS_INVALID_VALUE;
    return set_field(&p->align[operand], value, bytes);
}

/* ---- a product ---- */

static enum ctt_dtype blas_type(int t)
{
    return t == CUDA_R_32F ? CTT_F32 : t == CUDA_R_16F ? CTT_F16 : CTT_BF16;
}

/* A matrix that is multiplied or written: element (i, j) of op(it). */
struct matrix {
    const char    *p;
    enum ctt_dtype type;
    int64_t        rows, cols, down, right, offset;

    float get(int64_t i, int64_t j) const
    {
        return ctt_load(p, type, i * down + j * right);
    }
    void put(int64_t i, int64_t j, float x) const
    {
        ctt_store((void *)p, type, i * down + j * right, x);
    }
};

static struct matrix matrix_of(const void *p, const layout &l, int trans)
{
    bool across = (l.order == CUBLASLT_ORDER_ROW) != (trans == CUBLAS_OP_T);
    struct matrix m = {
        (const char *)p, blas_type(l.type),
        (int64_t)(trans == CUBLAS_OP_T ? l.cols : l.rows),
        (int64_t)(trans == CUBLAS_OP_T ? l.rows : l.cols),
        across ? l.ld : 1, across ? 1 : l.ld,
        l.offset * ctt_dtype_size(blas_type(l.type))
    };

    return m;
}

static bool right_layout(const layout *l)
{
    return alive.count(l) && l->rows && l->cols && l->batch > 0 &&
           (l->type == CUDA_R_32F || l->type == CUDA_R_16F ||
            l->type == CUDA_R_16BF) &&
           l->ld >= (int64_t)(l->order == CUBLASLT_ORDER_ROW ? l->cols
                                                              : l->rows);
}

/* Checks everything but the addresses. */
static cublasStatus_t check_product(const desc *d, const layout *a,
                                    const layout *b, const layout *c,
                                    const layout *y)
{
    struct matrix ma, mb, my;

    if (!alive.count(d) || !right_layout(a) || !right_layout(b) ||
        !right_layout(c) || !right_layout(y))
        return CUBLAS_STATUS_INVALID_VALUE;
    ma = matrix_of(NULL, *a, d->trans_a);
    mb = matrix_of(NULL, *b, d->trans_b);
    my = matrix_of(NULL, *y, CUBLAS_OP_N);
    if (ma.rows != my.rows || mb.cols != my.cols || ma.cols != mb.rows ||
        c->rows != y->rows || c->cols != y->cols || a->batch != y->batch ||
        b->batch != y->batch || c->batch != y->batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (d->scale != CUDA_R_32F || a->type != b->type || c->type != y->type ||
        (y->type != a->type && y->type != CUDA_R_32F) ||
        (d->epilogue & CUBLASLT_EPILOGUE_BIAS && d->bias_type >= 0 &&
         d->bias_type != y->type) ||
        (d->epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
         y->order == CUBLASLT_ORDER_ROW) ||
        (d->epilogue & ~7) || c->order != y->order)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t y, cublasLtMatmulPreference_t p, int asked,
    struct cublasLtMatmulHeuristicResult *results, int *found)
{
    BLAS_ENTER();
    cublasStatus_t s;
    uint64_t workspace;

    if (!alive.count(h) || !alive.count(p) || asked < 1 || !results || !found)
        return CUBLAS_STATUS_INVALID_VALUE;
    *found = 0;
    s = check_product(d, a, b, c, y);
    if (s)
        return s;
    workspace = p->workspace >= WORKSPACE && p->scheme ? WORKSPACE : 0;
    memset(results, 0, sizeof(*results) * (size_t)asked);
    results->workspaceSize = workspace;
    results->algo.data[0] = workspace;
    for (int i = 0; i < 4; i++)
        results->algo.data[1 + i] = p->align[i];
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

float ctt_sim_tf32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    if ((bits >> 23 & 0xff) != 0xff)    /* finite */
        bits = (bits + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&x, &bits, sizeof(bits));
    return x;
}

struct product {
    struct matrix a, b, c, y;
    float         alpha, beta;
    int           epilogue, batch, tf32;
    const char   *bias;
    void         *workspace;
    size_t        bytes;
};

static void column(const product &p, const std::vector<float> &a, int64_t j,
                   std::vector<float> &sum)
{
    int64_t m = p.y.rows;
    auto rounded = [&](float x) { return p.tf32 ? ctt_sim_tf32(x) : x; };

    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int64_t k = 0; k < p.a.cols; k++) {
        float b = rounded(p.b.get(k, j));
        for (int64_t i = 0; i < m; i++)
            sum[(size_t)i] += a[(size_t)(k * m + i)] * b;
    }
    for (int64_t i = 0; i < m; i++) {
        float y = p.alpha * sum[(size_t)i];
        if (p.beta != 0)    /* else c is not read */
            y += p.beta * p.c.get(i, j);
        if (p.epilogue & CUBLASLT_EPILOGUE_BIAS)
            y += ctt_load(p.bias, p.y.type, i);
        if (p.epilogue & CUBLASLT_EPILOGUE_RELU)
            y = y < 0 ? 0 : y;
        p.y.put(i, j, y);
    }
}

static void multiply_matrices(product p)
{
    std::vector<float> a((size_t)(p.a.rows * p.a.cols));
    std::vector<float> sum((size_t)p.y.rows);

    if (p.bytes)
        memset(p.workspace, 0xff, p.bytes);
    for (int n = 0; n < p.batch; n++) {
        for (int64_t k = 0; k < p.a.cols; k++)
            for (int64_t i = 0; i < p.a.rows; i++)
                a[(size_t)(k * p.a.rows + i)] =
                    p.tf32 ? ctt_sim_tf32(p.a.get(i, k)) : p.a.get(i, k);
        for (int64_t j = 0; j < p.y.cols; j++)
            column(p, a, j, sum);
        p.a.p += p.a.offset;
        p.b.p += p.b.offset;
        p.c.p += p.c.offset;
        p.y.p += p.y.offset;
    }
}

static void tally_or_multiply(const product &p)
{
    if (!ctt_sim_tally())
        return multiply_matrices(p);
    ctt_sim_tally_add("product", 0, 2.0 * p.batch * (double)p.a.cols *
                                    (double)(p.y.rows * p.y.cols));
}

/* A matrix must be within one block, and aligned as the plan assumes. */
static bool lies_right(const struct matrix &m, int batch, uint64_t align)
{
    int64_t last = (m.rows - 1) * m.down + (m.cols - 1) * m.right + 1;

    return (uintptr_t)m.p % align == 0 &&
           ctt_sim_is_device(m.p, (size_t)(last * ctt_dtype_size(m.type) +
                                           (batch - 1) * m.offset));
}

cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
    const void *a, cublasLtMatrixLayout_t la, const void *b,
    cublasLtMatrixLayout_t lb, const void *beta, const void *c,
    cublasLtMatrixLayout_t lc, void *y, cublasLtMatrixLayout_t ly,
    const struct cublasLtMatmulAlgo *algo, void *workspace, size_t bytes,
    cudaStream_t stream)
{
    BLAS_ENTER();
    cublasStatus_t s = check_product(d, la, lb, lc, ly);
    uint64_t any[5] = { 0, 1, 1, 1, 1 };
    const uint64_t *need = algo ? algo->data : any;
    product p;

    if (s || !alive.count(h) || !alpha || !beta)
        return s ? s : CUBLAS_STATUS_INVALID_VALUE;
    p = { matrix_of(a, *la, d->trans_a), matrix_of(b, *lb, d->trans_b),
          matrix_of(c, *lc, CUBLAS_OP_N), matrix_of(y, *ly, CUBLAS_OP_N),
          *(const float *)alpha, *(const float *)beta, d->epilogue, ly->batch,
          d->compute == CUBLAS_COMPUTE_32F_FAST_TF32, (const char *)d->bias,
          workspace, need[0] };
    if (bytes < need[0] || (uintptr_t)workspace % ALIGN ||
        (bytes && !ctt_sim_is_device(workspace, bytes)) ||
        !lies_right(p.a, la->batch, need[1]) ||
        !lies_right(p.b, lb->batch, need[2]) ||
        (p.beta != 0 && !lies_right(p.c, lc->batch, need[3])) ||
        !lies_right(p.y, ly->batch, need[4]) ||
        (d->epilogue & CUBLASLT_EPILOGUE_BIAS &&
         !ctt_sim_is_device(d->bias, (size_t)(p.y.rows *
                                              ctt_dtype_size(p.y.type)))))
        return CUBLAS_STATUS_INVALID_VALUE;
    return ctt_sim_give(stream, [=]() { tally_or_multiply(p); })
               ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
