/* SPDX-License-Identifier: Apache-2.0
 * blas.c: the provider "cublaslt": convs that are one matrix product (1x1,
 * stride 1, no padding, or a window as large as its input): y = x w' (+ bias, +
 * plus), dx = dy w, dw += dy' x.  What cuBLASLt needs for a product of given
 * sizes, types and alignments is made once and kept. */
#include "device/cuda/conv.h"
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

/* What stands in the device: the plans, which calls share. */
struct shared { struct ctt_product_plan *products; };

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

/* 1 and the plan of a product, or 0 if there is none. */
static int plan_of(const struct ctt_conv_ask *q, const struct product *x,
                   struct ctt_product_plan **out)
{
    struct shared *s = q->state;
    struct key k = key_of(x);
    struct ctt_product_plan *p = NULL, *at = s->products;
    int rc = 0;

    while (at && memcmp(&at->key, &k, sizeof(k)) != 0)
        at = at->next;
    if (!at) {
        p = ctt_calloc(1, sizeof(*p));
        CTT_CHECK(p, CTT_ENOMEM, "%s: no memory for a plan",
                  q->call->node->name);
        p->key = k;
        CTT_TRY(describe(q->call, x, p));
        CTT_TRY(choose(ctt_cuda_of(q->dev), q->call, p));
        p->next = s->products;
        s->products = at = p;
        p = NULL;
    }
    *out = at;
    rc = at->exists;
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

/* A part as a product; left: what is to be done after it.  What stands in a
 * call's cache is one of each part that can() was asked for; back: its last
 * answer on the way back. */
struct work {
    struct product           x;
    struct ctt_product_plan *plan;
    struct besides           left;
};
struct cache {
    struct work work[CTT_CONV_PARTS];
    int         back;
};

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

/* 1 if there is a product for the forward pass. */
static int find_forward(const struct ctt_conv_ask *q, enum shape shape,
                        struct work *k)
{
    const struct ctt_call *c = q->call;
    struct besides all = { .bias = c->w[1].t.data, .act = c->act };
    struct product x = product_of(weights(&c->w[0].t), 1,
                                  columns(&c->in[0], shape), 0,
                                  columns(&c->out, PIXELS), 0);
    int rc = 0;

    if (c->node->nin > 1)
        all.plus = c->in[1];
    k->x = x;
    k->left = all;
    take_along(c, &k->x, &k->left);
    CTT_TRY(plan_of(q, &k->x, &k->plan));
    if (rc == 0) {      /* plus in place must be added by the product */
        k->left = all;
        if (all.plus.data == c->out.data) {
            k->left.plus.data = NULL;
            x.add = 1;
        }
        k->x = x;
        CTT_TRY(plan_of(q, &x, &k->plan));
    }
out:
    return rc;
}

static struct product gradient_of(const struct ctt_call *c, enum shape shape,
                                  enum ctt_conv_part part)
{
    struct matrix dy = columns(&c->dout, PIXELS);

    if (part == CTT_CONV_DW)      /* dw += x' dy */
        return product_of(columns(&c->in[0], shape), 0, dy, 1,
                          weights(&c->dw[0]), 1);
    return product_of(weights(&c->w[0].t), 0, dy, 0,    /* dx (+)= w dy */
                      columns(&c->din[0], shape), (int)(c->add & 1));
}

/* 1 if there are products for all gradients that the call wants; where only
 * some have one, cuDNN computes all. */
static int find_backward(const struct ctt_conv_ask *q, enum shape shape,
                         struct work work[CTT_CONV_PARTS])
{
    const struct ctt_call *c = q->call;
    const void *wanted[CTT_CONV_PARTS] = {
        [CTT_CONV_DIN] = c->din[0].data, [CTT_CONV_DW] = c->dw[0].data,
    };
    int rc = 1;

    for (int i = CTT_CONV_DIN; i <= CTT_CONV_DW && rc == 1; i++) {
        struct work *k = &work[i];

        if (!wanted[i])
            continue;
        k->x = gradient_of(c, shape, (enum ctt_conv_part)i);
        rc = k->x.at[A].type == k->x.at[B].type
             ? plan_of(q, &k->x, &k->plan) : 0;
    }
    return rc;
}

/* ---- the provider ---- */

static int open_plans(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct shared));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

static void close_plans(void *state)
{
    struct shared *s = state;

    while (s->products) {
        struct ctt_product_plan *p = s->products;
        s->products = p->next;
        drop_plan(p);
    }
    ctt_free(s);
}

/* The weights are asked for after the input: they have its answer. */
static int find(const struct ctt_conv_ask *q, enum shape shape,
                struct cache *k)
{
    const struct ctt_call *c = q->call;

    if (q->part == CTT_CONV_OUT)
        return c->in[0].dtype == c->w[0].t.dtype
               ? find_forward(q, shape, &k->work[CTT_CONV_OUT]) : 0;
    if (q->part == CTT_CONV_DIN || !c->din[0].data)
        k->back = find_backward(q, shape, k->work);
    return k->back;
}

static int can(struct ctt_conv_ask *q)
{
    enum shape shape = shape_of(q->call);
    struct cache *k;
    int rc = 0;

    if (shape == NO_PRODUCT) {
        q->why = "not one matrix product";
        goto out;
    }
    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(find(q, shape, k));
    q->why = rc ? "one matrix product" : "no product of these types";
out:
    return rc;
}

static int run(struct ctt_conv_ask *q)
{
    struct work *k = &((struct cache *)*q->own)->work[q->part];
    const struct ctt_call *c = q->call;
    int rc = 0;

    CTT_TRY(multiply(q->dev, c, &k->x, k->plan));
    if (q->part == CTT_CONV_OUT &&
        (k->left.plus.data || k->left.bias || k->left.act))
        CTT_CUDA(c, ctt_launch_finish(c->out, k->left.plus, k->left.bias,
                                      k->left.act, c->out,
                                      ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

static void forget(void *own)
{
    ctt_free(own);
}

static int sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                 const float *b, float *y)
{
    struct ctt_node node = { .op = CTT_OP_CONV, .name = "sgemm", .nin = 1 };
    struct ctt_tensor t = { .n = n, .d = 1, .h = 1, .w = 1, .c = n, .ld = n };
    struct ctt_call c = { .node = &node };
    struct ctt_conv_ask q = { .dev = d, .call = &c, .state = state };
    struct work k = { .plan = NULL };
    int rc = 0;

    for (int i = 0; i < 3; i++)
        node.attr.conv.kernel[i] = node.attr.conv.stride[i] = 1;
    c.in[0] = c.out = c.w[0].t = t;
    c.in[0].data = (void *)(uintptr_t)a;
    c.w[0].t.data = (void *)(uintptr_t)b;
    c.out.data = y;
    CTT_TRY(find_forward(&q, PIXELS, &k));
    CTT_CHECK(rc == 1, CTT_EUNSUP, "cuBLASLt has no product of two matrices of"
              " %d x %d", n, n);
    CTT_TRY(multiply(d, &c, &k.x, k.plan));
out:
    return rc;
}

const struct ctt_conv_provider ctt_conv_cublaslt = {
    .name = "cublaslt", .any_threads = 1, .open = open_plans,
    .close = close_plans, .can = can, .run = run, .forget = forget,
    .sgemm = sgemm,
};
