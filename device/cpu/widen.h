/* SPDX-License-Identifier: Apache-2.0
 * widen.h: what the files of ctt_widen() (dev.h) share. */
#ifndef CTT_WIDEN_H
#define CTT_WIDEN_H

#include "device/dev.h"

static inline int ctt_is_16bit(const struct ctt_tensor *t)
{
    return t->data && (t->dtype == CTT_F16 || t->dtype == CTT_BF16);
}

/* At least so many bytes of d->wide, not cleared; NULL if there is no memory.
 * Only of use until the next call. */
void *ctt_widen_room(struct ctt_dev *d, size_t bytes);

/* A window of any types: forward it moves numbers as they are, backward it
 * sums in floats and rounds each sum once. */
int ctt_widen_window(struct ctt_dev *d, const struct ctt_call *c,
                     enum ctt_pass pass);

#endif
