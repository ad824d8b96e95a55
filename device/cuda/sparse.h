/* SPDX-License-Identifier: Apache-2.0
 * sparse.h: common part of the providers of pruned weights: which convs these
 * may be, and how one runs. */
#ifndef CTT_CUDA_SPARSE_H
#define CTT_CUDA_SPARSE_H

#include "device/cuda/core.h"

/* 1 or 0 and q->why.  Only weights that never change (a run's first stamp), as
 * in sessions: a recorded graph keeps the packed ones. */
int ctt_sparse_supports(struct ctt_conv_ask *q);

/* y = W x, or y += W x with add. */
typedef int ctt_sparse_product(const struct ctt_conv_ask *q, int add);
int ctt_sparse_run(struct ctt_conv_ask *q, ctt_sparse_product *multiply);

#endif
