/* SPDX-License-Identifier: Apache-2.0
 * list.h: readers of the layouts of data sets (list_*.c); list.c chooses
 * one. */
#ifndef CTT_LIST_H
#define CTT_LIST_H

#include "video/list/listing.h"

#include <sys/types.h>

/* Readers of a file, whose videos may lie below dir.  json: the splits of
 * Something-Something V2, whose labels.json is beside it, or a list like those
 * of ActivityNet, Kinetics or Diving48; any other JSON file is CTT_EFORMAT.
 * text: a line per clip, or a table with named columns. */
int ctt_list_json(struct ctt_listing *s, const char *path, const char *dir);
int ctt_list_text(struct ctt_listing *s, const char *path, const char *dir);

/* 1 if the file is one of these, 0, or an error.  text: by its extension and
 * begin.  kinetics: a csv file with the columns of Kinetics.  something: a
 * labels.json is beside it. */
int ctt_list_text_is(const char *path);
int ctt_list_kinetics_is(struct ctt_listing *s, const char *path);
int ctt_list_something_is(struct ctt_listing *s, const char *path);

/* list_text.c: the first bytes of a file: their number, or -1.  1 if a text is
 * a number of any kind, such as -1, 2.5 or 1e9. */
ssize_t ctt_list_begin(const char *path, char *some, size_t room);
int     ctt_text_is_number(const char *s);

/* Readers of s->path; each returns 1, or 0 if it has another layout.  hmdb,
 * ucf: the numbered splits of HMDB51 and UCF101.  pictures: a folder of nothing
 * but numbered pictures, if there is a rate for them: one clip.  class: one
 * folder per class. */
int ctt_list_hmdb(struct ctt_listing *s);
int ctt_list_ucf(struct ctt_listing *s);
int ctt_list_pictures(struct ctt_listing *s);
int ctt_list_class(struct ctt_listing *s);

#endif
