/* SPDX-License-Identifier: Apache-2.0
 * list.h: the readers of the layouts (list_*.c), which list.c chooses from. */
#ifndef CTT_LIST_H
#define CTT_LIST_H

#include "video/listing.h"

enum { CTT_LABELS_MAX = 1 << 16 };

/* list_json.c: Something-Something V2: 1, or 0 if path is something else. */
int ctt_list_json(struct ctt_listing *s);

/* list_text.c: a text list with a line for each clip.  is: 1 if the file looks
 * like one. */
int ctt_text_is_list(const char *path);
int ctt_list_text(struct ctt_listing *s);

/* list_class.c: a folder for each class. */
int ctt_list_class(struct ctt_listing *s);

#endif
