/* SPDX-License-Identifier: Apache-2.0
 * conv.c: convolution and its adjoint, in terms of direct sums.  Both have
 * weights (out, kd, kh, kw, in of a group), so that the forward pass of one is
 * the gradient of the input of the other. */
#include "device/cpu/conv/direct.h"
#include "device/cpu/conv/int8/int8.h"

/* Forward pass of conv and deconv (up = 1). */
static int sum_fwd(struct ctt_dev *d, const struct ctt_call *c, int up)
{
    const struct ctt_node *n = c->node;
    const struct ctt_tensor *w = &c->w[0].t;
    int64_t taps = w->d * w->h * w->w;

    return K(direct)(d, &(struct ctt_direct){
        .y = &c->out, .x = &c->in[0], .plus = n->plus ? &c->in[1] : NULL,
        .kernel = n->attr.conv.kernel, .stride = n->attr.conv.stride,
        .pad = n->attr.conv.pad, .dilation = n->attr.conv.dilation,
        .up = up, .act = c->act, .w = &c->w[0],
        .bias = c->w[1].t.data, .step_x = 1, .step_tap = w->c,
        .step_y = taps * w->c, .groups = ctt_call_groups(c) });
}

static int sum_bwd(struct ctt_dev *d, const struct ctt_call *c, int up)
{
    const struct ctt_node *n = c->node;
    const struct ctt_tensor *w = &c->w[0].t;
    int64_t taps = w->d * w->h * w->w;
    int rc = 0;

    if (c->din[0].data)
        CTT_TRY(K(direct)(d, &(struct ctt_direct){
            .y = &c->din[0], .x = &c->dout, .kernel = n->attr.conv.kernel,
            .stride = n->attr.conv.stride, .pad = n->attr.conv.pad,
            .dilation = n->attr.conv.dilation,
            .up = !up, .add = c->add & 1, .w = &c->w[0],
            .step_x = taps * w->c, .step_tap = w->c, .step_y = 1,
            .groups = ctt_call_groups(c) }));
    if (n->plus && c->din[1].data && c->din[1].data != c->dout.data)
        K(copy)(d, &c->dout, &c->din[1], c->add >> 1 & 1);
    if (c->dw[0].data)
        CTT_TRY(K(direct_dw)(d, c, up));
    if (c->dw[1].data)
        CTT_TRY(K(bias_bwd)(d, &c->dout, c->dw[1].data));
out:
    return rc;
}

int K(conv_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return c->in[0].scale > 0 ? K(int8_sums)(d, c) : sum_fwd(d, c, 0);
}

int K(conv_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return sum_bwd(d, c, 0);
}

int K(deconv_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return sum_fwd(d, c, 1);
}

int K(deconv_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return sum_bwd(d, c, 1);
}
