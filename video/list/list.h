/* SPDX-License-Identifier: Apache-2.0
 * list.h: readers of dataset layouts (list_*.c); list.c chooses one. */
#ifndef CTT_LIST_H
#define CTT_LIST_H

#include "video/list/listing.h"

/* Each returns 1, or 0 if s->path has another layout. */

/* list_something.c: Something-Something V2. */
int ctt_list_something(struct ctt_listing *s);

/* listing.c: opens a JSON file. */
struct ctt_json;
int ctt_list_json_open(const char *path, struct ctt_json **out);

/* list_activity.c: the JSON file of ActivityNet, or Kinetics. */
int ctt_list_activity(struct ctt_listing *s);

/* list_objects.c: a JSON file with an object per clip, as Diving48 has, or the
 * folder of the lists of Diving48.  Any other JSON file is CTT_EFORMAT. */
int ctt_list_objects(struct ctt_listing *s);

/* list_kinetics.c: the csv files of Kinetics. */
int ctt_list_kinetics(struct ctt_listing *s);

/* list_fold.c: the numbered splits of HMDB51 and UCF101. */
int ctt_list_hmdb(struct ctt_listing *s);
int ctt_list_ucf(struct ctt_listing *s);

/* list_text.c: a text list, one line per clip.  at: the list at another path
 * than s->path.  lines: adds the clips of lines already read from t->path;
 * table: made by columns.h. */
struct ctt_lines;
int ctt_list_text(struct ctt_listing *s);
int ctt_list_text_at(struct ctt_listing *s, const char *path);
int ctt_list_lines(struct ctt_listing *s, struct ctt_lines *t, int table);
void ctt_lines_clear(struct ctt_lines *t);

/* list_rate.c: a folder of nothing but numbered pictures, if there is a rate
 * for them: one clip. */
int ctt_list_pictures(struct ctt_listing *s);

/* list_class.c: one folder per class. */
int ctt_list_class(struct ctt_listing *s);

#endif
