/* SPDX-License-Identifier: Apache-2.0
 * compress_retrain.h: the settings of convtt-compress for retraining that are
 * more than a number. */
#ifndef CTT_TOOL_COMPRESS_RETRAIN_H
#define CTT_TOOL_COMPRESS_RETRAIN_H

#include "compress/compress.h"
#include "libtrain/train.h"

/* Reads --retrain-epochs: a number, auto, or NULL or "": auto with clips to
 * train on (data), or else none. */
int  ctt_retrain_epochs(const char *text, int data, struct ctt_recipe *o);

/* Learning rate rewinding (Renda and others 2020): sets the learning rates of
 * cfg to those of the last training in the history of m, and cfg->last_of to
 * its epochs.  CTT_EINVAL if it has none, or if the user gave one of these
 * settings. */
int  ctt_retrain_rewind(const struct ctt_model *m, struct ctt_train_cfg *cfg);

#endif
