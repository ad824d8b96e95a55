/* SPDX-License-Identifier: Apache-2.0
 * sparse_provider.c: the provider "sparse": convs whose weights are mostly
 * zeros, and when that is faster than the rows below. */
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/sparse.h"

/* The content of a call's cache.  The lists hold for a stamp, sizes, and a step
 * and a zero of the values; few: there are so few zeros that there are none. */
struct kept {
    struct ctt_sparse_weights w;
    struct ctt_sparse_shape   s;
    uint64_t                  stamp, packed;
    int                       few, zero;
    float                     scale;
};

/* ---- the choice ---- */

static int takes_type(const struct ctt_call *c, const struct ctt_tensor *t)
{
    return t->dtype == CTT_F32 || (ctt_call_is_int8(c) && ctt_is_bytes(t));
}

static int takes(const struct ctt_call *c)
{
    int plus = c->node->plus && c->in[1].data;

    return c->node->op == CTT_OP_CONV && ctt_call_groups(c) == 1 &&
           takes_type(c, &c->in[0]) && takes_type(c, &c->out) &&
           (!plus || takes_type(c, &c->in[1])) &&
           ctt_weight_is_floats(&c->w[0]);
}

/* Fewer zeros than this share of the weights never pay. */
static int has_few(const struct ctt_tensor *w)
{
    const float *x = w->data;
    int64_t n = ctt_volume(w), zeros = 0;

    SIMD for (int64_t i = 0; i < n; i++)
        zeros += x[i] == 0;
    return zeros < n / 2;
}

/* Weights of a training change in each call. */
static int can(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct kept *k;

    if (q->part != CTT_CONV_OUT || c->train || !c->stamp || !takes(c) ||
        !ctt_sparse_best(c))
        return 0;
    k = ctt_conv_own(q, sizeof(*k));
    if (!k)
        return CTT_ENOMEM;
    if (k->stamp != c->stamp) {
        k->few = has_few(&c->w[0].t);
        k->stamp = c->stamp;
    }
    return !k->few;
}

static int get_lists(struct ctt_conv_ask *q, const struct ctt_sparse_isa *isa,
                     struct kept *k)
{
    const struct ctt_call *c = q->call;
    struct ctt_sparse_shape s = ctt_sparse_plan(isa, c);
    int rc = 0;

    if (k->packed == c->stamp && k->scale == c->in[0].scale &&
        k->zero == c->in[0].zero && memcmp(&k->s, &s, sizeof(s)) == 0)
        return 0;
    k->packed = 0;
    CTT_TRY(ctt_sparse_pack(isa, q->dev, c, &s, &k->w));
    k->s = s;
    k->scale = c->in[0].scale;
    k->zero = c->in[0].zero;
    k->packed = c->stamp;
out:
    return rc;
}

static int pays(struct ctt_conv_ask *q)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(q->call);
    struct kept *k = *q->own;
    int rc = get_lists(q, isa, k);

    if (rc < 0)
        return rc;
    q->why = "most weights are zeros";
    return 1;
}

static int run(struct ctt_conv_ask *q)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(q->call);
    struct kept *k = *q->own;

    q->code = isa->name;
    return ctt_sparse_run(isa, q->dev, q->call, &k->s, &k->w);
}

static void forget(void *own)
{
    struct kept *k = own;

    ctt_free(k->w.room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_sparse = {
    .name = "sparse", .int8 = 1, .any_threads = 1, .can = can, .pays = pays,
    .run = run, .forget = forget,
};
