/* SPDX-License-Identifier: Apache-2.0
 * widen.h: runs fp32 kernels on calls with tensors of 16 bits or of bytes. */
#ifndef CTT_WIDEN_H
#define CTT_WIDEN_H

#include "device/dev.h"

static inline int ctt_is_16bit(const struct ctt_tensor *t)
{
    return t->data && (t->dtype == CTT_F16 || t->dtype == CTT_BF16);
}

/* 1 if the call has a tensor of 16 bits or bytes that its kernel cannot read or
 * write. */
int ctt_is_narrow(const struct ctt_call *c);

/* Runs an fp32 kernel; tensors of other types are converted before and after
 * it.  Slot `run` of struct ctt_dev_kind.  CTT_ENOMEM. */
int ctt_widen_run(struct ctt_dev *d, ctt_kernel *kernel,
                  const struct ctt_call *c, enum ctt_pass pass);

/* Memory for the fp32 copies: at least `bytes` bytes, not cleared, valid until
 * the next call; NULL: out of memory. */
void *ctt_widen_scratch(struct ctt_dev *d, size_t bytes);

/* Computes the parts of a conv that a provider multiplies in 16 bits.  1:
 * that was all; 0: `rest`, at first the same call, is left to do; or an
 * error. */
int ctt_widen_conv(struct ctt_dev *d, ctt_kernel *kernel,
                   const struct ctt_call *c, enum ctt_pass pass,
                   struct ctt_call *rest);

/* The window op for any types: forward it copies elements, backward it sums in
 * fp32 and rounds each sum once. */
int ctt_widen_window(struct ctt_dev *d, const struct ctt_call *c,
                     enum ctt_pass pass);

#endif
