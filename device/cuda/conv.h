/* SPDX-License-Identifier: Apache-2.0
 * conv.h: the ways in which the device "cuda" computes convs. */
#ifndef CTT_CUDA_CONV_H
#define CTT_CUDA_CONV_H

#include "device/cuda/cuda.h"

/* blas.c: those that are one matrix product; dnn.c: all. */
extern const struct ctt_conv_provider ctt_conv_cublaslt, ctt_conv_cudnn;

/* conv.c: opens them and sets the kernels of conv and deconv. */
int ctt_cuda_conv_open(struct ctt_dev *d);

#endif
