/* SPDX-License-Identifier: Apache-2.0
 * ref.c: the device "ref": plain C, any processor.  What the other devices are
 * tested against, and their fallback. */
#include "device/cpu/cpu.h"

static int ref_open(struct ctt_dev *d)
{
    memcpy(d->kernel, ctt_ref_kernels, sizeof(d->kernel));
    return 0;
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
    return d->kernel[CTT_FWD][CTT_OP_CONV](d, &c);
}

const struct ctt_dev_kind ctt_dev_ref = {
    .name = "ref", .memory = &ctt_host_memory, .wide = 1, .open = ref_open,
    .sgemm = ctt_plain_sgemm,
};
