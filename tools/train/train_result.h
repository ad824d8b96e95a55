/* SPDX-License-Identifier: Apache-2.0
 * train_result.h: what a training came to: tests of the model at its end. */
#ifndef CTT_TOOL_TRAIN_RESULT_H
#define CTT_TOOL_TRAIN_RESULT_H

#include "libtrain/train.h"

/* Prints the results of the trained model m on the validation clips, if there
 * are any, and on those that chose nothing, and that it is written.  given: the
 * clips of --test, or NULL: those of split test (held_out.h), if there are
 * validation clips.  From here on no signal stops the program. */
int ctt_train_result(const struct ctt_train_cfg *cfg, const struct ctt_model *m,
                     struct ctt_data *train, struct ctt_data *val,
                     struct ctt_data *given);

#endif
