/* SPDX-License-Identifier: Apache-2.0
 * dense_provider.c: the providers "bf16" and "fp16", convs of 16 bits, and
 * "dense", convs of floats.  Whether 16 bits pay is decided where types are
 * chosen (run/half.c). */
#include "device/cpu/conv/dense/dense.h"
#include "device/cpu/conv/providers.h"

/* ---- 16 bits ---- */

static const struct half {
    const struct ctt_int8_isa *isa;
    const char                *lacks;
} halves[] = {
    { &ctt_bf16_avx512, "this processor has no AVX512-BF16" },
    { &ctt_fp16_avx512, "this processor has no AVX512-FP16" },
};

/* The row of a type; NULL: it has none. */
static const struct half *half_of(enum ctt_dtype type)
{
    for (size_t i = 0; i < CTT_LEN(halves); i++)
        if (halves[i].isa->type == type)
            return &halves[i];
    return NULL;
}

int ctt_half_supported(enum ctt_dtype type)
{
    const struct half *h = half_of(type);

    return h && h->isa->supported();
}

int ctt_half_speed(enum ctt_dtype type)
{
    if (type == ctt_bf16_amx.type && ctt_bf16_amx.supported())
        return CTT_BY_TILES;
    return ctt_half_supported(type);
}

static int is_float_or(const struct ctt_tensor *t, enum ctt_dtype type)
{
    return t->dtype == CTT_F32 || t->dtype == type;
}

int ctt_half_takes(const struct ctt_call *c)
{
    int plus = c->node->plus && c->in[1].data;

    return c->mul != CTT_F32 && c->node->op == CTT_OP_CONV &&
           !ctt_is_dilated(c->node) &&
           !ctt_call_is_int8(c) && is_float_or(&c->in[0], c->mul) &&
           is_float_or(&c->out, c->mul) &&
           (!plus || c->in[1].dtype == CTT_F32) &&
           c->w[0].t.dtype == CTT_F32 && ctt_half_supported(c->mul);
}

static int half_supports(struct ctt_conv_ask *q, enum ctt_dtype type)
{
    if (q->part != CTT_CONV_OUT || q->call->mul != type)
        return 0;
    if (!ctt_half_supported(type))
        q->why = half_of(type)->lacks;
    return !q->why && ctt_half_takes(q->call);
}

static int bf16_supports(struct ctt_conv_ask *q)
{
    return half_supports(q, CTT_BF16);
}

static int fp16_supports(struct ctt_conv_ask *q)
{
    return half_supports(q, CTT_F16);
}

static int run_by(const struct ctt_int8_isa *isa, struct ctt_conv_ask *q)
{
    struct ctt_int8_weights *k = ctt_conv_own(q, sizeof(*k));

    if (!k)
        return CTT_ENOMEM;
    q->code = isa->name;
    return ctt_dense_run(isa, q->dev, q->call, 0, k);
}

static int half_run(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int tiles = c->mul == ctt_bf16_amx.type && ctt_bf16_amx.supported() &&
                ctt_bf16_amx.can(c);

    return run_by(tiles ? &ctt_bf16_amx : half_of(c->mul)->isa, q);
}

static void dense_free(void *own)
{
    struct ctt_int8_weights *k = own;

    ctt_free(k->room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_bf16 = {
    .name = "bf16", .any_threads = 1, .can = bf16_supports, .run = half_run,
    .forget = dense_free,
};

const struct ctt_conv_provider ctt_conv_fp16 = {
    .name = "fp16", .any_threads = 1, .can = fp16_supports, .run = half_run,
    .forget = dense_free,
};

/* ---- floats ---- */

/* For half a register of channels the thin kernel needs half as many products;
 * to add its sums up takes as long as TOTAL of them.  (Measured on a Zen 4.) */
enum { TOTAL = 20 };

static const struct ctt_int8_isa *best(const struct ctt_call *c)
{
    const struct ctt_tensor *w = &c->w[0].t;
    int64_t saved = w->d * w->h * (w->w * w->c / 2);

    if (ctt_thin_avx512.supported() && saved > TOTAL &&
        c->out.c / ctt_call_groups(c) <= ctt_thin_avx512.lanes)
        return &ctt_thin_avx512;
    return ctt_dense_avx512.supported() ? &ctt_dense_avx512 :
           ctt_dense_avx2.supported() ? &ctt_dense_avx2 : NULL;
}

/* Not in training: weights would be packed in each call. */
static int can_floats(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int plus = c->node->plus && c->in[1].data;

    return q->part == CTT_CONV_OUT && !c->train && c->stamp && best(c) &&
           c->node->op == CTT_OP_CONV && !ctt_is_dilated(c->node) &&
           ctt_weight_is_floats(&c->w[0]) &&
           c->in[0].dtype == CTT_F32 && c->out.dtype == CTT_F32 &&
           (!plus || c->in[1].dtype == CTT_F32);
}

/* A register of channels has to be full for the most part, if there are many
 * groups; a conv of few channels takes little time anyway. */
static int pays_floats(struct ctt_conv_ask *q)
{
    int64_t groups = ctt_call_groups(q->call);

    if (groups == 1 || q->call->out.c / groups >= 12)
        return 1;
    q->why = "few channels in a group";
    return 0;
}

static int run_floats(struct ctt_conv_ask *q)
{
    return run_by(best(q->call), q);
}

const struct ctt_conv_provider ctt_conv_dense = {
    .name = "dense", .any_threads = 1, .can = can_floats, .pays = pays_floats,
    .run = run_floats, .forget = dense_free,
};
