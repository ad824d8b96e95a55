/* SPDX-License-Identifier: Apache-2.0
 * listing.h: a list of clips while the reader of a layout (list_*.c) fills
 * it. */
#ifndef CTT_LISTING_H
#define CTT_LISTING_H

#include "video/names.h"
#include "video/part.h"
#include "video/video.h"

/* The labels of the list's items are indices into names. */
struct ctt_listing {
    const char       *path, *split;
    int               numeric;    /* the data numbers its classes */
    struct ctt_names  names;
    struct ctt_names  numbers;    /* that the data gives them, as text; empty:
                                     0, 1 ... */
    struct ctt_list  *list;
};

/* Adds a clip; its path is dir/file. */
int ctt_listing_add(struct ctt_listing *s, const char *dir, const char *file,
                    int label);

/* The same of a part of it. */
int ctt_listing_part(struct ctt_listing *s, const char *dir, const char *file,
                     const struct ctt_part *part, int label);

/* Makes dir/file the path of a clip. */
int ctt_listing_move(struct ctt_item *item, const char *dir, const char *file);

/* Adds the names found to s->names, sorted, because their order differs between
 * the lists of the splits; sorts found. */
int ctt_listing_names(struct ctt_listing *s, struct ctt_names *found);

/* Fits the classes of s->list, which are s->names, to those of a model and to a
 * subset, as ctt_list_open() says of its arguments. */
int ctt_listing_fit(struct ctt_listing *s, char *const *known, int nknown,
                    const char *subset);

#endif
