/* SPDX-License-Identifier: Apache-2.0
 * train_say.h: what convtt-train tells, meanwhile and at the end. */
#ifndef CTT_TRAIN_SAY_H
#define CTT_TRAIN_SAY_H

#include "libtrain/train.h"

/* Progress, epochs and bad clips; stops when a signal has come. */
extern const struct ctt_events ctt_say_events;

/* "loss scale 2^17, 7 steps skipped"; returns buf. */
const char *ctt_say_scale(double scale, int64_t skipped, char *buf,
                          size_t size);

/* A table: the type of each node's values, and why. */
void ctt_say_plan(const struct ctt_graph *g, const struct ctt_amp_plan *p);

/* Tables: accuracy by share seen, by class, and the confusion matrix. */
void ctt_say_metrics(const struct ctt_metrics *m, char *const *label);

/* A table: how good the predictions are, frame by frame, beside those who know
 * nothing. */
void ctt_say_scores(const struct ctt_predict_scores *f);

#endif
