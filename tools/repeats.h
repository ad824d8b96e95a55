/* SPDX-License-Identifier: Apache-2.0
 * repeats.h: warnings of clips that a data set has twice. */
#ifndef CTT_TOOL_REPEATS_H
#define CTT_TOOL_REPEATS_H

#include "video/video.h"

/* what: the name of the set, such as "training". */
void ctt_tool_repeats(const char *what, const struct ctt_repeats *r);

#endif
