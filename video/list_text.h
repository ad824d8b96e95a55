/* SPDX-License-Identifier: Apache-2.0
 * list_text.h: the lines of a text list, and the names of their classes. */
#ifndef CTT_LIST_TEXT_H
#define CTT_LIST_TEXT_H

#include "video/list.h"

struct ctt_line {
    char *path, *label;    /* label NULL: none */
    int   number;          /* in the file */
    int   value;           /* the class number, or -1: by name, or none */
};

struct ctt_lines {
    const char      *path;
    char            *dir;      /* what the clips' paths are relative to */
    char            *index;    /* where classInd.txt would be */
    char            *text;
    struct ctt_line *line;
    int              count, room;
    int              frames;   /* the heading says that times are frames */
};

/* list_label.c: name the classes of labels that are numbers, in s->names; give
 * clips without labels the class that their folder is, if classInd.txt names
 * the classes. */
int ctt_label_numbers(struct ctt_listing *s, struct ctt_lines *t);
int ctt_label_by_folder(struct ctt_listing *s, struct ctt_lines *t);

#endif
