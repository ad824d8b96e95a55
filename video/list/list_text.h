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
    int   frames;          /* start and end are frames */
    int   number;          /* in the file */
    int   value;           /* the class number, or -1: by name, or none */
};

struct ctt_lines {
    const char      *path;
    char            *dir;      /* base of relative paths */
    char            *index;    /* where classInd.txt would be */
    char            *text;
    struct ctt_line *line;
    int              count, room;
    int              others;   /* lines of other splits, behind those */
    int              frames;   /* the heading says that times are frames */
    int              labelled; /* a column of labels is filled */
};

/* How many of the first clips are looked for. */
enum { CTT_LINES_TRIED = 8 };

/* list_base.c: base makes t->dir the folder that has one of the first clips:
 * the list's own, else a folder in it, the folder above, or a folder in that
 * (UCF101 has lists in ucfTrainTestlist and clips beside; others "annotations"
 * and "videos").  kind: of the path s below t->dir; a video may lack its
 * extension. */
int ctt_lines_base(struct ctt_lines *t);
int ctt_lines_kind(const struct ctt_lines *t, const char *s,
                   enum ctt_disk_kind *out);

/* list_table.c: reads the lines of t->text, changing it, if its first line
 * names the columns: 1; else 0. */
int ctt_lines_table(struct ctt_lines *t, const char *split);

/* list_label.c: name the classes of labels that are numbers, in s->names; give
 * clips without labels the class that their folder is, if classInd.txt names
 * the classes. */
int ctt_label_numbers(struct ctt_listing *s, struct ctt_lines *t);
int ctt_label_by_folder(struct ctt_listing *s, struct ctt_lines *t);

#endif
