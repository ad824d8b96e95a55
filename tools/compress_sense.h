/* SPDX-License-Identifier: Apache-2.0
 * compress_sense.h: convtt-compress --sense: what each weight bears. */
#ifndef CTT_TOOL_COMPRESS_SENSE_H
#define CTT_TOOL_COMPRESS_SENSE_H

#include "tools/compress_calls.h"

/* CTT_EINVAL if a setting has no effect with --sense, clips are missing, or a
 * file is named twice. */
int ctt_compress_check_sense(struct ctt_compress_job *j);

/* Measures, prints and writes all that is not in the log yet. */
int ctt_compress_sense(struct ctt_compress_job *j);

#endif
