/* SPDX-License-Identifier: Apache-2.0
 * list.h: readers of dataset layouts (list_*.c); list.c chooses one. */
#ifndef CTT_LIST_H
#define CTT_LIST_H

#include "video/listing.h"

enum { CTT_LABELS_MAX = 1 << 16 };

/* list_json.c: Something-Something V2: 1, or 0 if path has another layout. */
int ctt_list_json(struct ctt_listing *s);

/* list_text.c: a text list, one line per clip.  is: 1 if the file looks like
 * one. */
int ctt_text_is_list(const char *path);
int ctt_list_text(struct ctt_listing *s);

/* list_class.c: one folder per class. */
int ctt_list_class(struct ctt_listing *s);

#endif
