/* SPDX-License-Identifier: Apache-2.0
 * blend.h: clips of a batch mixed in pairs: mixup (Zhang and others 2018) and
 * CutMix (Yun and others 2019). */
#ifndef CTT_BLEND_H
#define CTT_BLEND_H

#include "libtrain/data/augment.h"

/* The mix of the clip at a place of a batch: its own share, 0.5 to 1, and the
 * place of the other clip. */
struct ctt_blend { int other; float own; };

/* The clips of a batch: x is [steps][n][frame] floats. */
struct ctt_blend_batch {
    const struct ctt_data *d;
    float     *x;
    int        steps, n;
    const int *clip, *length, *turn;    /* turn: as in struct ctt_order */
};

/* Mixes the clips at places 0 and 1, 2 and 3 and so on, each with the other,
 * unless one of them is empty.  Frames are paired by the share of the clip
 * that was seen, so a short clip is stretched beside a long one, and all keep
 * their lengths.  spare: room for one clip.  How depends on the epoch's key,
 * the first clip of a pair and its turn. */
void ctt_blend(const struct ctt_blend_batch *b, const struct ctt_augment *a,
               float *spare, struct ctt_blend *out);

#endif
