/* SPDX-License-Identifier: Apache-2.0
 * duplicates.h: warnings of clips that a data set has twice. */
#ifndef CTT_TOOL_DUPLICATES_H
#define CTT_TOOL_DUPLICATES_H

#include "video/video.h"

/* what: the name of the set, such as "training". */
void ctt_tool_duplicates(const char *what, const struct ctt_duplicates *r);

#endif
