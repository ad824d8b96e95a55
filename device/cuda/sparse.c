/* SPDX-License-Identifier: Apache-2.0
 * sparse.c: the provider "cusparse": dense layers and 1x1 convs of pruned
 * weights in sessions, as products of cuSPARSE: y = W x, W by rows of its
 * nonzero values (CSR).  Its blocked form (ELL) has square blocks, which no
 * form of pruning makes.  The library is loaded for the first weight for which
 * it pays. */
#include "device/cuda/blas_plan.h"
#include "device/cuda/core.h"
#include "device/cuda/kernels.h"
#include "device/cuda/packed.h"
#include "device/cuda/sparse.h"
#include "base/half.h"

#include <cusparse.h>
#include <dlfcn.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define LIBRARY "libcusparse.so." TEXT(CUSPARSE_VER_MAJOR)

#define FUNCTIONS(X)                                                    \
    X(cusparseCreate) X(cusparseDestroy) X(cusparseSetStream)           \
    X(cusparseGetErrorString) X(cusparseCreateCsr) X(cusparseDestroySpMat) \
    X(cusparseCreateDnMat) X(cusparseDestroyDnMat)                      \
    X(cusparseSpMM_bufferSize) X(cusparseSpMM)

struct sparse {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    cusparseHandle_t handle;    /* NULL: the library is not loaded */
    int              tried;
    struct ctt_packed *packed;
};

/* SHARE: NVIDIA's engineers find products of sparse matrices slower than dense
 * ones below 95% zeros (Yamaguchi and Busato, "Accelerating Matrix
 * Multiplication with Block Sparse Format", 2021).  LEAST: of smaller weights
 * both take as long as their launches, and a sparse one may need one more (an
 * estimate).  Neither was measured here.  ALIGN: of the arrays. */
enum { LEAST = 1 << 16, SHARE = 20, ALIGN = 16, PART = 256 };

/* Weights as `count` nonzero values, their columns, and where each row
 * begins. */
struct sparse_packed {
    struct ctt_packed base;
    int64_t rows, columns, count;
    int64_t at[2];    /* bytes from the rows to the columns and the values */
};

/* A call's cache. */
struct sparse_call { struct ctt_packed *packed; };

static const cudaDataType types[] = {
    [CTT_F32] = CUDA_R_32F, [CTT_F16] = CUDA_R_16F, [CTT_BF16] = CUDA_R_16BF,
};

static int sparse_error(const struct sparse *s, const struct ctt_call *c,
                        const char *what, cusparseStatus_t e)
{
    return ctt_error(CTT_EIO, "device cuda: %s: %.*s: %s", c->node->name,
                     (int)strcspn(what, "("), what,
                     s->cusparseGetErrorString(e));
}

/* Requires an int rc and a label out. */
#define CTT_SPARSE(s, c, call)                                          \
    do {                                                                \
        cusparseStatus_t e_ = (s)->call;                                \
        if (e_ != CUSPARSE_STATUS_SUCCESS) {                            \
            rc = sparse_error(s, c, #call, e_);                         \
            goto out;                                                   \
        }                                                               \
    } while (0)

/* ---- the library ---- */

/* 1 if it is there, and has all functions. */
static int find_library(struct sparse *s)
{
    void *so = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *at = so;

#define X(name)                                                         \
    at = at ? dlsym(so, #name) : NULL;                                  \
    memcpy(&s->name, &at, sizeof(at));    /* ISO C has no cast for it */
    FUNCTIONS(X)
#undef X
    return at != NULL;
}

static int is_loaded(struct sparse *s)
{
    if (!s->tried && find_library(s) &&
        s->cusparseCreate(&s->handle) != CUSPARSE_STATUS_SUCCESS)
        s->handle = NULL;
    s->tried = 1;
    return s->handle != NULL;
}

static int open_sparse(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct sparse));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

static void close_sparse(void *state)
{
    struct sparse *s = state;

    if (s->handle)
        s->cusparseDestroy(s->handle);
    ctt_free(s);
}

/* ---- weights ---- */

static int64_t count_nonzero(const void *w, enum ctt_dtype type, int64_t n)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        count += ctt_load(w, type, i) != 0;
    return count;
}

/* Sets the arrays of the nonzero values of w. */
static void fill_block(const struct sparse_packed *k, const char *w,
                       int64_t size, enum ctt_dtype type, char *block)
{
    int32_t *row = (int32_t *)(void *)block, n = 0;
    int32_t *column = (int32_t *)(void *)(block + k->at[0]);
    char *value = block + k->at[1];

    for (int64_t i = 0; i < k->rows * k->columns; i++) {
        if (i % k->columns == 0)
            row[i / k->columns] = n;
        if (ctt_load(w, type, i) == 0)
            continue;
        column[n] = (int32_t)(i % k->columns);
        memcpy(value + n++ * size, w + i * size, (size_t)size);
    }
    row[k->rows] = n;
}

static int upload_block(struct ctt_dev *d, const char *w, enum ctt_dtype type,
                        struct sparse_packed *k)
{
    int64_t size = ctt_dtype_size(type), all, rc = 0;
    char *block;

    k->at[0] = ctt_align((k->rows + 1) * (int64_t)sizeof(int32_t), PART);
    k->at[1] = k->at[0] + ctt_align(k->count * (int64_t)sizeof(int32_t), PART);
    all = k->at[1] + k->count * size;
    block = ctt_calloc((size_t)all, 1);
    CTT_TRY(block ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory"));
    fill_block(k, w, size, type, block);
    CTT_TRY(ctt_cuda_malloc("sparse weights", all, &k->base.block[0]));
    CTT_TRY(ctt_cuda_copy(d, CTT_TO_DEVICE, block, k->base.block[0], all));
out:
    ctt_free(block);
    return (int)rc;
}

/* Counts the zeros of the call's weights, and packs the others if they are few
 * enough. */
static int pack_sparse(const struct ctt_conv_ask *q, struct ctt_packed *base)
{
    struct sparse_packed *k = (struct sparse_packed *)base;
    const struct ctt_tensor *w = &q->call->w[0].t;
    int64_t n = ctt_volume(w), bytes = n * ctt_dtype_size(w->dtype);
    char *host = ctt_calloc((size_t)bytes, 1);
    int rc = 0;

    CTT_TRY(host ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory"));
    CTT_TRY(ctt_cuda_copy(q->dev, CTT_TO_HOST, w->data, host, bytes));
    k->rows = w->n;
    k->columns = n / w->n;
    k->count = count_nonzero(host, w->dtype, n);
    if (k->count > 0 && k->count * SHARE <= n)
        CTT_TRY(upload_block(q->dev, host, w->dtype, k));
out:
    ctt_free(host);
    return rc;
}

/* ---- the provider ---- */

static int is_aligned(struct ctt_matrix m)
{
    return (uintptr_t)m.p % ALIGN == 0 &&
           m.ld * ctt_dtype_size(m.type) % ALIGN == 0;
}

int ctt_sparse_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    enum ctt_product_shape shape = ctt_product_shape(c);
    enum ctt_dtype type = c->w[0].t.dtype;

    if (q->part != CTT_CONV_OUT || c->train || c->stamp != 1)
        q->why = "weights may change";
    else if (shape == CTT_NO_PRODUCT || c->node->op != CTT_OP_CONV)
        q->why = "not one matrix product";
    else if (!ctt_is_float_type(type) || c->in[0].dtype != type ||
             (c->out.dtype != type && c->out.dtype != CTT_F32))
        q->why = "no product of these types";
    else if (!is_aligned(ctt_product_columns(&c->in[0], shape)) ||
             !is_aligned(ctt_product_columns(&c->out, CTT_PRODUCT_PIXELS)))
        q->why = "values do not begin at multiples of 16 bytes";
    return !q->why;
}

static int sparse_pays(struct ctt_conv_ask *q)
{
    struct sparse *s = q->state;
    struct sparse_call *k = NULL;
    int rc = 0;

    if (ctt_volume(&q->call->w[0].t) < LEAST) {
        q->why = "few weights";
        return 0;
    }
    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_packed_find(q, &s->packed, sizeof(struct sparse_packed),
                            pack_sparse, &k->packed));
    q->why = !rc ? "not packed before a recording"
             : !k->packed->block[0] ? "fewer than 95% of the weights are zeros"
             : is_loaded(s) ? "95% of the weights are zeros"
                            : "no " LIBRARY;
    rc = rc && k->packed->block[0] && s->handle;
out:
    return rc;
}

/* The product's operands: W, and x and y with a pixel or image in each
 * column. */
struct operands {
    cusparseSpMatDescr_t w;
    cusparseDnMatDescr_t x, y;
};

static int describe(const struct sparse *s, const struct ctt_call *c,
                    const struct sparse_packed *k, struct operands *o)
{
    char *block = k->base.block[0];
    struct ctt_matrix x = ctt_product_columns(&c->in[0], ctt_product_shape(c));
    struct ctt_matrix y = ctt_product_columns(&c->out, CTT_PRODUCT_PIXELS);
    int rc = 0;

    CTT_SPARSE(s, c, cusparseCreateCsr(
        &o->w, k->rows, k->columns, k->count, block, block + k->at[0],
        block + k->at[1], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
        CUSPARSE_INDEX_BASE_ZERO, types[c->w[0].t.dtype]));
    CTT_SPARSE(s, c, cusparseCreateDnMat(&o->x, x.rows, x.cols, x.ld, x.p,
                                         types[x.type], CUSPARSE_ORDER_COL));
    CTT_SPARSE(s, c, cusparseCreateDnMat(&o->y, y.rows, y.cols, y.ld, y.p,
                                         types[y.type], CUSPARSE_ORDER_COL));
out:
    return rc;
}

static void drop_operands(const struct sparse *s, struct operands *o)
{
    if (o->w)
        s->cusparseDestroySpMat(o->w);
    if (o->x)
        s->cusparseDestroyDnMat(o->x);
    if (o->y)
        s->cusparseDestroyDnMat(o->y);
}

/* y = W x, or y += W x with add. */
static int multiply_csr(const struct ctt_conv_ask *q, int add)
{
    const struct ctt_packed *k = ((struct sparse_call *)*q->own)->packed;
    const cusparseOperation_t none = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseSpMMAlg_t how = q->dev->deterministic
                                      ? CUSPARSE_SPMM_CSR_ALG3
                                      : CUSPARSE_SPMM_CSR_ALG1;
    const struct ctt_call *c = q->call;
    const struct sparse *s = q->state;
    const float one = 1, beta = (float)add;
    struct operands o = { NULL, NULL, NULL };
    size_t bytes = 0;
    void *room = NULL;
    int rc = 0;

    CTT_TRY(describe(s, c, (const struct sparse_packed *)k, &o));
    CTT_SPARSE(s, c, cusparseSetStream(s->handle,
                                       ctt_cuda_lane(q->dev)->stream));
    CTT_SPARSE(s, c, cusparseSpMM_bufferSize(
        s->handle, none, none, &one, o.w, o.x, &beta, o.y, CUDA_R_32F, how,
        &bytes));
    CTT_TRY(ctt_cuda_scratch(q->dev, c, bytes, &room));
    CTT_SPARSE(s, c, cusparseSpMM(
        s->handle, none, none, &one, o.w, o.x, &beta, o.y, CUDA_R_32F, how,
        room));
out:
    drop_operands(s, &o);
    return rc;
}

/* The product adds a plus input in place; a kernel does the rest. */
int ctt_sparse_run(struct ctt_conv_ask *q, ctt_sparse_product *multiply)
{
    const struct ctt_call *c = q->call;
    struct ctt_tensor plus = { .data = NULL };
    int add, rc = 0;

    if (c->node->nin > 1)
        plus = c->in[1];
    add = plus.data && plus.data == c->out.data;
    if (add)
        plus.data = NULL;
    CTT_TRY(multiply(q, add));
    if (plus.data || c->w[1].t.data || c->act)
        CTT_CUDA(c, (cudaError_t)ctt_launch_finish(
            c->out, plus, c->w[1].t.data, c->act, c->out,
            ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

static int sparse_run(struct ctt_conv_ask *q)
{
    return ctt_sparse_run(q, multiply_csr);
}

static void sparse_free(void *own)
{
    ctt_packed_drop(&((struct sparse_call *)own)->packed);
    ctt_free(own);
}

const struct ctt_conv_provider ctt_conv_cusparse = {
    .name = "cusparse", .any_threads = 1, .open = open_sparse,
    .close = close_sparse, .can = ctt_sparse_supports, .pays = sparse_pays,
    .run = sparse_run, .forget = sparse_free,
};
