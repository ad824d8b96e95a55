/* SPDX-License-Identifier: Apache-2.0
 * sequence.h: the sequences of frames for training prediction. */
#ifndef CTT_SEQUENCE_H
#define CTT_SEQUENCE_H

#include "libtrain/data/data.h"

/* Cuts each clip of L frames into L / d->steps sequences. */
int ctt_sequences_cut(struct ctt_data *d);

/* Makes d a set of n sequences of its source, which draws them. */
int ctt_sequences_draw(struct ctt_data *d, int n);

/* The first frame of sequence c in its clip: part * length with key 0,
 * otherwise a random one. */
int ctt_sequence_start(const struct ctt_clip *c, uint64_t key);

/* The key of the random numbers of clip c in an epoch with the given key. */
uint64_t ctt_clip_key(const struct ctt_clip *c, uint64_t key);

#endif
