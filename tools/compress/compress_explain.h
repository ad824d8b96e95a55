/* SPDX-License-Identifier: Apache-2.0
 * compress_explain.h: convtt-compress --explain: what each part of a
 * compression costs and saves. */
#ifndef CTT_TOOL_COMPRESS_EXPLAIN_H
#define CTT_TOOL_COMPRESS_EXPLAIN_H

#include "tools/compress/compress_calls.h"

/* CTT_EINVAL if a setting has no effect with --explain, clips are missing, or a
 * file is named twice. */
int ctt_compress_check_explain(struct ctt_compress_job *j);

/* Measures, prints and writes all that is not in the log yet. */
int ctt_compress_explain(struct ctt_compress_job *j);

#endif
