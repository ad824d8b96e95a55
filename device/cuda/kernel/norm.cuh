/* SPDX-License-Identifier: Apache-2.0
 * norm.cuh: the kinds of normalisation, batch.cu and layer.cu. */
#ifndef CTT_NORM_CUH
#define CTT_NORM_CUH

#include "device/cuda/kernels.h"

int ctt_batch_forward(const struct ctt_call *c, void *scratch, void *stream);
int ctt_batch_backward(const struct ctt_call *c, void *scratch, void *stream);
int ctt_layer_forward(const struct ctt_call *c, void *scratch, void *stream);
int ctt_layer_backward(const struct ctt_call *c, void *scratch, void *stream);

/* Bytes of scratch for K sums per channel. */
size_t ctt_batch_bytes(const struct ctt_call *c, int K);
size_t ctt_layer_bytes(const struct ctt_call *c);

#endif
