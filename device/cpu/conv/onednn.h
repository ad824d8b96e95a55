/* SPDX-License-Identifier: Apache-2.0
 * onednn.h: the kernels that oneDNN makes for the device "cpu". */
#ifndef CTT_ONEDNN_H
#define CTT_ONEDNN_H

#include "device/dev.h"

/* open puts oneDNN's kernels into d->kernel; those in d->plain are called
 * where they are faster. */
int  ctt_onednn_open(struct ctt_dev *d);
void ctt_onednn_close(struct ctt_dev *d);
void ctt_onednn_forget(void *cache);
const char *ctt_onednn_impl(const void *cache, enum ctt_pass pass);
int  ctt_onednn_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                      float *c);

#endif
