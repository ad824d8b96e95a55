/* SPDX-License-Identifier: Apache-2.0
 * recipe_state.h: how far a recipe is, as text for a checkpoint. */
#ifndef CTT_RECIPE_STATE_H
#define CTT_RECIPE_STATE_H

#include "compress/stage.h"

/* The most retrainings of a round: epochs double. */
enum { CTT_RETRAININGS = 31 };

struct ctt_recipe_state {
    int64_t  weights;  /* of the model as it was given, */
    uint32_t crc;      /* and the CRC-32 of its net, labels and weights */
    int    rounds;     /* done so far, of all stages */
    int    begun;      /* n > 0: the next round has been run, and its n-th
                          retraining is under way */
    double start;      /* of struct ctt_walk, */
    char   name[CTT_NAME];    /* and its name, if the round has begun */
    double before[CTT_ACCURACIES];    /* top-1 before its retraining */
    int    idle;       /* repetitions of its retraining since one gained, */
    double least;      /* and the mean top-1 then missing, 0..1 */
};

/* Sets what identifies the model as it was given. */
int ctt_recipe_state_given(const struct ctt_model *m,
                           struct ctt_recipe_state *p);

/* The place, the settings and the report so far as text, which the caller
 * frees. */
int ctt_recipe_state_print(const struct ctt_recipe_state *p,
                           const struct ctt_recipe *o,
                           const struct ctt_report *r, char **out);

/* Reads the text of a checkpoint: p, in which the given model is set, and the
 * rows of r, a new report on that model.  CTT_EINVAL if the settings or the
 * given model were others, CTT_EFORMAT if the text is damaged. */
int ctt_recipe_state_read(const char *text, const struct ctt_recipe *o,
                          struct ctt_recipe_state *p, struct ctt_report *r);

#endif
