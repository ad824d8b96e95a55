/* SPDX-License-Identifier: Apache-2.0
 * columns.h: columns of lists that have names, in any order: a heading, or the
 * keys of a JSON object. */
#ifndef CTT_COLUMNS_H
#define CTT_COLUMNS_H

#include "base/ctt.h"

enum ctt_column {
    CTT_COLUMN_PATH, CTT_COLUMN_LABEL,
    CTT_COLUMN_START, CTT_COLUMN_END,    /* in seconds */
    CTT_COLUMN_FRAME, CTT_COLUMN_FRAME_END, CTT_COLUMN_SPLIT,
    CTT_COLUMNS
};

/* How a form calls its columns, by their letters and digits, the best word
 * first: "Start (s)" is starts.  usual: lists of anybody. */
enum { CTT_COLUMN_WORDS = 24 };
struct ctt_words { const char *of[CTT_COLUMNS][CTT_COLUMN_WORDS]; };
extern const struct ctt_words ctt_words_usual;

/* place: of each column, by the first of its words that occurs; -1: absent.
 * name: as it is written; again: as another one with the same word is written,
 * or NULL; other: the name of a column that seems to be a begin or an end, but
 * has no known word, or NULL. */
struct ctt_columns {
    const struct ctt_words *words;
    int                     place[CTT_COLUMNS], rank[CTT_COLUMNS];
    const char             *name[CTT_COLUMNS], *again[CTT_COLUMNS], *other;
};

void ctt_columns_init(struct ctt_columns *c, const struct ctt_words *words);

/* Adds the name of the column at this place.  Returns which column that now is,
 * or -1. */
int  ctt_columns_name(struct ctt_columns *c, const char *name, int place);

/* The column that may have a name of n bytes, or -1. */
int  ctt_column_of(const struct ctt_words *words, const char *name, size_t n);

/* 1 for the columns of a list: a path and a class, or a path and a begin. */
int  ctt_columns_list(const struct ctt_columns *c);

/* 1 for the columns of Kinetics: a youtube_id, a begin and an end. */
int  ctt_columns_are_ids(const struct ctt_columns *c);

/* CTT_EFORMAT if a begin has no end or the reverse, or `again` or `other` is
 * set; path and line: for the message. */
int  ctt_columns_check(const struct ctt_columns *c, const char *path,
                       int line);

#endif
