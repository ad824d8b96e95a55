/* SPDX-License-Identifier: Apache-2.0
 * list_text.h: the lines of a text list, and the names of their classes. */
#ifndef CTT_LIST_TEXT_H
#define CTT_LIST_TEXT_H

#include "video/disk.h"
#include "video/list/list.h"

struct ctt_line {
    char *path, *label;    /* label NULL: none */
    char *split;           /* NULL: not stated */
    char *start, *end;     /* of a part; NULL: all */
    int   frames;          /* they are frames */
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
    int              others;   /* lines behind them, of other splits */
    int              frames;   /* the heading says that times are frames */
    int              labelled; /* of lines by columns: they have labels */
};

/* How many of the first clips are looked for. */
enum { CTT_LINES_TRIED = 8 };

/* list_base.c: base makes t->dir the folder that has one of the first clips:
 * the list's own, else one in it, the folder above it, or one in that: UCF101
 * has its lists in ucfTrainTestlist and its clips beside, others in
 * "annotations" and "videos".  kind: what the path s, relative to it, is; a
 * video may be named without its extension. */
int ctt_lines_base(struct ctt_lines *t);
int ctt_lines_kind(const struct ctt_lines *t, const char *s,
                   enum ctt_disk_kind *out);

/* list_table.c: the lines of t->text, which is changed, if its first line names
 * the columns: 1, or 0 if it does not. */
int ctt_lines_table(struct ctt_lines *t, const char *split);

/* list_label.c: name the classes of labels that are numbers, in s->names; give
 * clips without labels the class that their folder is, if classInd.txt names
 * the classes. */
int ctt_label_numbers(struct ctt_listing *s, struct ctt_lines *t);
int ctt_label_by_folder(struct ctt_listing *s, struct ctt_lines *t);

#endif
