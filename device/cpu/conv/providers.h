/* SPDX-License-Identifier: Apache-2.0
 * providers.h: the providers of convs of the device "cpu". */
#ifndef CTT_PROVIDERS_H
#define CTT_PROVIDERS_H

#include "device/cpu/cpu.h"

/* Best first, NULL-terminated. */
extern const struct ctt_conv_provider *const ctt_cpu_providers[];

/* Chains of convs: chain_provider.c.  Sparse weights: sparse_provider.c.
 * Depthwise convs of floats: depthwise_provider.c.
 * Quantised values: wino16_provider.c (integer Winograd) and int8_provider.c.
 * bf16, fp16: dense_provider.c.  Floats: wino_provider.c (Winograd),
 * dense_provider.c and, of deconvs, phases.c (inference only), and the module onednn.c, if it is built,
 * which onednn_load.c loads at its first use.  Everything: direct sums. */
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

/* y = a b, n x n matrices, computed as a 1x1 conv on n pixels. */
int ctt_plain_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                    float *y);

#endif
