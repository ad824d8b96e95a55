/* SPDX-License-Identifier: Apache-2.0
 * widen.h: kernels of floats on calls with numbers of 16 bits. */
#ifndef CTT_WIDEN_H
#define CTT_WIDEN_H

#include "device/dev.h"

static inline int ctt_is_16bit(const struct ctt_tensor *t)
{
    return t->data && (t->dtype == CTT_F16 || t->dtype == CTT_BF16);
}

/* 1 if a tensor of the call has numbers of 16 bits. */
int ctt_is_narrow(const struct ctt_call *c);

/* Runs a kernel that takes floats only; numbers of 16 bits are converted before
 * and after it.  (The run of struct ctt_dev_kind.) */
int ctt_widen_run(struct ctt_dev *d, ctt_kernel *kernel,
                  const struct ctt_call *c, enum ctt_pass pass);

/* At least so many bytes for that, not cleared, valid until the next call; NULL
 * if there is no memory. */
void *ctt_widen_room(struct ctt_dev *d, size_t bytes);

/* A window of any types: forward it moves numbers as they are, backward it
 * sums in floats and rounds each sum once. */
int ctt_widen_window(struct ctt_dev *d, const struct ctt_call *c,
                     enum ctt_pass pass);

#endif
