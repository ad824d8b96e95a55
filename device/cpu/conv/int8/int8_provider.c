/* SPDX-License-Identifier: Apache-2.0
 * int8_provider.c: the provider "int8": convs of quantised values by kernels
 * that multiply whole numbers. */
#include "device/cpu/conv/int8/int8_job.h"
#include "device/cpu/conv/providers.h"

/* The cache of a call: packed weights of its conv and of its chain. */
struct kept {
    struct ctt_int8_weights k[2];
    struct ctt_int8_gaps    gaps;
};

static const char *refuses(const struct ctt_call *c)
{
    if (ctt_is_dilated(c->node))
        return ctt_int8_may_fill(c) ? NULL : "the window has wide gaps";
    if (!ctt_int8_best(c))
        return "this processor has no AVX2";
    if (c->links && !ctt_int8_joins(c))
        return "joins only a depthwise conv and the 1x1 conv before it";
    return NULL;
}

static int int8_supports(struct ctt_conv_ask *q)
{
    if (q->part != CTT_CONV_OUT || !ctt_call_is_int8(q->call))
        return 0;
    q->why = refuses(q->call);
    return !q->why;
}

static int int8_run(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    struct kept *k = ctt_conv_own(q, sizeof(*k));
    const struct ctt_int8_isa *isa;
    struct ctt_call filled;
    int rc = 0;

    CTT_TRY(k ? 0 : CTT_ENOMEM);
    if (ctt_is_dilated(c->node)) {
        CTT_TRY(ctt_int8_fill(c, &k->gaps, &filled));
        c = &filled;
    }
    isa = ctt_int8_best(c);
    q->code = isa->name;
    rc = c->links ? ctt_int8_join(q->dev, c, k->k)
                  : ctt_int8_run(isa, q->dev, c, k->k);
out:
    return rc;
}

static void int8_free(void *own)
{
    struct kept *k = own;

    ctt_free(k->k[0].room);
    ctt_free(k->k[1].room);
    ctt_free(k->gaps.w);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_int8 = {
    .name = "int8", .chains = 1, .int8 = 1, .any_threads = 1,
    .can = int8_supports, .run = int8_run, .forget = int8_free,
};
