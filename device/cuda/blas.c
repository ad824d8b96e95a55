/* SPDX-License-Identifier: Apache-2.0
 * blas.c: convs that are matrix products, by cuBLASLt.  What it needs for a
 * product of given sizes, types and alignments is made once and kept. */
#include "device/cuda/cuda.h"
#include "device/cuda/kernels.h"

#include <string.h>

enum { A, B, C, Y, MATRICES };
enum { WORKSPACE = 32 << 20, ALIGN = 256 };

/* y = op(a) op(b) + c, by columns as cuBLAS has matrices: column j starts ld
 * numbers after the one before.  Our rows are its columns. */
struct matrix { void *p; enum ctt_dtype type; int64_t rows, cols, ld; };
struct product {
    struct matrix at[MATRICES];
    int           trans[2], add;     /* add: c counts */
    int           epilogue;
    const float  *bias;
};

/* What a plan is for; no gaps, so that two can be compared as bytes. */
struct key {
    struct { int64_t rows, cols, ld; int32_t type, align; } at[MATRICES];
    int32_t trans[2], epilogue, add;
};

struct ctt_product_plan {
    struct key                key;
    cublasLtMatmulDesc_t      desc;
    cublasLtMatrixLayout_t    layout[MATRICES];
    cublasLtMatmulAlgo_t      algo;
    size_t                    workspace;
    int                       exists;    /* 0: cuBLASLt has none */
    struct ctt_product_plan  *next;
};

static const cudaDataType_t types[] = {
    [CTT_F32] = CUDA_R_32F, [CTT_F16] = CUDA_R_16F, [CTT_BF16] = CUDA_R_16BF,
};

/* ---- plans ---- */

static int32_t alignment(const void *p)
{
    uintptr_t at = (uintptr_t)p | ALIGN;

    return (int32_t)(at & (0 - at));
}

static struct key key_of(const struct product *x)
{
    struct key k;

    memset(&k, 0, sizeof(k));
    for (int i = 0; i < MATRICES; i++) {
        const struct matrix *m = &x->at[i];
        k.at[i].rows = m->rows;
        k.at[i].cols = m->cols;
        k.at[i].ld = m->ld;
        k.at[i].type = (int32_t)m->type;
        k.at[i].align = alignment(m->p);
    }
    k.trans[A] = x->trans[A];
    k.trans[B] = x->trans[B];
    k.epilogue = x->epilogue;
    k.add = x->add;
    return k;
}

static int describe(const struct ctt_call *c, const struct product *x,
                    struct ctt_product_plan *p)
{
    static const cublasLtMatmulDescAttributes_t side[] = {
        CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB
    };
    cublasLtEpilogue_t epilogue = (cublasLtEpilogue_t)x->epilogue;
    int rc = 0;

    /* Sums in fp32; fp32 numbers are multiplied as such, not as TF32. */
    CTT_CUBLAS(c, cublasLtMatmulDescCreate(&p->desc, CUBLAS_COMPUTE_32F,
                                           CUDA_R_32F));
    for (int i = A; i <= B; i++) {
        cublasOperation_t op = x->trans[i] ? CUBLAS_OP_T : CUBLAS_OP_N;
        CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(p->desc, side[i], &op,
                                                     sizeof(op)));
    }
    CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(
                   p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                   sizeof(epilogue)));
    if (x->bias)
        CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(
                       p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &x->bias,
                       sizeof(x->bias)));
    for (int i = 0; i < MATRICES; i++)
        CTT_CUBLAS(c, cublasLtMatrixLayoutCreate(
                       &p->layout[i], types[x->at[i].type],
                       (uint64_t)x->at[i].rows, (uint64_t)x->at[i].cols,
                       x->at[i].ld));
out:
    return rc;
}

static int prefer(const struct ctt_call *c, const struct key *k,
                  cublasLtMatmulPreference_t *out)
{
    static const cublasLtMatmulPreferenceAttributes_t name[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    };
    /* A sum that is cut up must not have its parts rounded to 16 bits. */
    uint32_t cut = k->at[Y].type == CTT_F32 ? CUBLASLT_REDUCTION_SCHEME_MASK
                                            : CUBLASLT_REDUCTION_SCHEME_NONE;
    uint64_t room = WORKSPACE;
    int rc = 0;

    CTT_CUBLAS(c, cublasLtMatmulPreferenceCreate(out));
    CTT_CUBLAS(c, cublasLtMatmulPreferenceSetAttribute(
                   *out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room,
                   sizeof(room)));
    CTT_CUBLAS(c, cublasLtMatmulPreferenceSetAttribute(
                   *out, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &cut,
                   sizeof(cut)));
    for (int i = 0; i < MATRICES; i++) {
        uint32_t align = (uint32_t)k->at[i].align;
        CTT_CUBLAS(c, cublasLtMatmulPreferenceSetAttribute(
                       *out, name[i], &align, sizeof(align)));
    }
out:
    return rc;
}

/* The first algorithm that cuBLASLt thinks best, if it has any. */
static int choose(struct ctt_cuda *u, const struct ctt_call *c,
                  struct ctt_product_plan *p)
{
    cublasLtMatmulPreference_t pref = NULL;
    cublasLtMatmulHeuristicResult_t best;
    cublasStatus_t status;
    int found = 0, rc = 0;

    CTT_TRY(prefer(c, &p->key, &pref));
    status = cublasLtMatmulAlgoGetHeuristic(
        u->blas, p->desc, p->layout[A], p->layout[B], p->layout[C],
        p->layout[Y], pref, 1, &best, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        status == CUBLAS_STATUS_INVALID_VALUE)
        goto out;
    CTT_CUBLAS(c, status);
    if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS)
        goto out;
    p->algo = best.algo;
    p->workspace = best.workspaceSize;
    p->exists = 1;
out:
    if (pref)
        cublasLtMatmulPreferenceDestroy(pref);
    return rc;
}

static void drop_plan(struct ctt_product_plan *p)
{
    for (int i = 0; p && i < MATRICES; i++)
        if (p->layout[i])
            cublasLtMatrixLayoutDestroy(p->layout[i]);
    if (p && p->desc)
        cublasLtMatmulDescDestroy(p->desc);
    ctt_free(p);
}

void ctt_cublas_close(struct ctt_cuda *u)
{
    while (u->products) {
        struct ctt_product_plan *p = u->products;
        u->products = p->next;
        drop_plan(p);
    }
}

/* 1 and the plan of a product, or 0 if there is none. */
static int plan_of(struct ctt_dev *d, const struct ctt_call *c,
                   const struct product *x, struct ctt_product_plan **out)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct key k = key_of(x);
    struct ctt_product_plan *p = NULL, *q = u->products;
    int rc = 0;

    while (q && memcmp(&q->key, &k, sizeof(k)) != 0)
        q = q->next;
    if (!q) {
        p = ctt_calloc(1, sizeof(*p));
        CTT_CHECK(p, CTT_ENOMEM, "%s: no memory for a plan", c->node->name);
        p->key = k;
        CTT_TRY(describe(c, x, p));
        CTT_TRY(choose(u, c, p));
        p->next = u->products;
        u->products = q = p;
        p = NULL;
    }
    *out = q;
    rc = q->exists;
out:
    drop_plan(p);
    return rc;
}

static int multiply(struct ctt_dev *d, const struct ctt_call *c,
                    const struct product *x, struct ctt_product_plan *p)
{
    float one = 1, beta = x->add ? 1 : 0;
    const struct matrix *m = x->at;
    void *scratch = NULL;
    int rc = 0;

    if (p->workspace)
        CTT_TRY(ctt_cuda_scratch(d, c, p->workspace, &scratch));
    if (x->bias)
        CTT_CUBLAS(c, cublasLtMatmulDescSetAttribute(
                       p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &x->bias,
                       sizeof(x->bias)));
    CTT_CUBLAS(c, cublasLtMatmul(
                   ctt_cuda_of(d)->blas, p->desc, &one, m[A].p, p->layout[A],
                   m[B].p, p->layout[B], &beta, m[C].p, p->layout[C], m[Y].p,
                   p->layout[Y], &p->algo, scratch, p->workspace,
                   ctt_cuda_lane(d)->stream));
out:
    return rc;
}

/* ---- calls as products ---- */

/* The axes of a conv of which each result sees one pixel, or that has one
 * result an image, which sees all of it: then a row of the product is a pixel,
 * or an image. */
enum shape { NO_PRODUCT, PIXELS, IMAGES };

static int is_dense(const struct ctt_tensor *t)
{
    return !t->data || t->ld == t->c;
}

static enum shape shape_of(const struct ctt_call *c)
{
    const struct ctt_tensor *x = &c->in[0], *y = &c->out;
    const int *k = c->node->attr.conv.kernel, *s = c->node->attr.conv.stride;
    const int *pad = c->node->attr.conv.pad;
    const int64_t size[3] = { x->d, x->h, x->w };
    int pixels = 1, images = c->node->op == CTT_OP_CONV;

    for (int i = 0; i < 3; i++) {
        pixels = pixels && k[i] == 1 && s[i] == 1 && pad[i] == 0;
        images = images && k[i] == size[i] && pad[i] == 0;
    }
    if (pixels)
        return PIXELS;
    images = images && is_dense(&c->in[0]) && is_dense(&c->din[0]) &&
             y->d * y->h * y->w == 1;
    return images ? IMAGES : NO_PRODUCT;
}

/* A tensor as a matrix, whose columns are its pixels or images. */
static struct matrix columns(const struct ctt_tensor *t, enum shape shape)
{
    int64_t cols = ctt_rows(t), c = t->c, ld = t->ld;

    if (shape == IMAGES) {
        cols = t->n;
        c = ld = ctt_volume(t) / t->n;
    }
    return (struct matrix){ t->data, t->dtype, c, cols, ld };
}

/* Weights and their gradients: a column an output. */
static struct matrix weights(const struct ctt_tensor *w)
{
    int64_t each = ctt_volume(w) / w->n;

    return (struct matrix){ w->data, w->dtype, each, w->n, each };
}

static struct product product_of(struct matrix a, int trans_a,
                                 struct matrix b, int trans_b,
                                 struct matrix y, int add)
{
    return (struct product){ .at = { a, b, y, y },
                             .trans = { trans_a, trans_b }, .add = add,
                             .epilogue = CUBLASLT_EPILOGUE_DEFAULT };
}

/* What forward does besides the product; what the product takes along is
 * taken out. */
struct besides { struct ctt_tensor plus; const float *bias; int act; };

/* plus in the type of the result is a matrix that is added.  A bias must have
 * the result's type, which biases of 16-bit results have not; relu is the last
 * thing of all. */
static void take_along(const struct ctt_call *c, struct product *x,
                       struct besides *b)
{
    int epilogue = CUBLASLT_EPILOGUE_DEFAULT;

    if (b->plus.data && b->plus.dtype == c->out.dtype) {
        x->at[C] = columns(&b->plus, PIXELS);
        x->add = 1;
        b->plus.data = NULL;
    }
    if (b->bias && !b->plus.data && c->out.dtype == CTT_F32) {
        epilogue = CUBLASLT_EPILOGUE_BIAS;
        x->bias = b->bias;
        b->bias = NULL;
    }
    if (b->act == CTT_ACT_RELU + 1 && !b->plus.data && !b->bias) {
        epilogue = x->bias ? CUBLASLT_EPILOGUE_RELU_BIAS
                           : CUBLASLT_EPILOGUE_RELU;
        b->act = 0;
    }
    x->epilogue = epilogue;
}

static int forward(struct ctt_dev *d, const struct ctt_call *c,
                   enum shape shape)
{
    struct besides all = { .bias = c->w[1].t.data, .act = c->act }, left;
    struct product x = product_of(weights(&c->w[0].t), 1,
                                  columns(&c->in[0], shape), 0,
                                  columns(&c->out, PIXELS), 0), y = x;
    struct ctt_product_plan *plan = NULL;
    int rc = 0;

    if (c->node->nin > 1)
        all.plus = c->in[1];
    left = all;
    take_along(c, &y, &left);
    CTT_TRY(plan_of(d, c, &y, &plan));
    if (rc == 0) {      /* plus in place must be added by the product */
        left = all;
        if (left.plus.data == c->out.data) {
            left.plus.data = NULL;
            x.add = 1;
        }
        y = x;
        CTT_TRY(plan_of(d, c, &y, &plan));
    }
    if (rc == 0)
        goto out;
    CTT_TRY(multiply(d, c, &y, plan));
    if (left.plus.data || left.bias || left.act)
        CTT_CUDA(c, ctt_launch_finish(c->out, left.plus, left.bias, left.act,
                                      c->out, ctt_cuda_lane(d)->stream));
    rc = 1;
out:
    return rc;
}

/* What backward does besides: the gradients of bias and plus. */
static int back_besides(struct ctt_dev *d, const struct ctt_call *c)
{
    void *stream = ctt_cuda_lane(d)->stream, *scratch;
    int rc = 0;

    if (c->dw[1].data) {
        CTT_TRY(ctt_cuda_scratch(d, c, ctt_launch_bias_bwd_scratch(c->dout),
                                 &scratch));
        CTT_CUDA(c, ctt_launch_bias_bwd(c->dout, c->dw[1].data, scratch,
                                        stream));
    }
    if (c->node->nin > 1 && c->din[1].data && c->din[1].data != c->dout.data)
        CTT_CUDA(c, ctt_launch_copy(c->dout, c->din[1], (int)(c->add >> 1 & 1),
                                    stream));
out:
    return rc;
}

static int backward(struct ctt_dev *d, const struct ctt_call *c,
                    enum shape shape)
{
    struct matrix dy = columns(&c->dout, PIXELS);
    struct product x[2];
    struct ctt_product_plan *plan[2];
    int n = 0, rc = 0;

    if (c->dw[0].data)      /* dw += x' dy */
        x[n++] = product_of(columns(&c->in[0], shape), 0, dy, 1,
                            weights(&c->dw[0]), 1);
    if (c->din[0].data)     /* dx (+)= w dy */
        x[n++] = product_of(weights(&c->w[0].t), 0, dy, 0,
                            columns(&c->din[0], shape), (int)(c->add & 1));
    for (int i = 0; i < n; i++) {    /* all, or none */
        rc = x[i].at[A].type == x[i].at[B].type
             ? plan_of(d, c, &x[i], &plan[i]) : 0;
        if (rc <= 0)
            goto out;
    }
    for (int i = 0; i < n; i++)
        CTT_TRY(multiply(d, c, &x[i], plan[i]));
    CTT_TRY(back_besides(d, c));
    rc = 1;
out:
    return rc;
}

int ctt_cublas_try(struct ctt_dev *d, const struct ctt_call *c,
                   enum ctt_pass pass)
{
    enum shape shape = shape_of(c);

    if (shape == NO_PRODUCT)
        return 0;
    if (pass == CTT_BWD)
        return backward(d, c, shape);
    return c->in[0].dtype == c->w[0].t.dtype ? forward(d, c, shape) : 0;
}

int ctt_cublas_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                     float *y)
{
    struct ctt_node node = { .op = CTT_OP_CONV, .name = "sgemm", .nin = 1 };
    struct ctt_tensor t = { .n = n, .d = 1, .h = 1, .w = 1, .c = n, .ld = n };
    struct ctt_call c = { .node = &node };
    int rc = 0;

    for (int i = 0; i < 3; i++)
        node.attr.conv.kernel[i] = node.attr.conv.stride[i] = 1;
    c.in[0] = c.out = c.w[0].t = t;
    c.in[0].data = (void *)(uintptr_t)a;
    c.w[0].t.data = (void *)(uintptr_t)b;
    c.out.data = y;
    CTT_TRY(ctt_cublas_try(d, &c, CTT_FWD));
    CTT_CHECK(rc == 1, CTT_EUNSUP, "cuBLASLt has no product of two matrices of"
              " %d x %d", n, n);
    rc = 0;
out:
    return rc;
}
