/* SPDX-License-Identifier: Apache-2.0
 * list.h: lists of clips, compared with a text; for the tests that read
 * them. */
#ifndef CTT_LIST_CHECK_H
#define CTT_LIST_CHECK_H

#include "video/video.h"

/* The list as text: a line "label|label|..." and for each clip a line
 * "folder/file:label" with the last two parts of its path.  The next call
 * overwrites it. */
const char *list_text(const struct ctt_list *l);

/* Checks that ctt_list_open returns, for its arguments, the list of a text. */
void list_expect(const char *path, const char *split, char *const *known,
                 int nknown, const char *subset, const char *text);

/* ctt_list_open fails, the message contains says, and nothing leaks. */
void list_refuse(const char *path, const char *split, char *const *known,
                 int nknown, const char *subset, const char *says);

/* Opens the split "train" once for each allocation of it that can fail:
 * nothing leaks. */
void list_without_memory(const char *path, const char *subset);

#endif
