/* SPDX-License-Identifier: Apache-2.0
 * stage.h: the interface of a stage of compression.  A new stage is a file with
 * one struct ctt_stage, a row of stages.c, and its settings in struct
 * ctt_recipe. */
#ifndef CTT_STAGE_H
#define CTT_STAGE_H

#include "compress/compress.h"

struct ctt_stage;

/* The inputs and outputs of a round of a stage. */
struct ctt_walk {
    const struct ctt_stage *const *stages;    /* of the recipe; NULL ends it */
    const struct ctt_recipe       *o;
    const struct ctt_recipe_calls *calls;
    const char        *path;      /* models are measured in files beside it */
    struct ctt_model **m;         /* the stage changes it or replaces it */
    struct ctt_report *r;         /* the stage fills in its weight rows */
    double             start;     /* 0 in the first round; the stage may store a
                                     number for later rounds */
    int                epochs;    /* of retraining after this round */
    int                same;      /* out: 1: the round changed no weight; see
                                     ctt_walk_same() */
    char               name[CTT_NAME];    /* out: of the round, for reports */
    char               line[160]; /* out: line for the model's history */
};

struct ctt_stage {
    const char           *section;    /* heading of its options in help */
    const struct ctt_opt *options;    /* fields of struct ctt_recipe */
    const char           *ask;        /* the options that request it; NULL: not
                                         worth a run of its own */
    /* The share of the remaining retraining epochs that it takes if a later
     * stage is retrained as well (the last one takes all); 0: it is never
     * retrained. */
    double                epochs;
    /* Epochs of its own, besides the recipe's; NULL: none. */
    int    (*own_epochs)(const struct ctt_recipe *o);

    /* The mean top-1 that a round may lose without being retrained; below 0, or
     * NULL: it always is. */
    double (*harm)(const struct ctt_recipe *o);

    /* Whether the settings request it. */
    int    (*asked)(const struct ctt_recipe *o);
    /* Whether they do so by more than a default; NULL: as asked. */
    int    (*given)(const struct ctt_recipe *o);
    /* CTT_EINVAL if a setting is wrong, or wrong for this model. */
    int    (*check)(const struct ctt_recipe *o, const struct ctt_model *m);
    /* Number of rounds, each followed by retraining; NULL: one. */
    int    (*rounds)(const struct ctt_recipe *o);
    /* The part of its share of epochs, `all`, that is spent after round
     * `round`, not the last; NULL for stages of one round. */
    double (*spent)(const struct ctt_recipe *o, int round, double all);
    /* Runs round `round`, from 1. */
    int    (*run)(struct ctt_walk *k, int round);
    /* Makes a model of the same run time without clips; NULL: as run(). */
    int    (*sketch)(struct ctt_walk *k);
    /* 1: ctt_choose() comes before it. */
    int    choice;
    /* Its options that --sense and --budget try, with their values; NULL: none.
     * A row without a name ends them. */
    const struct ctt_ladder *ladders;
    /* Sets the changes of the model during the retraining of this round, with
     * arg = k; NULL, or due NULL: none. */
    void   (*during)(struct ctt_walk *k, struct ctt_changes *c);
};

/* In the order of the recipe; NULL ends it. */
extern const struct ctt_stage *const ctt_stages[];

extern const struct ctt_stage ctt_stage_thin;
extern const struct ctt_stage ctt_stage_svd;
extern const struct ctt_stage ctt_stage_tt;
extern const struct ctt_stage ctt_stage_prune;
extern const struct ctt_stage ctt_stage_fold;
extern const struct ctt_stage ctt_stage_share;
extern const struct ctt_stage ctt_stage_int8;
extern const struct ctt_stage ctt_stage_round;

/* Names a round of a stage, called `what`, that has changed no weight: it is
 * not retrained. */
void ctt_walk_same(struct ctt_walk *k, const char *what);

/* The number of rounds of a stage; 0 if it is not requested. */
int ctt_stage_rounds(const struct ctt_stage *s, const struct ctt_recipe *o);

/* ---- epochs.c ---- */

/* The number of rounds of all stages. */
int ctt_recipe_rounds(const struct ctt_recipe *o);

/* The epochs of all retrainings before the n-th of the last round that is
 * retrained, but for those that stages have of their own. */
int64_t ctt_epochs_before(const struct ctt_recipe *o, int n);

/* The epochs of the n-th retraining, from 1, of a round, from 0; n > 1: of the
 * last round that is retrained, which doubles all epochs so far, up to the
 * limit. */
int ctt_retraining_epochs(const struct ctt_recipe *o, int round, int n);

/* When it begins. */
struct ctt_epochs ctt_epochs_at(const struct ctt_recipe *o, int round, int n);

/* Top-1 of m, by the caller's test; does nothing if there is none.  what: a
 * name for logs. */
int ctt_walk_accuracy(const struct ctt_walk *k, const char *what,
                      const struct ctt_model *m,
                      struct ctt_score *s);

#endif
