/* SPDX-License-Identifier: Apache-2.0
 * update.h: the optimizer over a flat block in host memory: slots of struct
 * ctt_dev_memory (device/memory.h). */
#ifndef CTT_CPU_UPDATE_H
#define CTT_CPU_UPDATE_H

#include "device/memory.h"

int ctt_host_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                       double *square_sum);

/* share.c: constrains the gradients of shared values for ctt_host_constrain()
 * and adds up their squares into *square_sum. */
int ctt_host_share(struct ctt_dev *d, const struct ctt_flat *f,
                   double *square_sum);

int ctt_host_update(struct ctt_dev *d, const struct ctt_flat *f,
                    const struct ctt_rule *rule);

int ctt_host_average(struct ctt_dev *d, const float *w, float share,
                     float *average, int64_t n);

#endif
