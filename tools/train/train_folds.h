/* SPDX-License-Identifier: Apache-2.0
 * train_folds.h: the trainings of a cross-validation, and what they came to. */
#ifndef CTT_TOOL_TRAIN_FOLDS_H
#define CTT_TOOL_TRAIN_FOLDS_H

#include "libtrain/train.h"

/* How the results of the folds begin in --log-csv and --log-json. */
#define CTT_FOLDS_CSV_BEGIN "fold,"
#define CTT_FOLDS_JSON_BEGIN "{\"fold\":"

/* Trains fold k, from 0, with its settings, and tests its model on its clips at
 * ctt_fold_points.  Returns 1 if it was stopped. */
typedef int ctt_fold_train(void *arg, const struct ctt_train_cfg *cfg, int k,
                           struct ctt_metrics **out);

enum { CTT_FOLD_POINTS = 3 };
extern const struct ctt_point ctt_fold_points[CTT_FOLD_POINTS];

/* Calls one for each of the cfg->folds, whose outputs are those of cfg with
 * .foldN in their names; --resume goes on with the folds that have
 * a checkpoint.  Checkpoints stay until all folds are trained, then those that
 * are the program's own (own) go.  Prints the table of the folds and writes it
 * to cfg->log_csv and cfg->log_json.  Returns 1 if one was stopped. */
int ctt_train_folds(const struct ctt_train_cfg *cfg, int own,
                    ctt_fold_train *one, void *arg);

#endif
