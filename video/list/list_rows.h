/* SPDX-License-Identifier: Apache-2.0
 * list_rows.h: lists that name videos by ids, whose files are looked for. */
#ifndef CTT_LIST_ROWS_H
#define CTT_LIST_ROWS_H

#include "video/list/list.h"

enum { CTT_STEM = 128 };

/* A clip; pointers into the text of the list, NULL: not stated. */
struct ctt_row {
    const char     *label, *id, *split;
    char            stem[CTT_STEM];    /* ID_000010_000020, or "" */
    struct ctt_part part;              /* of the video called id */
};

struct ctt_rows {
    struct ctt_row  *row;
    int              count, room;
    struct ctt_names words;    /* copies that rows point to */
};

/* Adds a row, which is all of a video. */
int  ctt_rows_add(struct ctt_rows *r, struct ctt_row **out);

/* A copy of a text that stays as long as the rows. */
int  ctt_rows_word(struct ctt_rows *r, const char *s, const char **out);
void ctt_rows_clear(struct ctt_rows *r);

/* 1 if id can be the name of a file. */
int  ctt_row_id_is_good(const char *id);

/* Names the file that has only the part: ID_000010_000020. */
void ctt_row_stem(struct ctt_row *r, int start, int end);

/* Lists the rows of the split s->split in s, and their classes.  The videos are
 * files or folders called STEM, ID or v_ID with any extension, up to three
 * folders below dir, or below the folder above a dir called "annotations" or
 * alike; others are taken for missing ones.  A file called STEM is the part.
 * Rows without a class are left out if others have one.  path: of the list, for
 * messages.  CTT_EINVAL: no row of the split; CTT_EFORMAT: no video at all. */
int  ctt_rows_list(struct ctt_listing *s, struct ctt_rows *r,
                   const char *path, const char *dir);

#endif
