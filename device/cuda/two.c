/* SPDX-License-Identifier: Apache-2.0
 * two.c: the provider "cusparselt": dense layers and 1x1 convs of 2:4 weights
 * of 16 bits in sessions, as products of cuSPARSELt (lt.h). */
#include "device/cuda/blas_plan.h"
#include "device/cuda/lt.h"
#include "device/cuda/packed.h"
#include "device/cuda/sparse.h"

/* block[0]: compressed; NULL: not yet, or it failed. */
struct two_packed { struct ctt_packed base; int is_two, failed; };

struct two_call { struct ctt_packed *packed; struct ctt_lt_plan *plan; };
struct two_state { struct ctt_packed *packed; };

static int open_two(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct two_state));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

static int two_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;

    if (ctt_sparse_supports(q) &&
        (c->out.dtype != c->in[0].dtype || c->in[0].dtype == CTT_F32))
        q->why = "values of more than 16 bits";
    return !q->why;
}

static int pack_two(const struct ctt_conv_ask *q, struct ctt_packed *p)
{
    const struct ctt_tensor *w = &q->call->w[0].t;
    int rc = 0;

    CTT_TRY(ctt_lt_is_two(q, w->dtype, w->data, ctt_volume(w)));
    ((struct two_packed *)p)->is_two = rc;
    rc = 0;
out:
    return rc;
}

/* 1 if the call has compressed weights, which its plan multiplies. */
static int find_half(struct ctt_conv_ask *q, const struct two_call *k)
{
    struct two_packed *p = (struct two_packed *)k->packed;

    if (p->failed)
        q->why = "no memory for 2:4 weights";
    else if (!p->base.block[0] && ctt_cuda_of(q->dev)->recording)
        q->why = "not packed before a recording";
    else if (!p->base.block[0])
        p->failed = !ctt_lt_compress(q, k->plan, p->base.w, &p->base.block[0]);
    if (p->base.block[0])
        q->why = "weights are 2:4";
    return p->base.block[0] != NULL;
}

static int two_pays(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct ctt_matrix x = ctt_product_columns(&c->in[0], ctt_product_shape(c));
    struct ctt_lt_shape shape = {
        c->in[0].dtype, c->out.c, x.rows, x.cols, x.ld, c->out.ld
    };
    struct two_state *s = q->state;
    struct two_call *k;
    int rc = 0;

    if (!ctt_lt_pays(q, &shape))
        return 0;
    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_packed_find(q, &s->packed, sizeof(struct two_packed), pack_two,
                            &k->packed));
    if (!rc)
        q->why = "not packed before a recording";
    else if (!((struct two_packed *)k->packed)->is_two)
        q->why = "weights are not 2:4";
    else
        CTT_TRY(ctt_lt_find(q, &shape, &k->plan));
    rc = !q->why && find_half(q, k);
out:
    return rc;
}

static int multiply_two(const struct ctt_conv_ask *q, int add)
{
    const struct two_call *k = *q->own;
    const struct ctt_call *c = q->call;
    void *room = NULL;
    int rc = 0;

    if (ctt_lt_room(k->plan))
        CTT_TRY(ctt_cuda_scratch(q->dev, c, ctt_lt_room(k->plan), &room));
    CTT_TRY(ctt_lt_multiply(q, k->plan, k->packed->block[0], c->in[0].data,
                            c->out.data, add, room));
out:
    return rc;
}

static int two_run(struct ctt_conv_ask *q)
{
    return ctt_sparse_run(q, multiply_two);
}

static void two_free(void *own)
{
    ctt_packed_drop(&((struct two_call *)own)->packed);
    ctt_free(own);
}

const struct ctt_conv_provider ctt_conv_cusparselt = {
    .name = "cusparselt", .any_threads = 1, .open = open_two,
    .close = ctt_free, .can = two_supports, .pays = two_pays, .run = two_run,
    .forget = two_free,
};
