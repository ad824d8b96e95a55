/* SPDX-License-Identifier: Apache-2.0
 * rows.h: the clips that a list names, while it is read: a row of texts each,
 * from whatever file; their videos are then found by paths or by ids. */
#ifndef CTT_ROWS_H
#define CTT_ROWS_H

#include "video/disk.h"
#include "video/list/listing.h"
#include "base/ctt.h"

/* ---- columns ---- */

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

/* Units of the part of a video that a row names. */
enum ctt_row_unit {
    CTT_ROW_SECONDS, CTT_ROW_FRAMES,    /* start and end */
    CTT_ROW_COUNT                       /* first frame, or NULL, and number */
};

/* A label; next: further ones of the row, in the rows' tag[]; 0: no more. */
struct ctt_tag {
    char *text;            /* NULL: none is stated */
    int   value;           /* the class number, or -1: by name, or none */
    int   next;
};

/* Its texts stay in s->texts. */
struct ctt_row {
    char *path;            /* of the video, or its id */
    struct ctt_tag tag;
    char *split;           /* NULL: not stated */
    char *start, *end;     /* of a part; both NULL: all */
    int   number;          /* line in the file */
    unsigned char unit;    /* enum ctt_row_unit */
    unsigned char cut;     /* the video may have been cut to that part */
};

struct ctt_rows {
    struct ctt_listing *s;
    const char         *path;    /* of the list */
    struct ctt_row     *row;
    int                 count, room;
    int                 others;    /* rows of other splits, behind these */
    int                 labelled;  /* there are labels */
    int                 blanks;    /* columns are separated by blanks */
    struct ctt_tag     *tag;       /* further labels, from number 1 on */
    int                 tags, tag_room;
    int                 several;   /* a row has several labels */
};

/* Adds a row, which is all of a video. */
int  ctt_rows_new(struct ctt_rows *r, char *path, int number,
                  struct ctt_row **out);

/* Adds a row of the texts of columns, some of which are NULL or empty.
 * unnamed: the error of a row without a path. */
int  ctt_rows_add(struct ctt_rows *r, char *const value[CTT_COLUMNS],
                  int number, const char *unnamed);
void ctt_rows_clear(struct ctt_rows *r);

/* Keeps the rows of the split r->s->split.  rule: rows without a label beside
 * others are an error, left out, or kept. */
enum ctt_unlabelled { CTT_LABEL_ALL, CTT_LABEL_DROP, CTT_LABEL_SOME };
int  ctt_rows_choose(struct ctt_rows *r, enum ctt_unlabelled rule);

/* several.c.  next: the next label of a row, or NULL.  tag: gives a row a
 * label, which stays in s->texts, beside those that it has; again: nothing.
 * several: splits the labels of rows that are several. */
struct ctt_tag *ctt_tag_next(const struct ctt_rows *r, const struct ctt_tag *t);
int  ctt_row_tag(struct ctt_rows *r, struct ctt_row *row, char *text);
int  ctt_rows_several(struct ctt_rows *r);

/* The number of a label's class, or -1. */
int  ctt_tag_class(const struct ctt_rows *r, const struct ctt_tag *t);

/* Gives the clip that was just listed the further labels of a row. */
int  ctt_row_further(const struct ctt_rows *r, const struct ctt_row *row);

/* Makes the labels of the rows the names of the classes, sorted. */
int  ctt_rows_names(struct ctt_rows *r);

/* list_paths.c.  folder: that of the list.  base: the folder that paths are
 * relative to: that of the list, a folder in it, the one above, or a folder in
 * that, whichever has one of the first clips (UCF101 has lists in
 * ucfTrainTestlist and clips beside; others "annotations" and "videos").  kind:
 * of the path s below dir, where a bad part is nothing, and a video may lack
 * its extension.  paths: lists the clips. */
enum { CTT_ROWS_TRIED = 8 };    /* how many of the first clips */
int  ctt_rows_folder(struct ctt_rows *r, char **dir);
int  ctt_rows_base(struct ctt_rows *r, char **dir);
int  ctt_row_kind(const char *dir, const char *s, enum ctt_disk_kind *out);
int  ctt_rows_paths(struct ctt_rows *r, const char *dir);

/* list_label.c: finds the classes that labels are, which are names, or numbers
 * if all are; without labels those of folders that a classInd.txt names. */
int  ctt_rows_classes(struct ctt_rows *r);

/* Where the videos of a list of ids lie, and how they are called. */
struct ctt_layout {
    const char *prefix[2];     /* before the id; NULL: none */
    const char *place[4];      /* below the list's folder, the most likely
                                  first; NULL ends them */
    int         depth;         /* of folders below a place */
    const char *extension;     /* of a missing video */
    int         files;         /* ids are names with an extension, which may
                                  differ from that of the file */
    int         may_miss;      /* all videos may be missing */
};

/* Segments of videos, as in Kinetics and ActivityNet. */
extern const struct ctt_layout ctt_layout_segments;

/* list_ids.c: lists the rows as a list of that form: 1.  Classes are s->names,
 * or if there are none the labels, sorted.  Videos are files or folders with
 * any extension in the places of the layout below dir, or below the folder
 * above a dir called "annotations" or alike; others are taken for missing ones.
 * A file that is only the part is called ID_000010_000020.  CTT_EFORMAT: there
 * is no video at all. */
int  ctt_rows_ids(struct ctt_rows *r, const struct ctt_layout *l,
                  const char *form, const char *dir);

/* 1 if id can be the name of a file. */
int  ctt_id_is_good(const char *id);

/* list_table.c: reads a text whose first line names its columns and chooses the
 * rows of the split: 1 and the columns; 0: it names none.  kinetics: lists such
 * rows, whose columns are those of Kinetics. */
int  ctt_rows_table(struct ctt_rows *r, char *text,
                    struct ctt_columns *columns);
int  ctt_rows_kinetics(struct ctt_rows *r, const char *dir);

/* list_activity.c: lists an object as those of ActivityNet: 1; 0: another one.
 */
struct ctt_json;
int  ctt_rows_activity(struct ctt_rows *r, struct ctt_json *j,
                       const char *dir);

#endif
