/* SPDX-License-Identifier: Apache-2.0
 * providers.h: the providers of convs of the device "cpu". */
#ifndef CTT_PROVIDERS_H
#define CTT_PROVIDERS_H

#include "device/cpu/cpu.h"
#include "device/cpu/widen.h"

/* Best first, NULL-terminated. */
extern const struct ctt_conv_provider *const ctt_cpu_providers[];

/* Chains of convs: chain_provider.c.  Sparse weights: sparse_provider.c.
 * Depthwise convs of floats: depthwise_provider.c.
 * Quantised values: wino16_provider.c (integer Winograd) and int8_provider.c.
 * bf16, fp16: dense_provider.c.  Floats: wino_provider.c (Winograd),
 * dense_provider.c and, of deconvs, phases.c (inference only), and the module
 * onednn.c, if it is built, which onednn_load.c loads at its first use.
 * Everything: direct sums. */
extern const struct ctt_conv_provider ctt_conv_chain, ctt_conv_depthwise,
                                      ctt_conv_sparse,
                                      ctt_conv_wino16, ctt_conv_int8,
                                      ctt_conv_bf16, ctt_conv_fp16,
                                      ctt_conv_winograd,
                                      ctt_conv_dense, ctt_conv_phases,
                                      ctt_conv_onednn, ctt_conv_direct;

/* chain_provider.c: ctt_dev_links() of "cpu". */
int  ctt_cpu_links(const struct ctt_node *n, const struct ctt_node *next,
                   enum ctt_dtype between, int behind);

/* Computes the gradients without a provider by direct sums. */
ctt_kernel ctt_conv_direct_rest;

/* The values and gradients that a part reads or writes, at most 3; their
 * count. */
static inline int ctt_part_values(const struct ctt_conv_ask *q,
                                  const struct ctt_tensor **x)
{
    const struct ctt_call *c = q->call;
    int out = q->part == CTT_CONV_OUT, n = 0;

    x[n++] = q->part == CTT_CONV_DIN ? &c->din[0] : &c->in[0];
    x[n++] = out ? &c->out : &c->dout;
    if (out && c->node->plus && c->in[1].data)
        x[n++] = &c->in[1];
    return n;
}

/* 1 if the part reads or writes 16 bits. */
static inline int ctt_part_is_short(const struct ctt_conv_ask *q)
{
    const struct ctt_tensor *x[3];
    int any = 0;

    for (int i = ctt_part_values(q, x) - 1; i >= 0; i--)
        any |= ctt_is_16bit(x[i]);
    return any;
}

/* y = a b, n x n matrices, computed as a 1x1 conv on n pixels. */
int ctt_plain_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                    float *y);

#endif
