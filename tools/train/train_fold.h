/* SPDX-License-Identifier: Apache-2.0
 * train_fold.h: --folds of convtt-train. */
#ifndef CTT_TRAIN_FOLD_H
#define CTT_TRAIN_FOLD_H

#include "tools/train/train_job.h"

/* Trains a model for each of --folds; what all of them share is read once.
 * Sets *status if they were stopped; fails as a training does. */
int ctt_train_all_folds(struct ctt_training *j, int *status);

#endif
