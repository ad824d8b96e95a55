/* SPDX-License-Identifier: Apache-2.0
 * pictures.h: clips stored as folders of numbered pictures. */
#ifndef CTT_PICTURES_H
#define CTT_PICTURES_H

#include "base/ctt.h"

struct ctt_picture {
    int64_t number;
    int     digits;              /* of its name */
};

struct ctt_pictures {
    char       *start;           /* of each path: folder/img_ */
    const char *ending;          /* .jpg */
    int         width;           /* digits of img_00001.jpg; 1: as needed */
    int64_t     first;           /* number of the first one */
    int         count;           /* 0: no folder */
    struct ctt_picture *each;    /* in order; NULL: no number is missing, and
                                    all names have that width */
    int         from;            /* pictures before the part */
};

/* If path is a folder or a part of one (part.h), finds its pictures: files
 * whose names differ only in their number, in its order.  Of several such
 * series one named img, image, frame or by the number alone counts, and a
 * warning names the others; CTT_EFORMAT if that is none or several.  Numbers
 * may be missing, which a warning says; some may begin with zeros.  Of a part
 * in seconds, which needs a rate, all are found.  Other paths give count 0. */
int  ctt_pictures_find(const char *path, struct ctt_pictures *out);

/* The pictures of a pattern, which has one %d or %0Nd in its last part and may
 * end in "#@RATE": from the lowest number on.  CTT_EFORMAT: there are none.
 * fps is 0 if there is no rate.  is: 1 if path has the form of one. */
int  ctt_pictures_pattern(const char *path, struct ctt_pictures *out,
                          double *fps);
int  ctt_pictures_is_pattern(const char *path);
void ctt_pictures_clear(struct ctt_pictures *p);

/* 1 if a name ends as that of a picture. */
int  ctt_pictures_is_one(const char *name);

/* The path of picture i, from 0; the caller frees it. */
int  ctt_pictures_name(const struct ctt_pictures *p, int i, char **out);

#endif
