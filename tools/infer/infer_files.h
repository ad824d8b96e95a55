/* SPDX-License-Identifier: Apache-2.0
 * infer_files.h: checks of the files that a prediction will write. */
#ifndef CTT_INFER_FILES_H
#define CTT_INFER_FILES_H

#include "tools/infer/infer_predict.h"

/* Fails if two of them are the same file. */
int ctt_predict_apart(const struct ctt_predict *c);

/* Fails if one of them is an input read at path. */
int ctt_predict_spares(const struct ctt_predict *c, const char *path);

/* Fails if one cannot be written: its folder is missing or not writable. */
int ctt_predict_can_write(const struct ctt_predict *c);

#endif
