/* SPDX-License-Identifier: Apache-2.0
 * balance.h: class balance: classes with few clips count as much as classes
 * with many, by the weight of their clips or by drawing them more often. */
#ifndef CTT_BALANCE_H
#define CTT_BALANCE_H

#include "libtrain/data/data.h"

/* The weight of each class, in proportion to 1 / its clips, so that all classes
 * have the same sum and the mean over the clips is 1 (King and Zeng 2001); 0 of
 * a class without clips.  To be freed. */
int  ctt_class_weights(const struct ctt_data *d, float **out);

/* Fills draws[d->clips] with clips: each class that has any is drawn equally
 * often, give or take one, and so is each clip of a class.  work: d->clips
 * numbers, and first: one more than d has classes. */
void ctt_balanced_draws(const struct ctt_data *d, uint64_t key, int *first,
                        int *work, int *draws);

#endif
