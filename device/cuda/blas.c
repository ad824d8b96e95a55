/* SPDX-License-Identifier: Apache-2.0
 * blas.c: the provider "cublaslt": convs that are one matrix product (1x1,
 * stride 1, no padding, or a kernel as large as its input): y = x w' (+ bias, +
 * plus), dx = dy w, dw += dy' x. */
#include "device/cuda/blas_plan.h"
#include "device/cuda/core.h"
#include "device/cuda/kernels.h"

enum { A = CTT_BLAS_A, B = CTT_BLAS_B, C = CTT_BLAS_C };

/* Weights or their gradients: one column per output channel. */
static struct ctt_matrix weights(const struct ctt_tensor *w)
{
    int64_t each = ctt_volume(w) / w->n;

    return (struct ctt_matrix){ w->data, w->dtype, each, w->n, each };
}

static struct ctt_product product_of(struct ctt_matrix a, int trans_a,
                                     struct ctt_matrix b, int trans_b,
                                     struct ctt_matrix y, int add)
{
    return (struct ctt_product){ .at = { a, b, y, y },
                                 .trans = { trans_a, trans_b }, .add = add,
                                 .epilogue = CUBLASLT_EPILOGUE_DEFAULT };
}

/* The steps of a forward pass after the product, as far as they are not fused
 * with it. */
struct after { struct ctt_tensor plus; const float *bias; int act; };

/* One part of a conv as a product. */
struct conv_product {
    struct ctt_product       x;
    struct ctt_product_plan *plan;
    struct after             left;
};

/* A call's cache: products of the parts for which support was asked; back: the
 * last answer for the backward pass. */
struct conv_products {
    struct conv_product part[CTT_CONV_PARTS];
    int                 back;
};

/* Moves steps from *b into the product's epilogue.  cuBLASLt adds plus as a
 * matrix of the result's type, and a bias of the result's type only: ours is
 * fp32, so not to 16-bit results.  relu must come last. */
static void fuse(const struct ctt_call *c, struct ctt_product *x,
                 struct after *b)
{
    int epilogue = CUBLASLT_EPILOGUE_DEFAULT;

    if (b->plus.data && b->plus.dtype == c->out.dtype) {
        x->at[C] = ctt_product_columns(&b->plus, CTT_PRODUCT_PIXELS);
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

static int plan_of(const struct ctt_conv_ask *q, struct conv_product *k)
{
    return ctt_product_find(q->dev, q->call, q->state, &k->x, &k->plan);
}

/* 1 if there is a product for the forward pass. */
static int find_forward(const struct ctt_conv_ask *q,
                        enum ctt_product_shape shape,
                        struct conv_product *k)
{
    const struct ctt_call *c = q->call;
    struct after all = { .bias = c->w[1].t.data, .act = c->act };
    struct ctt_matrix y = ctt_product_columns(&c->out, CTT_PRODUCT_PIXELS);
    struct ctt_product x = product_of(weights(&c->w[0].t), 1,
                                      ctt_product_columns(&c->in[0], shape), 0,
                                      y, 0);
    int rc = 0;

    if (c->node->nin > 1)
        all.plus = c->in[1];
    k->x = x;
    k->left = all;
    fuse(c, &k->x, &k->left);
    CTT_TRY(plan_of(q, k));
    if (rc == 0) {      /* unfused; plus in place only the product can add */
        k->left = all;
        if (all.plus.data == c->out.data) {
            k->left.plus.data = NULL;
            x.add = 1;
        }
        k->x = x;
        CTT_TRY(plan_of(q, k));
    }
out:
    return rc;
}

static struct ctt_product gradient_of(const struct ctt_call *c,
                                      enum ctt_product_shape shape,
                                      enum ctt_conv_part part)
{
    struct ctt_matrix dy = ctt_product_columns(&c->dout, CTT_PRODUCT_PIXELS);

    if (part == CTT_CONV_DW)      /* dw (+)= x' dy */
        return product_of(ctt_product_columns(&c->in[0], shape), 0, dy, 1,
                          weights(&c->dw[0]), !c->sets);
    return product_of(weights(&c->w[0].t), 0, dy, 0,    /* dx (+)= w dy */
                      ctt_product_columns(&c->din[0], shape),
                      (int)(c->add & 1));
}

/* 1 if there are products for all gradients that the call wants.  If only one
 * of two has a product, cuDNN computes both. */
static int find_backward(const struct ctt_conv_ask *q,
                         enum ctt_product_shape shape,
                         struct conv_product part[CTT_CONV_PARTS])
{
    const struct ctt_call *c = q->call;
    const void *wanted[CTT_CONV_PARTS] = {
        [CTT_CONV_DIN] = c->din[0].data, [CTT_CONV_DW] = c->dw[0].data,
    };
    int rc = 1;

    for (int i = CTT_CONV_DIN; i <= CTT_CONV_DW && rc == 1; i++) {
        struct conv_product *k = &part[i];

        if (!wanted[i])
            continue;
        k->x = gradient_of(c, shape, (enum ctt_conv_part)i);
        rc = k->x.at[A].type == k->x.at[B].type ? plan_of(q, k) : 0;
    }
    return rc;
}

/* ---- the provider ---- */

static int open_plans(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct ctt_product_plans));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

static void close_plans(void *state)
{
    ctt_product_plans_free(state);
    ctt_free(state);
}

/* Finds the products of a part.  The gradient of the weights is asked after the
 * gradient of the input; both have one answer. */
static int find_products(const struct ctt_conv_ask *q,
                         enum ctt_product_shape shape,
                         struct conv_products *k)
{
    const struct ctt_call *c = q->call;

    if (q->part == CTT_CONV_OUT)
        return c->in[0].dtype == c->w[0].t.dtype && !ctt_is_bytes(&c->out)
               ? find_forward(q, shape, &k->part[CTT_CONV_OUT]) : 0;
    if (q->part == CTT_CONV_DIN || !c->din[0].data)
        k->back = find_backward(q, shape, k->part);
    return k->back;
}

static int cublaslt_supports(struct ctt_conv_ask *q)
{
    enum ctt_product_shape shape = ctt_product_shape(q->call);
    struct conv_products *k;
    int rc = 0;

    if (shape == CTT_NO_PRODUCT) {
        q->why = "not one matrix product";
        goto out;
    }
    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(find_products(q, shape, k));
    q->why = rc ? "one matrix product" : "no product of these types";
out:
    return rc;
}

static int cublaslt_run(struct ctt_conv_ask *q)
{
    struct conv_product *k = &((struct conv_products *)*q->own)->part[q->part];
    const struct ctt_call *c = q->call;
    int rc = 0;

    CTT_TRY(ctt_product_run(q->dev, c, &k->x, k->plan));
    if (q->part == CTT_CONV_OUT &&
        (k->left.plus.data || k->left.bias || k->left.act))
        CTT_CUDA(c, ctt_launch_finish(c->out, k->left.plus, k->left.bias,
                                      k->left.act, c->out,
                                      ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

static void cublaslt_free(void *own)
{
    ctt_free(own);
}

static int cublaslt_sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                          const float *b, float *y)
{
    struct ctt_node node = { .op = CTT_OP_CONV, .name = "sgemm", .nin = 1 };
    struct ctt_tensor t = { .n = n, .d = 1, .h = 1, .w = 1, .c = n, .ld = n };
    struct ctt_call c = { .node = &node };
    struct ctt_conv_ask q = { .dev = d, .call = &c, .state = state };
    struct conv_product k = { .plan = NULL };
    int rc = 0;

    for (int i = 0; i < 3; i++)
        node.attr.conv.kernel[i] = node.attr.conv.stride[i] = 1;
    c.in[0] = c.out = c.w[0].t = t;
    c.in[0].data = (void *)(uintptr_t)a;
    c.w[0].t.data = (void *)(uintptr_t)b;
    c.out.data = y;
    CTT_TRY(find_forward(&q, CTT_PRODUCT_PIXELS, &k));
    CTT_CHECK(rc == 1, CTT_EUNSUP, "cuBLASLt has no product of two matrices of"
              " %d x %d", n, n);
    CTT_TRY(ctt_product_run(d, &c, &k.x, k.plan));
out:
    return rc;
}

const struct ctt_conv_provider ctt_conv_cublaslt = {
    .name = "cublaslt", .int8 = 1, .any_threads = 1, .open = open_plans,
    .close = close_plans, .can = cublaslt_supports, .run = cublaslt_run,
    .forget = cublaslt_free,
    .sgemm = cublaslt_sgemm,
};
