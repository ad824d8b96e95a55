/* SPDX-License-Identifier: Apache-2.0
 * cores.h: cores of tensor trains in kernels of our own: a conv of few channels
 * with the sum that it adds and, at the first core, the sum that it reads. */
#ifndef CTT_CORES_H
#define CTT_CORES_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rank of fp32, the largest one of 16 bits, and the largest window. */
enum { CTT_CORE_CHANNELS = 8, CTT_CORE_MOST = 16, CTT_CORE_KERNEL = 7 };

/* The calls of a core; head, plus: adds, or NULL. */
struct ctt_core_calls { const struct ctt_call *conv, *head, *plus; };

/* kernel/cores.cu, core_mma.cu.  back: gradients; tf32: floats may be rounded
 * to TF32.  fits: 1 if types and addresses suit the kernel. */
int ctt_core_fits(const struct ctt_core_calls *a, int back);
int ctt_launch_core(const struct ctt_core_calls *a, int back, int tf32,
                    void *stream);

/* cores.c: as fuses and along of struct ctt_dev_kind, and a conv with a
 * chain. */
int ctt_cuda_fuses(enum ctt_fusion what, const struct ctt_node *n,
                   const struct ctt_node *next, enum ctt_dtype between);
int ctt_cuda_along(struct ctt_dev *d, const struct ctt_call *c);
int ctt_cuda_train(struct ctt_dev *d, const struct ctt_call *c);

#ifdef __cplusplus
}
#endif

#endif
