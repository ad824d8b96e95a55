/* SPDX-License-Identifier: Apache-2.0
 * bf16_provider.c: the provider "bf16": convs of 16 bits.  Whether they pay is
 * decided where types are chosen (run/half.c). */
#include "device/cpu/conv/bf16.h"
#include "device/cpu/conv/providers.h"

static int is_known(const struct ctt_tensor *t)
{
    return t->dtype == CTT_F32 || t->dtype == CTT_BF16;
}

int ctt_bf16_takes(const struct ctt_call *c)
{
    int plus = c->node->plus && c->in[1].data;

    return c->mul == CTT_BF16 && c->node->op == CTT_OP_CONV &&
           !ctt_call_is_int8(c) && is_known(&c->in[0]) && is_known(&c->out) &&
           (!plus || c->in[1].dtype == CTT_F32) &&
           c->w[0].t.dtype == CTT_F32 && ctt_bf16_avx512.supported();
}

static int can(struct ctt_conv_ask *q)
{
    if (q->part != CTT_CONV_OUT || q->call->mul != CTT_BF16)
        return 0;
    if (!ctt_bf16_avx512.supported())
        q->why = "this processor has no AVX512-BF16";
    return !q->why && ctt_bf16_takes(q->call);
}

static int run(struct ctt_conv_ask *q)
{
    struct ctt_int8_weights *k = ctt_conv_own(q, sizeof(*k));

    if (!k)
        return CTT_ENOMEM;
    q->code = ctt_bf16_avx512.name;
    return ctt_bf16_run(&ctt_bf16_avx512, q->dev, q->call, k);
}

static void forget(void *own)
{
    struct ctt_int8_weights *k = own;

    ctt_free(k->room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_bf16 = {
    .name = "bf16", .any_threads = 1, .can = can, .run = run, .forget = forget,
};
