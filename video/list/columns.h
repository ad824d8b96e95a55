/* SPDX-License-Identifier: Apache-2.0
 * columns.h: lists whose columns have names: how these are called, and the
 * lines of a list from what is in them. */
#ifndef CTT_COLUMNS_H
#define CTT_COLUMNS_H

#include "video/list/list_text.h"

enum ctt_column {
    CTT_COLUMN_PATH, CTT_COLUMN_LABEL,
    CTT_COLUMN_START, CTT_COLUMN_END,    /* in seconds */
    CTT_COLUMN_FRAME, CTT_COLUMN_FRAME_END, CTT_COLUMN_SPLIT,
    CTT_COLUMNS
};

/* For each column the place of the one that stands for it, or -1: the first of
 * its spellings that occurs.  other: the place of a column that names a begin
 * or an end in a way that is not known, or -1. */
struct ctt_columns {
    int place[CTT_COLUMNS], rank[CTT_COLUMNS], other;
};

void ctt_columns_init(struct ctt_columns *c);

/* Takes note that the column at this place is called so. */
void ctt_columns_name(struct ctt_columns *c, const char *name, int place);

/* 1 if they are those of a list: a path and a class, or a path and a begin. */
int  ctt_columns_list(const struct ctt_columns *c);

/* CTT_EFORMAT if a begin has no end, or the reverse, or a column that says so
 * is not known; path:number and name[place] are for the message. */
int  ctt_columns_check(const struct ctt_columns *c, const char *path,
                       int number, char *const *name);

/* Adds a line of the list; value: of each column, "" or NULL: none.  Seconds
 * count if there are frames, too. */
int  ctt_columns_add(struct ctt_lines *t, char *const value[CTT_COLUMNS],
                     int number);

/* Keeps the lines of the split, if the list has several.  A line without a
 * class is CTT_EFORMAT, unless none of them has one. */
int  ctt_columns_choose(struct ctt_lines *t, const char *split);

#endif
