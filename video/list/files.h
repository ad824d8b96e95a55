/* SPDX-License-Identifier: Apache-2.0
 * files.h: finds the lists of a data set in its folder. */
#ifndef CTT_LIST_FILES_H
#define CTT_LIST_FILES_H

#include "video/list/listing.h"

enum { CTT_LIST_NAMES = 6 };

/* Where a data set has its lists, and how these are called: the likeliest
 * first, NULL ends them.  The place "*" is each folder, ".." the folder above a
 * folder of files: of videos, not of classes.  In a name %s is the
 * split in any spelling and '*' any text; then capitals do not matter. */
struct ctt_list_files {
    const char *place[CTT_LIST_NAMES], *name[CTT_LIST_NAMES];
    int       (*is)(struct ctt_listing *s, const char *path);    /* 1, 0 or an
                                error; NULL: any file of that name */
    int         test_validates;    /* "test" may stand for "validation" */
};

/* The list of a split below root, a text in s->texts; NULL: none. */
int ctt_list_file(struct ctt_listing *s, const struct ctt_list_files *f,
                  const char *root, const char *split, char **out);

/* The list of s->split below s->path; NULL: there is none of any split.
 * CTT_ENOSPLIT: only other splits have one. */
int ctt_list_split_file(struct ctt_listing *s,
                        const struct ctt_list_files *f, char **out);

#endif
