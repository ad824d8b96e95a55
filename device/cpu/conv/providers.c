/* SPDX-License-Identifier: Apache-2.0
 * providers.c: the table of providers of convs of the device "cpu", and its
 * last row: direct sums. */
#include "device/cpu/conv/providers.h"

/* Best first.  A new provider is a file and a line here. */
const struct ctt_conv_provider *const ctt_cpu_providers[] = {
    &ctt_conv_chain,
    &ctt_conv_depthwise,
    &ctt_conv_sparse,
    &ctt_conv_wino16,
    &ctt_conv_int8,
    &ctt_conv_bf16,
    &ctt_conv_fp16,
    &ctt_conv_winograd,
    &ctt_conv_dense,
    &ctt_conv_phases,
#ifdef HAVE_ONEDNN
    &ctt_conv_onednn,
#endif
    &ctt_conv_direct,
    NULL
};

/* ---- direct sums ---- */

static int run_kernel(struct ctt_dev *d, const struct ctt_call *c,
                      enum ctt_pass pass)
{
    return (*ctt_cpu_of(d)->isa->kernels)[pass][c->node->op](d, c);
}

static int direct_supports(struct ctt_conv_ask *q)
{
    return !ctt_part_is_short(q);
}

/* The kernel computes each gradient whose data is not NULL: here one part. */
static int direct_run(struct ctt_conv_ask *q)
{
    struct ctt_call one;

    q->code = ctt_cpu_of(q->dev)->isa->name;
    if (q->part == CTT_CONV_OUT)
        return run_kernel(q->dev, q->call, CTT_FWD);
    one = *q->call;
    one.din[1].data = one.dw[1].data = NULL;
    if (q->part == CTT_CONV_DIN)
        one.dw[0].data = NULL;
    else
        one.din[0].data = NULL;
    return run_kernel(q->dev, &one, CTT_BWD);
}

int ctt_conv_direct_rest(struct ctt_dev *d, const struct ctt_call *c)
{
    return run_kernel(d, c, CTT_BWD);
}

int ctt_plain_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                    float *y)
{
    struct ctt_node node = { .op = CTT_OP_CONV, .name = "sgemm", .nin = 1 };
    struct ctt_tensor t = { .n = n, .d = 1, .h = 1, .w = 1, .c = n, .ld = n };
    struct ctt_call c = { .node = &node };

    for (int i = 0; i < 3; i++)
        node.attr.conv.kernel[i] = node.attr.conv.stride[i] = 1;
    c.in[0] = c.out = c.w[0].t = t;
    c.in[0].data = (float *)a;
    c.w[0].t.data = (float *)b;
    c.out.data = y;
    return run_kernel(d, &c, CTT_FWD);
}

static int direct_sgemm(struct ctt_dev *d, void *state, int n, const float *a,
                        const float *b, float *y)
{
    (void)state;
    return ctt_plain_sgemm(d, n, a, b, y);
}

const struct ctt_conv_provider ctt_conv_direct = {
    .name = "direct", .int8 = 1, .any_threads = 1, .reads = 1,
    .can = direct_supports, .run = direct_run,
    .sgemm = direct_sgemm,
};
