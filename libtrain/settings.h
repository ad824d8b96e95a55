/* SPDX-License-Identifier: Apache-2.0
 * settings.h: the settings of a run as text. */
#ifndef CTT_SETTINGS_H
#define CTT_SETTINGS_H

#include "libtrain/train.h"

/* All settings, one name=value per line; the caller frees the text. */
int ctt_settings_print(const struct ctt_train_cfg *cfg, char **out);

/* CTT_EINVAL names a setting that differs from the text `was` of a checkpoint
 * and must not change when training resumes. */
int ctt_settings_same(const struct ctt_train_cfg *cfg, const char *was);

/* The history of m with one line appended: how it was trained, and test, its
 * score, or "".  The caller frees the text. */
int ctt_history(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                const struct ctt_data *d, int64_t steps, const char *test,
                char **out);

#endif
