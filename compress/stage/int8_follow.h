/* SPDX-License-Identifier: Apache-2.0
 * int8_follow.h: errors of convs that read bytes against the original model. */
#ifndef CTT_INT8_FOLLOW_H
#define CTT_INT8_FOLLOW_H

#include "compress/compress.h"

/* Of the conv `node` of `was`, which has a node of that name in
 * `now`: the ratio in dB of its results to the errors of those in `now`, on so
 * many clips; if it has a bias, that then makes up for the mean of the errors,
 * which the ratio does not count.  To be called in the order of execution.
 * Errors as of ctt_responses(). */
int  ctt_int8_follow(const struct ctt_model *was, struct ctt_model *now,
                     int node, const struct ctt_recipe_calls *calls, int clips,
                     double *db);

#endif
