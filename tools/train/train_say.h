/* SPDX-License-Identifier: Apache-2.0
 * train_say.h: messages of convtt-train: progress, and results at the end. */
#ifndef CTT_TRAIN_SAY_H
#define CTT_TRAIN_SAY_H

#include "libtrain/train.h"

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
