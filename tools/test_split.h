/* SPDX-License-Identifier: Apache-2.0
 * test_split.h: the clips on which no choice was made: the split "test" of the
 * data. */
#ifndef CTT_TEST_SPLIT_H
#define CTT_TEST_SPLIT_H

#include "libtrain/train.h"

/* Opens split "test" of cfg->data for the model m, or sets *out to NULL if
 * there is none: no such split, without classes, or with the clips of train or
 * val.  A split that cannot be read is a warning. */
void ctt_test_split_open(const struct ctt_train_cfg *cfg,
                         const struct ctt_model *m,
                         const struct ctt_data *train,
                         const struct ctt_data *val, struct ctt_data **out);

/* Prints its accuracy after 25%, 50% and 100% of a clip, or the quality of the
 * predicted frames.  who: of which model. */
int  ctt_test_split_say(const struct ctt_train_cfg *cfg,
                        const struct ctt_model *m, const char *who,
                        struct ctt_data *test);

#endif
