/* SPDX-License-Identifier: Apache-2.0
 * depthwise_provider.c: the provider "depthwise": depthwise convs of floats,
 * alone or in a chain with the 1x1 convs beside them. */
#include "device/cpu/conv/depthwise/depthwise.h"
#include "device/cpu/conv/chain/chain.h"
#include "device/cpu/conv/providers.h"

/* 1 if the kernel slides along rows and columns only. */
static int stays_in_plane(const struct ctt_node *n)
{
    return n->op == CTT_OP_CONV && n->attr.conv.kernel[0] == 1 &&
           n->attr.conv.stride[0] == 1 && n->attr.conv.pad[0] == 0 &&
           !ctt_is_dilated(n) && !n->plus;
}

static int filters_channels(const struct ctt_node *n)
{
    return stays_in_plane(n) && n->w[0].c == 1 && n->out.c > 1 &&
           n->attr.conv.groups == n->out.c &&
           n->attr.conv.kernel[1] <= CTT_DW_ROWS;
}

static int sums_channels(const struct ctt_node *n)
{
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *pad = n->attr.conv.pad;

    return stays_in_plane(n) && n->attr.conv.groups == 1 && k[1] * k[2] == 1 &&
           s[1] * s[2] == 1 && pad[1] + pad[2] == 0;
}

/* A 1x1 conv may stand before the depthwise one, one behind it. */
int ctt_dw_links(const struct ctt_node *n, const struct ctt_node *next,
                 int behind)
{
    if (!ctt_dw_best())
        return 0;
    if (sums_channels(n) && filters_channels(next))
        return behind <= 1;
    return filters_channels(n) && sums_channels(next) && behind == 0 ? 2 : 0;
}

static int is_of_floats(const struct ctt_call *c)
{
    return c->in[0].dtype == CTT_F32 && c->out.dtype == CTT_F32 &&
           (c->mul == 0 || c->mul == CTT_F32) && !c->train && c->stamp &&
           ctt_weight_is_floats(&c->w[0]);
}

static int may_filter(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int middle = 0;

    if (q->part != CTT_CONV_OUT || !ctt_dw_best() || c->links > 2)
        return 0;
    for (int i = 0; i <= c->links; i++) {
        const struct ctt_call *one = i < c->links ? &c->chain[i] : c;
        int is = filters_channels(one->node);

        if ((!is && !sums_channels(one->node)) || !is_of_floats(one) ||
            (c->links == 2 && is != (i == 1)) ||
            (i > 0 && !ctt_chain_follows(&c->chain[i - 1], one)))
            return 0;
        middle += is;
    }
    return middle == 1;
}

static int run_depthwise(struct ctt_conv_ask *q)
{
    struct ctt_dw_weights *k = ctt_conv_own(q, sizeof(*k));

    if (!k)
        return CTT_ENOMEM;
    q->code = ctt_dw_best()->name;
    return ctt_dw_run(q->dev, q->call, k);
}

static void forget_depthwise(void *own)
{
    struct ctt_dw_weights *k = own;

    ctt_free(k->room);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_depthwise = {
    .name = "depthwise", .any_threads = 1, .chains = 1, .can = may_filter,
    .run = run_depthwise, .forget = forget_depthwise,
};
