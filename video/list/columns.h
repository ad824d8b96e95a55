/* SPDX-License-Identifier: Apache-2.0
 * columns.h: lists whose columns have names: spellings of the names, and lines
 * made of the fields. */
#ifndef CTT_COLUMNS_H
#define CTT_COLUMNS_H

#include "video/list/list_text.h"

enum ctt_column {
    CTT_COLUMN_PATH, CTT_COLUMN_LABEL,
    CTT_COLUMN_START, CTT_COLUMN_END,    /* in seconds */
    CTT_COLUMN_FRAME, CTT_COLUMN_FRAME_END, CTT_COLUMN_SPLIT,
    CTT_COLUMNS
};

/* place: of each column, by the first of its spellings that occurs; -1: absent.
 * rank: number of that spelling.  other: place of a column that seems to be a
 * begin or an end, but has no known spelling, or -1. */
struct ctt_columns {
    int place[CTT_COLUMNS], rank[CTT_COLUMNS], other;
};

void ctt_columns_init(struct ctt_columns *c);

/* Adds the name of the column at this place. */
void ctt_columns_name(struct ctt_columns *c, const char *name, int place);

/* 1 for the columns of a list: a path and a class, or a path and a begin. */
int  ctt_columns_list(const struct ctt_columns *c);

/* 1 for the columns of Kinetics: a youtube_id, a begin and an end. */
int  ctt_columns_are_ids(const struct ctt_columns *c);

/* list_table.c: 1 and the columns that the first line of a text names; 0: it
 * names none. */
int  ctt_table_heading(const char *text, struct ctt_columns *out);

/* CTT_EFORMAT if a begin has no end or the reverse, or `other` is set;
 * path:number and name[place] are for the message. */
int  ctt_columns_check(const struct ctt_columns *c, const char *path,
                       int number, char *const *name);

/* Adds a line of the list; value: the field of each column, "" or NULL: none.
 * If a line has seconds and frames, seconds count. */
int  ctt_columns_add(struct ctt_lines *t, char *const value[CTT_COLUMNS],
                     int number);

/* Keeps the lines of the split, if the list has several.  A line without a
 * class is CTT_EFORMAT, unless none of them has one. */
int  ctt_columns_choose(struct ctt_lines *t, const char *split);

#endif
