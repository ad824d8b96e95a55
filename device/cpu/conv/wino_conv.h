/* SPDX-License-Identifier: Apache-2.0
 * wino_conv.h: the layer of the device "cpu" that takes the convolutions which
 * Winograd does faster and hands the rest to the kernels below it. */
#ifndef CTT_WINO_CONV_H
#define CTT_WINO_CONV_H

#include "device/dev.h"

/* Puts itself before the conv and deconv kernels in d->kernel; below: the kind
 * that made those, whose forget and impl take the caches they made. */
void ctt_wino_open(struct ctt_dev *d, const struct ctt_dev_kind *below);
int  ctt_wino_along(struct ctt_dev *d, const struct ctt_call *c);
void ctt_wino_forget(void *cache);
const char *ctt_wino_impl(const void *cache, enum ctt_pass pass);

#endif
