/* SPDX-License-Identifier: Apache-2.0
 * stage.h: what a stage of compression is, and what it works on.  A new stage
 * is a file with one struct ctt_stage, a row of stages.c, and its settings in
 * struct ctt_recipe. */
#ifndef CTT_STAGE_H
#define CTT_STAGE_H

#include "compress/compress.h"

/* What a stage gets, and says of one of its rounds. */
struct ctt_walk {
    const struct ctt_recipe       *o;
    const struct ctt_recipe_calls *calls;
    struct ctt_model **m;         /* changed, or replaced by another one */
    struct ctt_report *r;         /* its weight rows, to be filled in */
    double             start;     /* 0 in the first round; a number that the
                                     stage keeps for its later ones */
    char               name[CTT_NAME];    /* out: of this round, for reports */
    char               line[160]; /* out: of the model's history */
};

struct ctt_stage {
    const char           *section;    /* of its options in a help text */
    const struct ctt_opt *options;    /* rows over struct ctt_recipe */
    const char           *ask;        /* the options that ask for it; NULL:
                                         not worth a run of its own */
    /* Of the retraining epochs that the stages before it left: the share that
     * it takes if later stages retrain as well (the last one takes all); 0: it
     * is never followed by retraining. */
    double                epochs;

    /* Whether the settings ask for it. */
    int    (*asked)(const struct ctt_recipe *o);
    /* An error if a setting is wrong, or wrong for this model. */
    int    (*check)(const struct ctt_recipe *o, const struct ctt_model *m);
    /* How many times it runs, retrained after each; NULL: once. */
    int    (*rounds)(const struct ctt_recipe *o);
    /* How much of its epochs `all` is spent after `round` rounds, of which
     * there are more; NULL where it runs once. */
    double (*spent)(const struct ctt_recipe *o, int round, double all);
    /* Does round `round`, from 1. */
    int    (*run)(struct ctt_walk *k, int round);
};

/* In the order of the recipe; NULL ends it. */
extern const struct ctt_stage *const ctt_stages[];

extern const struct ctt_stage ctt_stage_tt;
extern const struct ctt_stage ctt_stage_prune;
extern const struct ctt_stage ctt_stage_round;

/* The times that a stage runs; 0 if it is not asked. */
int ctt_stage_rounds(const struct ctt_stage *s, const struct ctt_recipe *o);

/* Top-1 of m, by the caller's test; does nothing if there is none.  what: for
 * whoever watches. */
int ctt_walk_accuracy(const struct ctt_walk *k, const char *what,
                      const struct ctt_model *m,
                      double top1[CTT_ACCURACIES]);

#endif
