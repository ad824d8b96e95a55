/* SPDX-License-Identifier: Apache-2.0
 * held_out.h: the clips used neither for training nor for choosing the best
 * epoch: those of --test, or the split "test" of the data. */
#ifndef CTT_HELD_OUT_H
#define CTT_HELD_OUT_H

#include "libtrain/train.h"

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

#endif
