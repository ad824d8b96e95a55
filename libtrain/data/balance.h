/* SPDX-License-Identifier: Apache-2.0
 * balance.h: class balance: classes with few clips count as much as classes
 * with many, by the weight of their clips or by drawing them more often. */
#ifndef CTT_BALANCE_H
#define CTT_BALANCE_H

#include "libtrain/data/data.h"

/* The weight of each class, in proportion to 1 / its clips, so that all classes
 * have the same sum and the mean over the clips is 1 (King and Zeng 2001); 0 of
 * a class without clips.  several: of each class two weights, where it is one
 * of a clip's labels, and behind all of these where it is not, so that both
 * have the sum of half of the clips.  To be freed. */
int  ctt_class_weights(const struct ctt_data *d, int several, float **out);

/* Fills draws[d->clips] with clips: each class that has any is drawn equally
 * often, give or take one, and so is each clip of a class; a clip of several
 * labels is of the one that the fewest clips have.  work: d->clips numbers, and
 * first: one more than d has classes. */
void ctt_balanced_draws(const struct ctt_data *d, uint64_t key, int *first,
                        int *work, int *draws);

#endif
