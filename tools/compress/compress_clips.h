/* SPDX-License-Identifier: Apache-2.0
 * compress_clips.h: the clips that convtt-compress reads. */
#ifndef CTT_TOOL_COMPRESS_CLIPS_H
#define CTT_TOOL_COMPRESS_CLIPS_H

#include "tools/compress/compress_calls.h"

/* Whether a recipe cannot do without training clips. */
int ctt_compress_needs_data(const struct ctt_recipe *r);

/* Opens the training clips, if the recipe reads them, and the validation clips,
 * and says how many there are.  CTT_EINVAL if a list without splits would
 * validate on what it trains on; j->status says whose fault an error is. */
int ctt_compress_open_clips(struct ctt_compress_job *j);

#endif
