/* SPDX-License-Identifier: Apache-2.0
 * train_search.h: --search of convtt-train. */
#ifndef CTT_TRAIN_SEARCH_H
#define CTT_TRAIN_SEARCH_H

#include "tools/train/train_job.h"

/* Trains the trials of --search, on several ranks one on each, writes the best
 * model, and scores the test clips once.  Fails as a training does; what is
 * wrong with the space, or with a log of another search, is wrong usage.
 * *status becomes 1 if a signal stopped it, which then has been said. */
int ctt_train_search(struct ctt_training *j, int *status);

#endif
