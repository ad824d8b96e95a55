/* SPDX-License-Identifier: Apache-2.0
 * lt.cc: simulated cuSPARSELt: the nonzero half of a 2:4 matrix, and its
 * products by their definition.  Sizes and types that version 0.10 refuses are
 * refused; a matrix that is not 2:4 is an error. */
#include "tests/sim/cusparseLt.h"
#include "tests/sim/inside.h"
#include "base/half.h"

#include <cstdlib>
#include <cstring>

enum { ROOM = 768, PART = 16, MAGIC = 0x3c4d };

struct lt_matrix {
    int64_t magic, rows, cols, ld, type, order, structured;
};
struct lt_product { int64_t magic; lt_matrix a, b, d; };
static_assert(sizeof(lt_product) <= sizeof(cusparseLtMatmulPlan_t), "room");

/* A value of an opaque structure. */
template <class T, class From> static T &in(From *p)
{
    return *(T *)(void *)p->data;
}

template <class T, class From> static const T &in(const From *p)
{
    return *(const T *)(const void *)p->data;
}

static const char *library_form()
{
    const char *what = getenv("CTT_SIM_SPARSE");

    return what ? what : "";
}

#define ROW(name) { #name, reinterpret_cast<void *>(name) }
static const struct { const char *name; void *at; } functions[] = {
    ROW(cusparseLtInit), ROW(cusparseLtDestroy), ROW(cusparseLtGetProperty),
    ROW(cusparseLtGetErrorString), ROW(cusparseLtDenseDescriptorInit),
    ROW(cusparseLtStructuredDescriptorInit),
    ROW(cusparseLtMatDescriptorDestroy), ROW(cusparseLtMatmulDescriptorInit),
    ROW(cusparseLtMatmulAlgSelectionInit),
    ROW(cusparseLtMatmulAlgSelectionDestroy), ROW(cusparseLtMatmulPlanInit),
    ROW(cusparseLtMatmulPlanDestroy), ROW(cusparseLtMatmulGetWorkspace),
    ROW(cusparseLtSpMMACompressedSize2), ROW(cusparseLtSpMMACompress2),
    ROW(cusparseLtMatmul),
};

const char ctt_sim_lt_name[] = "libcusparseLt.so.0";

void *ctt_sim_lt()
{
    return strcmp(library_form(), "none") ? (void *)functions : NULL;
}

void *ctt_sim_lt_function(const char *name)
{
    for (auto &f : functions)
        if (!strcmp(f.name, name))
            return f.at;
    return NULL;
}

#define LT_ENTER() CTT_SIM_ENTER(CUSPARSE_STATUS_INTERNAL_ERROR)

/* Marks a structure as made; remove() unmarks it. */
static cusparseStatus_t make(int64_t *magic, enum ctt_sim_kind kind)
{
    *magic = MAGIC;
    ctt_sim_count(kind, 1);
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t remove(const int64_t *magic, enum ctt_sim_kind kind)
{
    ctt_sim_entry entry(false);

    if (*magic != MAGIC)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *(int64_t *)(uintptr_t)magic = 0;
    ctt_sim_count(kind, -1);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtInit(cusparseLtHandle_t *h)
{
    LT_ENTER();
    return make(h->data, CTT_SIM_SPARSE_HANDLE);
}

cusparseStatus_t cusparseLtDestroy(const cusparseLtHandle_t *h)
{
    return remove(h->data, CTT_SIM_SPARSE_HANDLE);
}

cusparseStatus_t cusparseLtGetProperty(libraryPropertyType what, int *value)
{
    *value = what == MAJOR_VERSION ? 0 : strcmp(library_form(), "old") ? 10 : 9;
    return CUSPARSE_STATUS_SUCCESS;
}

const char *cusparseLtGetErrorString(cusparseStatus_t status)
{
    return status == CUSPARSE_STATUS_INTERNAL_ERROR ? "internal error"
                                                    : "invalid value";
}

/* ---- matrices ---- */

static int64_t size_of(int64_t type)
{
    return type == CUDA_R_8I ? 1 : type == CUDA_R_32I ? 4 : 2;
}

/* Multiples that rows, columns and steps must be; a 2:4 matrix twice these. */
static int64_t least_of(int64_t type)
{
    return 16 / size_of(type);
}

static cusparseStatus_t describe(const cusparseLtHandle_t *h,
                                 cusparseLtMatDescriptor_t *m, lt_matrix as,
                                 uint32_t alignment)
{
    int64_t each = least_of(as.type) * (as.structured ? 2 : 1);

    if (h->data[0] != MAGIC || as.rows < 1 || as.cols < 1 ||
        alignment % PART || as.ld < (as.order == CUSPARSE_ORDER_ROW ? as.cols
                                                                   : as.rows))
        return CUSPARSE_STATUS_INVALID_VALUE;
    if ((as.type != CUDA_R_16F && as.type != CUDA_R_16BF &&
         as.type != CUDA_R_8I && as.type != CUDA_R_32I) ||
        as.rows % each || as.cols % each || as.ld % each)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    in<lt_matrix>(m) = as;
    return make(m->data, CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseLtDenseDescriptorInit(
    const cusparseLtHandle_t *h, cusparseLtMatDescriptor_t *m, int64_t rows,
    int64_t cols, int64_t ld, uint32_t alignment, cudaDataType type,
    cusparseOrder_t order)
{
    LT_ENTER();
    return describe(h, m, { 0, rows, cols, ld, type, order, 0 }, alignment);
}

cusparseStatus_t cusparseLtStructuredDescriptorInit(
    const cusparseLtHandle_t *h, cusparseLtMatDescriptor_t *m, int64_t rows,
    int64_t cols, int64_t ld, uint32_t alignment, cudaDataType type,
    cusparseOrder_t order, cusparseLtSparsity_t)
{
    LT_ENTER();
    return describe(h, m, { 0, rows, cols, ld, type, order, 1 }, alignment);
}

cusparseStatus_t cusparseLtMatDescriptorDestroy(
    const cusparseLtMatDescriptor_t *m)
{
    return remove(m->data, CTT_SIM_SPARSE_DESCRIPTOR);
}

/* ---- plans ---- */

/* Of the layouts and types only those that device/cuda asks for. */
cusparseStatus_t cusparseLtMatmulDescriptorInit(
    const cusparseLtHandle_t *h, cusparseLtMatmulDescriptor_t *p,
    cusparseOperation_t op_a, cusparseOperation_t op_b,
    const cusparseLtMatDescriptor_t *a, const cusparseLtMatDescriptor_t *b,
    const cusparseLtMatDescriptor_t *c, const cusparseLtMatDescriptor_t *d,
    cusparseComputeType compute)
{
    LT_ENTER();
    lt_product is = { MAGIC, in<lt_matrix>(a), in<lt_matrix>(b),
                      in<lt_matrix>(d) };
    bool bytes = is.a.type == CUDA_R_8I;

    if (h->data[0] != MAGIC || is.a.magic != MAGIC || is.b.magic != MAGIC ||
        is.d.magic != MAGIC || c != d || is.a.cols != is.b.rows ||
        is.a.rows != is.d.rows || is.b.cols != is.d.cols)
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (op_a || op_b || !is.a.structured || is.b.structured ||
        is.a.type != is.b.type || is.a.order != CUSPARSE_ORDER_ROW ||
        is.b.order != CUSPARSE_ORDER_COL || is.d.order != CUSPARSE_ORDER_COL ||
        is.d.type != (bytes ? (int64_t)CUDA_R_32I : is.a.type) ||
        compute != (bytes ? CUSPARSE_COMPUTE_32I : CUSPARSE_COMPUTE_32F))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    in<lt_product>(p) = is;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseLtMatmulAlgSelectionInit(
    const cusparseLtHandle_t *, cusparseLtMatmulAlgSelection_t *s,
    const cusparseLtMatmulDescriptor_t *p, cusparseLtMatmulAlg_t)
{
    LT_ENTER();
    return p->data[0] != MAGIC ? CUSPARSE_STATUS_INVALID_VALUE
                               : make(s->data, CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseLtMatmulAlgSelectionDestroy(
    const cusparseLtMatmulAlgSelection_t *s)
{
    return remove(s->data, CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseLtMatmulPlanInit(
    const cusparseLtHandle_t *, cusparseLtMatmulPlan_t *plan,
    const cusparseLtMatmulDescriptor_t *p,
    const cusparseLtMatmulAlgSelection_t *s)
{
    LT_ENTER();
    if (p->data[0] != MAGIC || s->data[0] != MAGIC)
        return CUSPARSE_STATUS_INVALID_VALUE;
    in<lt_product>(plan) = in<lt_product>(p);
    return make(plan->data, CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseLtMatmulPlanDestroy(const cusparseLtMatmulPlan_t *plan)
{
    return remove(plan->data, CTT_SIM_SPARSE_DESCRIPTOR);
}

cusparseStatus_t cusparseLtMatmulGetWorkspace(
    const cusparseLtHandle_t *, const cusparseLtMatmulPlan_t *, size_t *bytes)
{
    LT_ENTER();
    *bytes = ROOM;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- the half ---- */

/* Half the values, and of each its place among four, a byte each. */
static int64_t half_count(const lt_matrix &m)
{
    return m.rows * m.cols / 2;
}

static size_t half_bytes(const lt_matrix &m)
{
    return (size_t)(half_count(m) * (size_of(m.type) + 1));
}

cusparseStatus_t cusparseLtSpMMACompressedSize2(
    const cusparseLtHandle_t *, const cusparseLtMatDescriptor_t *m,
    size_t *bytes, size_t *room)
{
    LT_ENTER();
    *bytes = half_bytes(in<lt_matrix>(m));
    *room = ROOM;
    return CUSPARSE_STATUS_SUCCESS;
}

static void compress(const lt_matrix &m, const char *w, char *half)
{
    int64_t size = size_of(m.type), to = 0;
    char *place = half + half_count(m) * size;
    static const char zero[8] = "";

    memset(half, 0, half_bytes(m));
    for (int64_t i = 0; i < m.rows * m.cols; i += 4, to += 2) {
        int kept = 0;

        for (int k = 0; k < 4; k++) {
            if (!memcmp(w + (i + k) * size, zero, (size_t)size))
                continue;
            if (kept == 2)
                ctt_sim_die("cuSPARSELt: a matrix that is not 2:4");
            memcpy(half + (to + kept) * size, w + (i + k) * size,
                   (size_t)size);
            place[to + kept++] = (char)k;
        }
    }
}

cusparseStatus_t cusparseLtSpMMACompress2(
    const cusparseLtHandle_t *h, const cusparseLtMatDescriptor_t *d,
    int is_a, cusparseOperation_t op, const void *dense, void *half,
    void *room, cudaStream_t stream)
{
    LT_ENTER();
    lt_matrix m = in<lt_matrix>(d);

    if (h->data[0] != MAGIC || m.magic != MAGIC || !m.structured || !is_a ||
        op || m.ld != m.cols || (uintptr_t)dense % PART ||
        !ctt_sim_is_device(dense,
                           (size_t)(m.rows * m.cols * size_of(m.type))) ||
        !ctt_sim_is_device(half, half_bytes(m)) ||
        !ctt_sim_is_device(room, ROOM))
        return CUSPARSE_STATUS_INVALID_VALUE;
    return ctt_sim_give(stream, [=]() {
        memset(room, 0xff, ROOM);
        compress(m, (const char *)dense, (char *)half);
    }) ? CUSPARSE_STATUS_EXECUTION_FAILED : CUSPARSE_STATUS_SUCCESS;
}

/* ---- a product ---- */

static enum ctt_dtype float_type(int64_t type)
{
    return type == CUDA_R_16F ? CTT_F16 : CTT_BF16;
}

/* T: int32_t of bytes, float of 16 bits. */
template <class T>
static T row_by_column(const lt_product &p, const T *row, const char *place,
                       const T *x)
{
    T sum = 0;

    for (int64_t k = 0; k < p.a.cols / 2; k++) {
        if (place[k] < 0 || place[k] > 3)
            ctt_sim_die("cuSPARSELt: a damaged matrix");
        sum += row[k] * x[k / 2 * 4 + place[k]];
    }
    return sum;
}

template <class T>
static std::vector<T> numbers(const void *p, int64_t type, int64_t at,
                              int64_t n)
{
    std::vector<T> v((size_t)n);

    for (int64_t i = 0; i < n; i++)
        v[(size_t)i] = type == CUDA_R_8I
            ? (T)((const int8_t *)p)[at + i]
            : (T)ctt_load(p, float_type(type), at + i);
    return v;
}

/* put(place in D, sum). */
template <class T, class F>
static void multiply(const lt_product &p, const void *a, const void *b, F put)
{
    int64_t half = half_count(p.a), wide = p.a.cols / 2;
    const char *place = (const char *)a + half * size_of(p.a.type);
    std::vector<T> w = numbers<T>(a, p.a.type, 0, half);

    for (int64_t j = 0; j < p.d.cols; j++) {
        std::vector<T> x = numbers<T>(b, p.b.type, j * p.b.ld, p.b.rows);
        for (int64_t i = 0; i < p.d.rows; i++)
            put(j * p.d.ld + i, row_by_column<T>(p, &w[(size_t)(i * wide)],
                                                 place + i * wide, x.data()));
    }
}

cusparseStatus_t cusparseLtMatmul(
    const cusparseLtHandle_t *h, const cusparseLtMatmulPlan_t *plan,
    const void *alpha, const void *a, const void *b, const void *beta,
    const void *c, void *d, void *room, cudaStream_t *streams, int32_t count)
{
    LT_ENTER();
    lt_product p = in<lt_product>(plan);
    float by = *(const float *)alpha, plus = *(const float *)beta;
    size_t all = (size_t)((p.d.cols - 1) * p.d.ld + p.d.rows);

    if (h->data[0] != MAGIC || p.magic != MAGIC || c != d || count != 1 ||
        (uintptr_t)b % PART || (uintptr_t)d % PART ||
        !ctt_sim_is_device(a, half_bytes(p.a)) ||
        !ctt_sim_is_device(b, (size_t)(((p.b.cols - 1) * p.b.ld + p.b.rows) *
                                       size_of(p.b.type))) ||
        !ctt_sim_is_device(d, all * (size_t)size_of(p.d.type)) ||
        !ctt_sim_is_device(room, ROOM))
        return CUSPARSE_STATUS_INVALID_VALUE;
    return ctt_sim_give(streams[0], [=]() {
        memset(room, 0xff, ROOM);
        if (p.a.type == CUDA_R_8I)
            multiply<int32_t>(p, a, b, [=](int64_t at, int32_t sum) {
                ((int32_t *)d)[at] = sum;
            });
        else
            multiply<float>(p, a, b, [=](int64_t at, float sum) {
                float old = plus == 0 ? 0    /* else D is not read */
                            : plus * ctt_load(d, float_type(p.d.type), at);
                ctt_store(d, float_type(p.d.type), at, by * sum + old);
            });
    }) ? CUSPARSE_STATUS_EXECUTION_FAILED : CUSPARSE_STATUS_SUCCESS;
}
