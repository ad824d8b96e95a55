/* SPDX-License-Identifier: Apache-2.0
 * compress_sensitivity.h: convtt-compress --sense: what each weight bears. */
#ifndef CTT_TOOL_COMPRESS_SENSITIVITY_H
#define CTT_TOOL_COMPRESS_SENSITIVITY_H

#include "tools/compress/compress_calls.h"
#include "tools/compress/sensitivity_log.h"

/* CTT_EINVAL if a setting has no effect with --sense, clips are missing, or a
 * file is named twice. */
int ctt_compress_check_sensitivity(struct ctt_compress_job *j);

/* Measures, prints and writes all that is not in the log yet. */
int ctt_compress_sensitivity(struct ctt_compress_job *j);

/* Loads a model as a recipe would have it: without what other runs left in the
 * file.  CTT_EUNSUP, naming what it is for, if it predicts frames.  The caller
 * frees *out. */
int ctt_compress_load(const char *path, const char *what,
                      struct ctt_model **out);

/* What results of the model m on these clips depend on. */
int ctt_compress_key(const struct ctt_compress_job *j,
                     const struct ctt_model *m, const struct ctt_data *clips,
                     int timed, struct ctt_sensitivity_key *out);

/* Measures the points of s that are not in the log at j->c.sense_log, which
 * stays open for the caller to add lines to and close.  timed: their times too,
 * if these can be measured. */
int ctt_compress_measure(struct ctt_compress_job *j,
                         const struct ctt_sensitivity_extra *extra, int timed,
                         struct ctt_sensitivity *s,
                         struct ctt_sensitivity_log **log);

/* Codes the points of s that are not done, in files beside j->c.out, and tests
 * and times none: bytes are all that is known of them then. */
int ctt_compress_code(struct ctt_compress_job *j, struct ctt_sensitivity *s);

#endif
