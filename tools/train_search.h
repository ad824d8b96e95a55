/* SPDX-License-Identifier: Apache-2.0
 * train_search.h: --search of convtt-train. */
#ifndef CTT_TRAIN_SEARCH_H
#define CTT_TRAIN_SEARCH_H

#include "tools/train_job.h"

/* Trains the trials of --search, writes the best model, and scores the test
 * clips once.  Fails as a training does; what is wrong with the space, or with
 * a log of another search, is wrong usage. */
int ctt_train_search(struct ctt_training *j);

#endif
