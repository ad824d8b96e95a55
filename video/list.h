/* SPDX-License-Identifier: Apache-2.0
 * list.h: what the readers of the layouts (list_*.c) give to list.c. */
#ifndef CTT_LIST_H
#define CTT_LIST_H

#include "video/names.h"
#include "video/video.h"

enum { CTT_LABELS_MAX = 1 << 16 };

/* The items' labels are numbers of names. */
struct ctt_source {
    const char       *path, *split;
    int               numeric;    /* the data has numbers instead of names */
    struct ctt_names  names;
    struct ctt_list  *list;
};

/* Adds a clip; the path is dir/file. */
int ctt_source_add(struct ctt_source *s, const char *dir, const char *file,
                   int label);

/* All spellings of a split's name, this one first; NULL ends them.  number: 0
 * of "train", 1 of "validation", 2 of "test" and their spellings, else -1. */
enum { CTT_SPELLINGS = 8 };
void ctt_split_spellings(const char *split,
                         const char *out[CTT_SPELLINGS]);
int  ctt_split_number(const char *split);

/* list_json.c: Something-Something V2: 1, or 0 if path is something else. */
int ctt_source_json(struct ctt_source *s);

/* list_text.c: a line a clip.  is: 1 if the file looks like a list. */
int ctt_text_is_list(const char *path);
int ctt_source_text(struct ctt_source *s);

/* list_class.c: a folder a class. */
int ctt_source_class(struct ctt_source *s);

#endif
