/* SPDX-License-Identifier: Apache-2.0
 * whole.c: the provider "int8": convs of quantised values that are bytes.
 * cuDNN sums whole numbers on tensor cores, our kernel makes results of the
 * sums; where cuDNN has no engine, and for few channels a group, for which it
 * has none on tensor cores, our kernel sums, too.  2:4 weights of large
 * products cuSPARSELt sums, if it is built in. */
#include "device/cuda/blas_plan.h"
#include "device/cuda/core.h"
#include "device/cuda/dnn_plan.h"
#include "device/cuda/kernels.h"
#include "device/cuda/lt.h"
#include "device/cuda/packed.h"
#include "base/half.h"

#include <string.h>

/* Channels of a group from which on cuDNN sums. */
enum { GROUP = 8 };

/* The weights of a conv in 8 bits. */
struct whole_packed {
    struct ctt_packed base;     /* block[1]: 2:4, compressed, or NULL */
    struct ctt_whole  in;
    int               two;      /* 1: they are 2:4; -1: not; 0: not known */
    int               failed;   /* there is no memory for block[1] */
};

/* Of a device; its plans stay until it is closed. */
struct whole_state { struct ctt_dnn_plan *plans; struct ctt_packed *packed; };

/* A call's cache.  two: of a product of 2:4 weights, or NULL. */
struct whole_call {
    struct ctt_dnn_plan *plan;
    struct ctt_lt_plan  *two;
    struct ctt_packed   *packed;
};

/* ---- plans ---- */

/* Sums in floats are whole if none reaches 2^24; more engines write floats. */
static int sums_fit_floats(const struct ctt_call *c)
{
    return ctt_volume(&c->w[0].t) / c->w[0].t.n * 128 * 127 < 1 << 24;
}

static int find_sums(const struct ctt_conv_ask *q, struct ctt_dnn_plan **out)
{
    struct ctt_dnn_key key = ctt_dnn_key(q->call, CTT_TO_SMALL, CTT_I8);
    const struct cudaDeviceProp *gpu = &ctt_cuda_of(q->dev)->prop;
    struct ctt_dnn_site site = { .handle = ctt_cuda_lane(q->dev)->dnn,
                                 .capability = 10 * gpu->major + gpu->minor };
    struct whole_state *s = q->state;
    struct ctt_dnn_plan *p = s->plans;
    int rc = 0;

    key.sums = sums_fit_floats(q->call) ? CTT_F32 : CTT_I32;
    while (p && memcmp(&p->key, &key, sizeof(key)) != 0)
        p = p->next;
    if (!p) {
        CTT_CHECK(!ctt_cuda_of(q->dev)->recording, CTT_EUNSUP,
                  "%s: a new plan while a graph is recorded",
                  q->call->node->name);
        CTT_CUDNN(q->call, ctt_dnn_plan_new(&site, &key, &p));
        cudaGetLastError();    /* of a refused engine */
        p->next = s->plans;
        s->plans = p;
    }
    *out = p;
out:
    return rc;
}

/* ---- weights ---- */

static int pack_whole(const struct ctt_conv_ask *q, struct ctt_packed *base)
{
    const struct ctt_call *c = q->call;
    const struct ctt_tensor *w = &c->w[0].t;
    struct whole_packed *p = (struct whole_packed *)base;
    int64_t n = ctt_align(ctt_volume(w), 64), taps = w->d * w->h * w->w;
    int rc = 0;

    CTT_TRY(ctt_cuda_malloc("weights in 8 bits", n + 4 * w->n * (taps + 2),
                            &base->block[0]));
    p->in.q = base->block[0];
    p->in.factor = (float *)(void *)(p->in.q + n);
    p->in.part = (int32_t *)(p->in.factor + w->n);
    CTT_CUDA(c, (cudaError_t)ctt_launch_whole_weights(
                    c, p->in, ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

/* ---- 2:4 ---- */

#ifdef CTT_WITH_CUSPARSELT
/* 1 if the weights are 2:4; they are looked at once. */
static int whole_is_two(const struct ctt_conv_ask *q, struct whole_packed *p)
{
    int rc = 0;

    if (!p->two && !ctt_cuda_of(q->dev)->recording) {
        CTT_TRY(ctt_lt_is_two(q, CTT_I8, p->in.q,
                              ctt_volume(&q->call->w[0].t)));
        p->two = rc ? 1 : -1;
    }
    rc = p->two > 0;
out:
    return rc;
}

/* Finds the product of 2:4 weights, if these are 2:4 and it pays; q->why says
 * it of 2:4 weights only. */
static int find_two(struct ctt_conv_ask *q, struct whole_call *k)
{
    struct whole_packed *p = (struct whole_packed *)k->packed;
    const struct ctt_call *c = q->call;
    struct ctt_matrix x = ctt_product_columns(&c->in[0], CTT_PRODUCT_PIXELS);
    struct ctt_lt_shape shape = { CTT_I8, c->out.c, x.rows, x.cols, x.ld,
                                  c->out.c };
    int found = 0, rc = 0;

    k->two = NULL;
    if (ctt_product_shape(c) != CTT_PRODUCT_PIXELS || c->stamp != 1 ||
        (uintptr_t)x.p % 16 != 0 || p->two < 0 || p->failed ||
        !ctt_lt_pays(q, &shape))
        goto out;
    CTT_TRY(whole_is_two(q, p));
    if (rc)
        CTT_TRY(found = ctt_lt_find(q, &shape, &k->two));
    if (found && !p->base.block[1] && !ctt_cuda_of(q->dev)->recording)
        p->failed = !ctt_lt_compress(q, k->two, p->in.q, &p->base.block[1]);
    if (found && p->base.block[1])
        q->why = "weights are 2:4";
    else
        k->two = NULL;
    return 0;
out:
    q->why = p->failed ? "no memory for 2:4 weights" : NULL;
    return rc;
}

/* Sums in 32 bits, in scratch. */
static int sum_two(const struct ctt_conv_ask *q, const struct whole_call *k,
                   void **sums)
{
    const struct ctt_call *c = q->call;
    size_t n = (size_t)ctt_align(4 * ctt_volume(&c->out), 256);
    int rc = 0;

    CTT_TRY(ctt_cuda_scratch(q->dev, c, n + ctt_lt_room(k->two), sums));
    CTT_TRY(ctt_lt_multiply(q, k->two, k->packed->block[1], c->in[0].data,
                            *sums, 0, (char *)*sums + n));
out:
    return rc;
}
#endif

/* ---- the provider ---- */

static int open_whole(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct whole_state));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

static void close_whole(void *state)
{
    struct whole_state *s = state;

    for (struct ctt_dnn_plan *p; (p = s->plans);) {
        s->plans = p->next;
        ctt_dnn_plan_free(&p);
    }
    ctt_free(s);
}

static int whole_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int64_t groups = ctt_call_groups(c);
    struct whole_state *s = q->state;
    struct whole_call *k;
    int rc = 0;

    if (q->part != CTT_CONV_OUT || !ctt_is_bytes(&c->in[0])) {
        q->why = "reads no bytes";
        goto out;
    }
    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_packed_find(q, &s->packed, sizeof(struct whole_packed),
                            pack_whole, &k->packed));
    CTT_CHECK(rc, CTT_EUNSUP, "%s: new weights while a graph is recorded",
              c->node->name);
    k->plan = NULL;
#ifdef CTT_WITH_CUSPARSELT
    CTT_TRY(find_two(q, k));
#else
    q->why = "built without cuSPARSELt";
#endif
    if (groups == 1 || c->in[0].c / groups >= GROUP)
        CTT_TRY(find_sums(q, &k->plan));
    rc = 1;
out:
    return rc;
}

/* Sums by cuDNN, in scratch. */
static int sum_by_cudnn(const struct ctt_conv_ask *q, struct ctt_dnn_plan *p,
                        int8_t *w, void **sums)
{
    const struct ctt_call *c = q->call;
    struct ctt_tensor x = c->in[0];
    int moves = x.ld != x.c || (uintptr_t)x.data % 16 != 0, rc = 0;
    size_t n = (size_t)ctt_align(4 * ctt_volume(&c->out), 256);
    size_t all = n + (size_t)ctt_align(moves ? ctt_volume(&x) : 0, 256);
    void *data[CTT_DNN_UIDS] = { NULL };

    CTT_TRY(ctt_cuda_scratch(q->dev, c, all + (size_t)p->room, sums));
    if (moves) {
        x.data = (char *)*sums + n;
        x.ld = x.c;
        CTT_CUDA(c, (cudaError_t)ctt_launch_copy(
                        c->in[0], x, 0, ctt_cuda_lane(q->dev)->stream));
    }
    data[CTT_DNN_LARGE] = x.data;
    data[CTT_DNN_SMALL] = *sums;
    data[CTT_DNN_KERNEL] = w;
    CTT_CUDNN(c, ctt_dnn_plan_run(ctt_cuda_lane(q->dev)->dnn, p, data,
                                  (char *)*sums + all));
out:
    return rc;
}

static int whole_run(struct ctt_conv_ask *q)
{
    struct whole_call *k = *q->own;
    const struct ctt_whole in = ((struct whole_packed *)k->packed)->in;
    struct ctt_dnn_plan *p = k->plan && k->plan->exec ? k->plan : NULL;
    const struct ctt_call *c = q->call;
    void *sums = NULL;
    int rc = 0;

    q->code = k->two ? "cusparselt" : p ? p->impl : "direct";
#ifdef CTT_WITH_CUSPARSELT
    if (k->two) {
        p = NULL;
        CTT_TRY(sum_two(q, k, &sums));
    }
#endif
    if (p)
        CTT_TRY(sum_by_cudnn(q, p, in.q, &sums));
    CTT_CUDA(c, (cudaError_t)ctt_launch_whole_result(
                    c, in, sums, p && p->key.sums == CTT_F32,
                    ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

static void whole_forget(void *own)
{
    struct whole_call *k = own;

    ctt_packed_drop(&k->packed);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_whole = {
    .name = "int8", .int8 = 1, .any_threads = 1, .open = open_whole,
    .close = close_whole, .can = whole_supports, .run = whole_run,
    .forget = whole_forget,
};
