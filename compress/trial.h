/* SPDX-License-Identifier: Apache-2.0
 * trial.h: the result of a recipe without training, as a file to
 * measure. */
#ifndef CTT_TRIAL_H
#define CTT_TRIAL_H

#include "compress/stage.h"

struct ctt_newfile;

/* A temporary file, its size, and what it stores. */
struct ctt_trial {
    struct ctt_newfile *file;
    int64_t             bytes;
    struct ctt_stored  *stored;
    int                 nstored;
};

/* Makes t of a copy of m, on which the stage `done` of a list and those before
 * it have run (NULL: none has): the stages behind run at once, without clips.
 * o: settings without AUTO; r: has rows of the weights of m, and stays as it
 * is; path: the file is beside it.  The caller drops t, also after a failure.
 * 1: it does not fit into the limit of memory. */
int  ctt_trial_make(const struct ctt_model *m,
                    const struct ctt_stage *const *stages,
                    const struct ctt_stage *done, const struct ctt_recipe *o,
                    const struct ctt_report *r, const char *path,
                    struct ctt_trial *t);

/* A trial of settings with a report of its own; without clips, as sizes do not
 * depend on what values are fitted to. */
int  ctt_trial_recipe(const struct ctt_model *m,
                      const struct ctt_stage *const *stages,
                      const struct ctt_stage *done, const struct ctt_recipe *o,
                      const char *path, struct ctt_trial *t);

/* A trial of a model as it is: no stage runs. */
int  ctt_trial_plain(const struct ctt_model *m, const char *path,
                     struct ctt_trial *t);
void ctt_trial_drop(struct ctt_trial *t);

/* Bytes and multiplications of its file; of the model m, whose file is at
 * path. */
int  ctt_trial_costs(const struct ctt_trial *t, struct ctt_costs *out);
int  ctt_model_costs(const struct ctt_model *m, const char *path,
                     struct ctt_costs *out);

/* How t runs beside `base`: calls->compare.  1: they do not fit into the limit
 * of memory. */
int  ctt_trial_compare(const struct ctt_recipe_calls *calls,
                       const struct ctt_trial *base, const struct ctt_trial *t,
                       struct ctt_speed *s);

/* 1 if rc says that the limit of memory is reached, which had refused so many
 * blocks before (ctt_memory_refused()); else rc. */
int  ctt_trial_or_full(int rc, long refused);

/* Says that `what` is not tried, right after one of these returned 1. */
void ctt_trial_say_full(const struct ctt_recipe_calls *calls, const char *what);

/* The bytes that t stores for a weight and its cores. */
int64_t ctt_trial_weight(const struct ctt_trial *t,
                         const struct ctt_weight_row *row);
int64_t ctt_trial_named(const struct ctt_trial *t, const char *name);

/* A report with copies of the rows of weights of r, for stages to write to. */
int  ctt_trial_rows(const struct ctt_report *r, struct ctt_report **out);

#endif
