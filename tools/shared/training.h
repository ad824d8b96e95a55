/* SPDX-License-Identifier: Apache-2.0
 * training.h: the parts of a training that convtt-train and convtt-compress
 * share. */
#ifndef CTT_TOOL_TRAINING_H
#define CTT_TOOL_TRAINING_H

#include "libtrain/train.h"
#include "net/file/file.h"
#include "video/video.h"

/* ---- teachers.c ---- */

enum { CTT_TEACHERS = 16 };
struct ctt_teachers {
    struct ctt_model       *model[CTT_TEACHERS];
    const struct ctt_model *list[CTT_TEACHERS + 1];    /* the same, then NULL */
};

/* Loads the models of `paths` (--teacher), separated by commas; NULL: none.
 * CTT_EINVAL: more than CTT_TEACHERS. */
int  ctt_teachers_load(const char *paths, struct ctt_teachers *out);
void ctt_teachers_free(struct ctt_teachers *t);

/* CTT_EINVAL if a teacher's file is among the n output files. */
int  ctt_teachers_spared(const char *paths, const char *const *made, int n);

/* ---- duplicates.c ---- */

/* Warns of clips that a data set has twice.  what: its name, such as
 * "training". */
void ctt_tool_duplicates(const char *what, const struct ctt_duplicates *r);

/* ---- held_out.c ---- */

/* If cfg->data, opened as *data for frames of `in`, has no split to validate
 * on: sets *val to a fifth of *data and *data to the rest, both closed by
 * ctt_fold_close(), and *whole to all.  Clips that belong together stay so
 * (ctt_fold_open).  If a class would lose all, or there are few clips, *val
 * stays NULL; says which.  Returns 1 if there is that split, which is not
 * opened; CTT_EINVAL if its labels do not fit, or if --val-split names one that
 * has the same clips, CTT_ENOSPLIT if it names one that is not there. */
int ctt_hold_out(const struct ctt_train_cfg *cfg, const struct ctt_input *in,
                 struct ctt_data **data, struct ctt_data **val,
                 struct ctt_data **whole);

/* CTT_EINVAL if clips have several labels, and the model g gives one answer.
 * split: of the path, or NULL. */
int ctt_check_several(const struct ctt_graph *g, int several, const char *path,
                      const char *split);

/* CTT_EINVAL if split "test" of cfg->data, or `test` instead, the clips of
 * cfg->test, does not suit the model m: a class is none of those of `like`, a
 * set of the model's clips, or clips have several labels.  0 if there is no
 * such split, and if it cannot be read, of which ctt_held_out_open() warns.
 * CTT_ENOMEM. */
int ctt_held_out_check(const struct ctt_train_cfg *cfg,
                       const struct ctt_model *m, const struct ctt_data *like,
                       const struct ctt_data *test);

/* Opens split "test" of cfg->data for the model m: clips used neither for
 * training nor for choosing the best epoch.  *out NULL: no such split, without
 * classes, or with clips of train or val.  Warns and returns the error if the
 * split cannot be read; CTT_ENOMEM without a warning.  Call it after the
 * outputs are written: no signal stops the program from here on. */
int ctt_held_out_open(const struct ctt_train_cfg *cfg,
                      const struct ctt_model *m, const struct ctt_data *train,
                      const struct ctt_data *val, struct ctt_data **out);

/* The clips before some were held out: those of `whole`, unless it is NULL. */
static inline struct ctt_data *ctt_all_clips(struct ctt_data *whole,
                                             struct ctt_data *rest)
{
    return whole ? whole : rest;
}

/* The reason for a missing split, in words; rc: the result of opening. */
const char *ctt_held_out_missing(int rc);

/* Prints the accuracy on `test` after 25%, 50% and 100% of a clip, or the
 * quality of predicted frames.  who: the name of the model.  test: the clips of
 * cfg->test, if given.  *scores: in recognition, at these shares; else NULL. */
int ctt_held_out_say(const struct ctt_train_cfg *cfg,
                     const struct ctt_model *m, const char *who,
                     struct ctt_data *test, struct ctt_metrics **scores);

/* The name of these clips: "split 'test'", or the path of --test. */
const char *ctt_held_out_name(const struct ctt_train_cfg *cfg, char *buf,
                              size_t size);

/* ---- train_say.c ---- */

/* Prints progress, epochs and bad clips. */
extern const struct ctt_events ctt_say_events;

/* "loss scale 2^17, 7 steps skipped"; returns buf. */
const char *ctt_say_scale(double scale, int64_t skipped, char *buf,
                          size_t size);

/* The part of the epoch that is done, 0 to 1. */
double ctt_say_epoch_share(const struct ctt_progress *p);

/* "train loss 0.351, train top-1 87.5%" or what the task measures in its place,
 * with "-" for a missing measurement; returns buf. */
const char *ctt_say_loss(const struct ctt_progress *p, char *buf, size_t size);

/* The validation of an epoch, if there was one, such as " 71.2% at 25%, 80.1%
 * at 100%, loss 0.351", and "(best ...)" if it was the best so far. */
void ctt_say_test(const struct ctt_epoch *e, const struct ctt_metrics *val,
                  char *buf, size_t size);

/* Appends ", " and ctt_say_scale() to buf with mixed precision. */
void ctt_say_amp(const struct ctt_progress *p, char *buf, size_t size);

/* "25%" or "1 frame"; returns buf. */
const char *ctt_say_point(const struct ctt_point *p, char *buf, size_t size);

/* ---- train_tables.c ---- */

/* Warns of clips that a set ("training", "validation", "test") has twice, and
 * of classes without clips; CTT_ENOMEM. */
int ctt_say_set(const char *what, const struct ctt_data *d);

/* Says of the training data that classes have names that are nearly the same,
 * or very different numbers of clips, which cfg does not even out. */
int ctt_say_classes(const struct ctt_data *d, const struct ctt_train_cfg *cfg);

/* Warns of clips of d ("validation" or "test") that are also in the data called
 * `used`, which flatters the model; CTT_ENOMEM. */
int ctt_say_shared(const char *what, const struct ctt_data *d,
                   const char *used, const struct ctt_data *other);

/* Prints tables: accuracy by observed ratio and by class, confusion matrix;
 * CTT_ENOMEM, as the one below. */
int ctt_say_metrics(const struct ctt_metrics *m, char *const *label);

/* Prints a table: quality of predictions and of the baselines for each frame
 * ahead. */
int ctt_say_scores(const struct ctt_predict_scores *f);

#endif
