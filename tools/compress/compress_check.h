/* SPDX-License-Identifier: Apache-2.0
 * compress_check.h: settings of convtt-compress that have no effect beside
 * others, where the table of options cannot say so. */
#ifndef CTT_COMPRESS_CHECK_H
#define CTT_COMPRESS_CHECK_H

#include "tools/compress/compress_calls.h"
#include "tools/shared/files.h"

/* CTT_EINVAL, naming the first setting at fault: of the trainer's, that has no
 * effect without retraining, or without clips; of a stage, without
 * retraining. */
int ctt_compress_check_trainer(const struct ctt_compress_cfg *c);
int ctt_compress_check_stages(const struct ctt_compress_cfg *c,
                              const struct ctt_opt *tab);

/* The same of --for and the settings of INT8, where nothing is left to choose.
 * tab: of all options; clips: 1: there are clips with classes to train and to
 * test on. */
int ctt_compress_check_choices(const struct ctt_compress_cfg *c,
                               const struct ctt_opt *tab, int clips);

/* CTT_EINVAL, and a wrong use, unless m, of this file, is a dense model: not
 * pruned, shared or quantised. */
int ctt_compress_check_dense(struct ctt_compress_job *j,
                             const struct ctt_model *m, const char *path);

/* A CRC-32 of the settings and the training clips, if there are any, that
 * results of --budget and --explain depend on. */
int ctt_compress_how(const struct ctt_compress_job *j, uint32_t *how);

/* ctt_tool_can_append(); it is a wrong use if that file is something else. */
int ctt_compress_can_log(struct ctt_compress_job *j, const char *path,
                         enum ctt_tool_kind kind);

/* Returns rc, of opening a log: it is a wrong use if that is of something else,
 * or damaged. */
int ctt_compress_log_fault(struct ctt_compress_job *j, int rc);

#endif
