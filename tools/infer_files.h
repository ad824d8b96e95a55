/* SPDX-License-Identifier: Apache-2.0
 * infer_files.h: the files that a prediction writes, looked at before. */
#ifndef CTT_INFER_FILES_H
#define CTT_INFER_FILES_H

#include "tools/infer_predict.h"

/* Fails if one of them is another one too. */
int ctt_predict_apart(const struct ctt_predict *c);

/* Fails if what is read at path would be written over. */
int ctt_predict_spares(const struct ctt_predict *c, const char *path);

/* Fails if the folder of one is not there or cannot be written to. */
int ctt_predict_can_write(const struct ctt_predict *c);

#endif
