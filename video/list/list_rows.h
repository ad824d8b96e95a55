/* SPDX-License-Identifier: Apache-2.0
 * list_rows.h: lists that name videos by ids, whose files are looked for. */
#ifndef CTT_LIST_ROWS_H
#define CTT_LIST_ROWS_H

#include "video/list/list.h"

enum { CTT_STEM = 512 };    /* bytes of an id, at most */

/* A clip; pointers to texts that stay, NULL: not stated. */
struct ctt_row {
    const char     *label, *id, *split;
    const char     *file;       /* name of a missing video; NULL: its id and
                                   the usual extension */
    int             from, to;   /* seconds in the name of a file that is only
                                   the part, ID_000010_000020; from -1: none */
    struct ctt_part part;       /* of the video called id */
};

struct ctt_rows {
    struct ctt_row  *row;
    int              count, room;
    struct ctt_pool  texts;    /* that rows point to */
};

/* Where the videos of a form lie, and what stands before the id in their names.
 */
struct ctt_layout {
    const char *form;
    const char *prefix[2];
    const char *place[4];      /* below the list's folder, the most likely
                                  first; NULL ends them */
    int         depth;         /* of folders below a place */
    const char *extension;     /* of a missing video */
    int         may_miss;      /* all videos may be missing */
    int         unlabelled;    /* clips without a class stay beside others */
};

/* Adds a row, which is all of a video. */
int  ctt_rows_add(struct ctt_rows *r, const char *id, struct ctt_row **out);

/* A copy of a text that stays as long as the rows. */
int  ctt_rows_word(struct ctt_rows *r, const char *s, const char **out);
void ctt_rows_clear(struct ctt_rows *r);

/* 1 if id can be the name of a file. */
int  ctt_row_id_is_good(const char *id);

/* Lists the rows of the split s->split in s: 1.  Their classes are s->names, or
 * if there are none those of the rows, sorted.  Videos are files or folders
 * with any extension in the places of the layout below dir, or below the folder
 * above a dir called "annotations" or alike; others are taken for missing ones.
 * Rows without a class are left out if others have one.  path: of the list, for
 * messages.  CTT_EINVAL: no row of the split; CTT_EFORMAT: no video at all. */
int  ctt_rows_list(struct ctt_listing *s, struct ctt_rows *r,
                   const struct ctt_layout *l, const char *path,
                   const char *dir);

#endif
