/* SPDX-License-Identifier: Apache-2.0
 * pictures.h: clips stored as folders of numbered pictures. */
#ifndef CTT_PICTURES_H
#define CTT_PICTURES_H

#include "net/ctt.h"

struct ctt_pictures {
    char *pattern;         /* folder/img_%05d.jpg */
    int   first, count;    /* count 0: no folder */
};

/* If path is a folder or "folder#first+count", finds its pictures: the files
 * whose names differ from the first one only in their number; the numbers must
 * be consecutive.  Other paths give count 0. */
int  ctt_pictures_find(const char *path, struct ctt_pictures *out);
void ctt_pictures_clear(struct ctt_pictures *p);

/* What FFmpeg opens: file:pattern, or file:path if p is empty. */
int  ctt_pictures_url(const struct ctt_pictures *p, const char *path,
                      char **out);

#endif
