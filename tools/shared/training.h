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

/* Loads the models of `paths`, separated by commas; NULL: none.  CTT_EINVAL if
 * there are more than CTT_TEACHERS. */
int  ctt_teachers_load(const char *paths, struct ctt_teachers *out);
void ctt_teachers_free(struct ctt_teachers *t);

/* CTT_EINVAL if one of these files is one of the n that are made. */
int  ctt_teachers_spared(const char *paths, const char *const *made, int n);

/* ---- duplicates.c ---- */

/* what: the name of the set, such as "training". */
void ctt_tool_duplicates(const char *what, const struct ctt_duplicates *r);

/* ---- held_out.c ---- */

/* Opens split "test" of cfg->data for the model m, or sets *out to NULL if
 * there is none: no such split, without classes, or with the clips of train or
 * val.  If it cannot be read, that is a warning, and the error is returned;
 * CTT_ENOMEM is no warning but the caller's error.
 * The outputs are written before: from here on no signal stops the program. */
int ctt_held_out_open(const struct ctt_train_cfg *cfg,
                      const struct ctt_model *m, const struct ctt_data *train,
                      const struct ctt_data *val, struct ctt_data **out);

/* Why there is none, in words; rc: what opening returned. */
const char *ctt_held_out_missing(int rc);

/* Prints its accuracy after 25%, 50% and 100% of a clip, or the quality of the
 * predicted frames.  who: of which model.  test: the clips of cfg->test if that
 * is given. */
int ctt_held_out_say(const struct ctt_train_cfg *cfg,
                     const struct ctt_model *m, const char *who,
                     struct ctt_data *test);

/* ---- train_say.c ---- */

/* Prints progress, epochs and bad clips. */
extern const struct ctt_events ctt_say_events;

/* Warns if clips of a set, "training", "validation" or "test", are in it twice,
 * or if classes have none; CTT_ENOMEM. */
int ctt_say_set(const char *what, const struct ctt_data *d);

/* Warns if clips of d, which is "validation" or "test", are also in the data
 * called `used`, which flatters the model; CTT_ENOMEM. */
int ctt_say_shared(const char *what, const struct ctt_data *d,
                   const char *used, const struct ctt_data *other);

/* "loss scale 2^17, 7 steps skipped"; returns buf. */
const char *ctt_say_scale(double scale, int64_t skipped, char *buf,
                          size_t size);

/* "1:02:03" or "2:03" of seconds; returns buf. */
const char *ctt_say_clock(double s, char *buf, size_t size);

/* "loss 0.351, top-1 87.5%", or with "-" for what no step measured; returns
 * buf. */
const char *ctt_say_loss(const struct ctt_progress *p, char *buf, size_t size);

/* " 71.2% at 25%, 80.1% at 100%, loss 0.351": a test, with its loss at the last
 * of the ratios. */
void ctt_say_points(const struct ctt_epoch *e, const struct ctt_metrics *val,
                    char *buf, size_t size);

/* Appends ", " and ctt_say_scale() to the text in buf if the precision is
 * mixed. */
void ctt_say_amp(const struct ctt_progress *p, char *buf, size_t size);

/* Prints a table: the type of each node's values, and why; CTT_ENOMEM, as the
 * two below. */
int ctt_say_plan(const struct ctt_graph *g, const struct ctt_amp_plan *p);

/* Prints tables: accuracy by observed ratio and by class, confusion matrix. */
int ctt_say_metrics(const struct ctt_metrics *m, char *const *label);

/* Prints a table: quality of predictions for each frame ahead, with that of the
 * baselines. */
int ctt_say_scores(const struct ctt_predict_scores *f);

#endif
