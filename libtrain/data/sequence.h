/* SPDX-License-Identifier: Apache-2.0
 * sequence.h: the sequences of frames that prediction is trained on. */
#ifndef CTT_SEQUENCE_H
#define CTT_SEQUENCE_H

#include "libtrain/data/data.h"

/* Cuts each clip of L frames into L / d->steps sequences. */
int ctt_sequences_cut(struct ctt_data *d);

/* Makes d a set of n sequences of its source, which is a drawn one. */
int ctt_sequences_draw(struct ctt_data *d, int n);

/* The frame of its clip with which sequence c begins: with key 0, part *
 * length, otherwise anywhere. */
int ctt_sequence_start(const struct ctt_clip *c, uint64_t key);

/* The key of all that is drawn for clip c in an epoch of the given key. */
uint64_t ctt_clip_key(const struct ctt_clip *c, uint64_t key);

#endif
