/* SPDX-License-Identifier: Apache-2.0
 * listing.h: a list of clips while the reader of a layout (list_*.c) fills
 * it. */
#ifndef CTT_LISTING_H
#define CTT_LISTING_H

#include "video/names.h"
#include "video/video.h"

/* The labels of the list's items are indices into names. */
struct ctt_listing {
    const char       *path, *split;
    int               numeric;    /* the data has numbers instead of names */
    struct ctt_names  names;
    struct ctt_list  *list;
};

/* Adds a clip; its path is dir/file. */
int ctt_listing_add(struct ctt_listing *s, const char *dir, const char *file,
                    int label);

#endif
