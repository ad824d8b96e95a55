/* SPDX-License-Identifier: Apache-2.0
 * int8_follow.h: errors of convs that read bytes against the original model. */
#ifndef CTT_INT8_FOLLOW_H
#define CTT_INT8_FOLLOW_H

#include "compress/compress.h"

struct ctt_kept;

/* Calls f for each conv that is marked in take[], in the order of execution,
 * with what it answered in `was` on so many clips: the k-th of `kept`. */
int  ctt_int8_each(const struct ctt_model *was, const char *take,
                   const struct ctt_recipe_calls *calls, int clips,
                   int (*f)(void *arg, int node, const struct ctt_kept *kept,
                            int k), void *arg);

/* Of that conv, which has a node of its name in `now`: the ratio in dB of its
 * results to the errors of those in `now`; if it has a bias, that then makes up
 * for the mean of the errors, which the ratio does not count.  answer, or NULL:
 * gets the answers of `now`, without that change.  Errors as of
 * ctt_responses(). */
struct ctt_int8_follow {
    const struct ctt_model        *was;
    const struct ctt_recipe_calls *calls;
    int                            clips;
    void (*answer)(void *to, int k, const float *row);
    void                          *answer_to;
};
int  ctt_int8_follow(const struct ctt_int8_follow *w, int node,
                     const struct ctt_kept *kept, int k, struct ctt_model *now,
                     double *db);

#endif
