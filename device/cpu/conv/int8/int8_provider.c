/* SPDX-License-Identifier: Apache-2.0
 * int8_provider.c: the provider "int8": convs of quantised values by kernels
 * that multiply whole numbers. */
#include "device/cpu/conv/int8/int8_job.h"
#include "device/cpu/conv/providers.h"

static int int8_supports(struct ctt_conv_ask *q)
{
    if (q->part != CTT_CONV_OUT || !ctt_call_is_int8(q->call))
        return 0;
    if (!ctt_int8_best(q->call))
        q->why = ctt_is_dilated(q->call->node)
                     ? "the window is dilated"
                     : "this processor has no AVX2";
    else if (q->call->links && !ctt_int8_joins(q->call))
        q->why = "joins only a depthwise conv and the 1x1 conv before it";
    return !q->why;
}

static int int8_run(struct ctt_conv_ask *q)
{
    const struct ctt_int8_isa *isa = ctt_int8_best(q->call);
    struct ctt_int8_weights *k = ctt_conv_own(q, 2 * sizeof(*k));

    if (!k)
        return CTT_ENOMEM;
    q->code = isa->name;
    if (q->call->links)
        return ctt_int8_join(q->dev, q->call, k);
    return ctt_int8_run(isa, q->dev, q->call, k);
}

/* own: packed weights of a call and of its chain. */
static void int8_free(void *own)
{
    struct ctt_int8_weights *k = own;

    ctt_free(k[0].room);
    ctt_free(k[1].room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_int8 = {
    .name = "int8", .chains = 1, .int8 = 1, .any_threads = 1,
    .can = int8_supports, .run = int8_run, .forget = int8_free,
};
