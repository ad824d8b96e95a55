/* SPDX-License-Identifier: Apache-2.0
 * thin_score.h: the importance of each class of channels. */
#ifndef CTT_THIN_SCORE_H
#define CTT_THIN_SCORE_H

#include "compress/compress.h"
#include "net/rewrite/channel_groups.h"

/* Fills score[t->classes] by o->score (enum ctt_thin_score); the larger, the
 * more the class matters.
 *
 * NORM: the squares of all trained weights of the class, in and out, summed per
 * weight, divided by their mean over the layer, and averaged over the weights
 * (group norm of Fang and others 2023).
 *
 * RESPONSE: the sum, over the convs that read the class, of its share of their
 * results: the mean square of the channel on clips times the squares of the
 * weights that read it (Sun and others 2024, for channels), as a share of that
 * of all channels that the conv reads.  clips: to measure on; 0: enough.
 * CTT_EINVAL if there are no clips, or none that reaches a conv; CTT_ENAN if a
 * weight or value is not finite. */
int ctt_thin_scores(const struct ctt_model *m,
                    const struct ctt_channel_groups *t,
                    const struct ctt_thin *o, int clips,
                    const struct ctt_recipe_calls *calls, double *score);

#endif
