/* SPDX-License-Identifier: Apache-2.0
 * lt.c: cuSPARSELt, which is loaded for the first product for which it pays. */
#include "device/cuda/lt.h"

#include <stdalign.h>    /* the next header may lack it */
#include <cusparseLt.h>
#include <dlfcn.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define LIBRARY "libcusparseLt.so." TEXT(CUSPARSELT_VER_MAJOR)

#define FUNCTIONS(X)                                                        \
    X(cusparseLtInit) X(cusparseLtDestroy) X(cusparseLtGetProperty)         \
    X(cusparseLtGetErrorString) X(cusparseLtDenseDescriptorInit)            \
    X(cusparseLtStructuredDescriptorInit) X(cusparseLtMatDescriptorDestroy) \
    X(cusparseLtMatmulDescriptorInit) X(cusparseLtMatmulAlgSelectionInit)   \
    X(cusparseLtMatmulAlgSelectionDestroy) X(cusparseLtMatmulPlanInit)      \
    X(cusparseLtMatmulPlanDestroy) X(cusparseLtMatmulGetWorkspace)          \
    X(cusparseLtSpMMACompressedSize2) X(cusparseLtSpMMACompress2)           \
    X(cusparseLtMatmul)

struct ctt_lt {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    cusparseLtHandle_t  handle;
    int                 open;
    struct ctt_lt_plan *plans;
};

enum { W_OF, X_OF, Y_OF, MATRICES };

/* exists: the library can compute it. */
struct ctt_lt_plan {
    struct ctt_lt_plan            *next;
    struct ctt_lt_shape            shape;
    int                            made, chosen, exists;
    cusparseLtMatDescriptor_t      of[MATRICES];
    cusparseLtMatmulDescriptor_t   product;
    cusparseLtMatmulAlgSelection_t how;
    cusparseLtMatmulPlan_t         plan;
    size_t                         room;
};

/* Multiples that cuSPARSELt requires: `each` of W's rows and columns, half of
 * it of those of x and y and of steps (NVIDIA, "cuSPARSELt Functions",
 * cusparseLtStructuredDescriptorInit(); version 0.10 refuses others).  least:
 * operations per byte moved from which on a product is limited by arithmetic,
 * which 2:4 halves, and not by memory (NVIDIA, "Matrix Multiplication
 * Background User's Guide"): of an A100, 312 dense TFLOP/s in 16 bits or 624
 * TOP/s in 8, and 2.04 TB/s.  Not measured here. */
static const struct numbers {
    cudaDataType        type, sums;
    cusparseComputeType compute;
    int64_t             each, size, result;
    double              least;
} numbers[] = {
    [CTT_F16] = { CUDA_R_16F, CUDA_R_16F, CUSPARSE_COMPUTE_32F, 16, 2, 2, 153 },
    [CTT_BF16] = { CUDA_R_16BF, CUDA_R_16BF, CUSPARSE_COMPUTE_32F, 16, 2, 2,
                   153 },
    [CTT_I8] = { CUDA_R_8I, CUDA_R_32I, CUSPARSE_COMPUTE_32I, 32, 1, 4, 306 },
};

enum { PART = 16 };    /* alignment in bytes */

/* Requires an int rc and a label out. */
#define CTT_LT(l, c, call)                                                  \
    do {                                                                    \
        cusparseStatus_t e_ = (l)->call;                                    \
        if (e_ != CUSPARSE_STATUS_SUCCESS) {                                \
            rc = ctt_error(CTT_EIO, "device cuda: %s: %.*s: %s",            \
                           (c)->node->name, (int)strcspn(#call, "("), #call, \
                           (l)->cusparseLtGetErrorString(e_));              \
            goto out;                                                       \
        }                                                                   \
    } while (0)

/* ---- the library ---- */

/* 1 if it is there, has all functions, and is of the header's version: another
 * one's structures may be larger. */
static int find_lt(struct ctt_lt *l)
{
    void *so = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *at = so;
    int major = -1, minor = -1;

#define X(name)                                                             \
    at = at ? dlsym(so, #name) : NULL;                                      \
    memcpy(&l->name, &at, sizeof(at));    /* ISO C has no cast for it */
    FUNCTIONS(X)
#undef X
    if (!at || l->cusparseLtGetProperty(MAJOR_VERSION, &major) ||
        l->cusparseLtGetProperty(MINOR_VERSION, &minor))
        return 0;
    return major == CUSPARSELT_VER_MAJOR && minor == CUSPARSELT_VER_MINOR;
}

/* The device's, or NULL. */
static struct ctt_lt *library(struct ctt_core *k)
{
    if (!k->lt) {
        k->lt = ctt_calloc(1, sizeof(*k->lt));
        if (k->lt && find_lt(k->lt))
            k->lt->open = k->lt->cusparseLtInit(&k->lt->handle) ==
                          CUSPARSE_STATUS_SUCCESS;
        cudaGetLastError();
    }
    return k->lt && k->lt->open ? k->lt : NULL;
}

static void drop_lt_plan(struct ctt_lt *l, struct ctt_lt_plan *p)
{
    if (p->exists)
        l->cusparseLtMatmulPlanDestroy(&p->plan);
    if (p->chosen)
        l->cusparseLtMatmulAlgSelectionDestroy(&p->how);
    while (p->made > 0)
        l->cusparseLtMatDescriptorDestroy(&p->of[--p->made]);
    p->exists = p->chosen = 0;
}

void ctt_lt_close(struct ctt_core *k)
{
    struct ctt_lt *l = k->lt;

    for (struct ctt_lt_plan *p; l && (p = l->plans);) {
        l->plans = p->next;
        drop_lt_plan(l, p);
        ctt_free(p);
    }
    if (l && l->open)
        l->cusparseLtDestroy(&l->handle);
    ctt_free(l);
    k->lt = NULL;
}

/* ---- plans ---- */

static cusparseStatus_t describe_lt(struct ctt_lt *l, struct ctt_lt_plan *p)
{
    const struct ctt_lt_shape *s = &p->shape;
    const struct numbers *n = &numbers[s->type];
    cusparseStatus_t e;

    e = l->cusparseLtStructuredDescriptorInit(
        &l->handle, &p->of[W_OF], s->outs, s->ins, s->ins, PART, n->type,
        CUSPARSE_ORDER_ROW, CUSPARSELT_SPARSITY_50_PERCENT);
    p->made += e == CUSPARSE_STATUS_SUCCESS;
    if (!e)
        e = l->cusparseLtDenseDescriptorInit(
            &l->handle, &p->of[X_OF], s->ins, s->columns, s->ldx, PART,
            n->type, CUSPARSE_ORDER_COL);
    p->made += e == CUSPARSE_STATUS_SUCCESS;
    if (!e)
        e = l->cusparseLtDenseDescriptorInit(
            &l->handle, &p->of[Y_OF], s->outs, s->columns, s->ldy, PART,
            n->sums, CUSPARSE_ORDER_COL);
    p->made += e == CUSPARSE_STATUS_SUCCESS;
    if (!e)
        e = l->cusparseLtMatmulDescriptorInit(
            &l->handle, &p->product, CUSPARSE_OPERATION_NON_TRANSPOSE,
            CUSPARSE_OPERATION_NON_TRANSPOSE, &p->of[W_OF], &p->of[X_OF],
            &p->of[Y_OF], &p->of[Y_OF], n->compute);
    return e;
}

/* A plan that cannot be made is kept, so that it is not tried again. */
static void make_lt_plan(struct ctt_lt *l, struct ctt_lt_plan *p)
{
    cusparseStatus_t e = describe_lt(l, p);

    if (!e)
        e = l->cusparseLtMatmulAlgSelectionInit(
            &l->handle, &p->how, &p->product, CUSPARSELT_MATMUL_ALG_DEFAULT);
    p->chosen = e == CUSPARSE_STATUS_SUCCESS;
    if (!e)
        e = l->cusparseLtMatmulPlanInit(&l->handle, &p->plan, &p->product,
                                        &p->how);
    p->exists = e == CUSPARSE_STATUS_SUCCESS;
    if (!e)
        e = l->cusparseLtMatmulGetWorkspace(&l->handle, &p->plan, &p->room);
    if (e)
        drop_lt_plan(l, p);
    cudaGetLastError();
}

static int is_even(const struct ctt_lt_shape *s, int64_t each)
{
    int64_t half = each / 2;

    return s->outs % each == 0 && s->ins % each == 0 &&
           s->columns % half == 0 && s->ldx % half == 0 && s->ldy % half == 0;
}

/* Operations of the dense product per byte that it moves. */
static double intensity(const struct ctt_lt_shape *s, const struct numbers *n)
{
    double m = (double)s->outs, k = (double)s->ins, c = (double)s->columns;

    return 2 * m * k * c / ((m + c) * k * (double)n->size +
                            m * c * (double)n->result);
}

int ctt_lt_pays(struct ctt_conv_ask *q, const struct ctt_lt_shape *s)
{
    const struct numbers *n = &numbers[s->type];

    if (!is_even(s, n->each))
        q->why = "sizes are no multiples of 16 or 32";
    else if (intensity(s, n) < n->least)
        q->why = "limited by memory";
    return !q->why;
}

int ctt_lt_find(struct ctt_conv_ask *q, const struct ctt_lt_shape *s,
                struct ctt_lt_plan **out)
{
    struct ctt_cuda *u = ctt_cuda_of(q->dev);
    struct ctt_lt *l = library(u->core);
    struct ctt_lt_plan *p;
    int rc = 0;

    if (!l) {
        q->why = "no " LIBRARY " of version " TEXT(CUSPARSELT_VER_MAJOR) "."
                 TEXT(CUSPARSELT_VER_MINOR);
        goto out;
    }
    for (p = l->plans; p && memcmp(&p->shape, s, sizeof(*s)) != 0;)
        p = p->next;
    if (!p && u->recording) {
        q->why = "not planned before a recording";
        goto out;
    }
    if (!p) {
        p = ctt_calloc(1, sizeof(*p));
        CTT_CHECK(p, CTT_ENOMEM, "%s: no memory for a plan",
                  q->call->node->name);
        memcpy(&p->shape, s, sizeof(*s));
        make_lt_plan(l, p);
        p->next = l->plans;
        l->plans = p;
    }
    q->why = p->exists ? NULL : "cuSPARSELt has no kernel";
    *out = p;
    rc = p->exists;
out:
    return rc;
}

size_t ctt_lt_room(const struct ctt_lt_plan *p)
{
    return p->room;
}

/* ---- weights ---- */

/* 1 if each four neighbours in `bytes` bytes have two zeros at least.  -0 is
 * none. */
static int is_two_of_four(const char *w, int64_t bytes, int64_t size)
{
    static const char zero[8];
    int kept = 0;

    for (int64_t i = 0; i < bytes / size; i++) {
        kept = i % 4 ? kept : 0;
        kept += memcmp(w + i * size, zero, (size_t)size) != 0;
        if (kept > 2)
            return 0;
    }
    return 1;
}

int ctt_lt_is_two(const struct ctt_conv_ask *q, enum ctt_dtype type,
                  const void *w, int64_t n)
{
    int64_t size = numbers[type].size, bytes = n * size;
    char *host = NULL;
    int rc = 0;

    if ((uintptr_t)w % PART != 0)
        goto out;
    host = ctt_calloc((size_t)bytes, 1);
    CTT_CHECK(host, CTT_ENOMEM, "%s: out of memory", q->call->node->name);
    CTT_TRY(ctt_cuda_copy(q->dev, CTT_TO_HOST, w, host, bytes));
    rc = is_two_of_four(host, bytes, size);
out:
    ctt_free(host);
    return rc;
}

/* Without it the dense weights serve, so that a failure is no error. */
int ctt_lt_compress(struct ctt_conv_ask *q, const struct ctt_lt_plan *p,
                    const void *w, void **out)
{
    struct ctt_lt *l = ctt_cuda_of(q->dev)->core->lt;
    size_t half = 0, work = 0;
    void *room = NULL;

    *out = NULL;
    if (!l->cusparseLtSpMMACompressedSize2(&l->handle, &p->of[W_OF], &half,
                                           &work) &&
        (!work || !ctt_cuda_scratch(q->dev, q->call, work, &room)) &&
        !ctt_cuda_malloc("2:4 weights", (int64_t)half, out) &&
        !l->cusparseLtSpMMACompress2(&l->handle, &p->of[W_OF], 1,
                                     CUSPARSE_OPERATION_NON_TRANSPOSE, w, *out,
                                     room, ctt_cuda_lane(q->dev)->stream))
        return 1;
    if (*out)
        cudaFree(*out);
    *out = NULL;
    cudaGetLastError();
    q->why = "no memory for 2:4 weights";
    return 0;
}

int ctt_lt_multiply(const struct ctt_conv_ask *q, struct ctt_lt_plan *p,
                    const void *w, const void *x, void *y, int add,
                    void *room)
{
    struct ctt_lt *l = ctt_cuda_of(q->dev)->core->lt;
    const float one = 1, beta = (float)add;
    int rc = 0;

    CTT_LT(l, q->call, cusparseLtMatmul(&l->handle, &p->plan, &one, w, x,
                                        &beta, y, y, room,
                                        &ctt_cuda_lane(q->dev)->stream, 1));
out:
    return rc;
}
