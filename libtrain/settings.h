/* SPDX-License-Identifier: Apache-2.0
 * settings.h: the settings of a run as text. */
#ifndef CTT_SETTINGS_H
#define CTT_SETTINGS_H

#include "libtrain/train.h"

/* The settings, one name=value a line; the caller frees it. */
int ctt_settings_print(const struct ctt_train_cfg *cfg, char **out);

/* " name=value" of each that is not the default and shapes the model. */
int ctt_settings_changed(const struct ctt_train_cfg *cfg, char **out);

/* CTT_EINVAL names a setting that would make another model of a run that goes
 * on from a checkpoint whose settings were the text `was`. */
int ctt_settings_same(const struct ctt_train_cfg *cfg, const char *was);

/* One line on how m was trained behind its history so far; test: how good it
 * is, or "".  The caller frees it. */
int ctt_history(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                const struct ctt_data *d, int64_t steps, const char *test,
                char **out);

#endif
