/* SPDX-License-Identifier: Apache-2.0
 * teachers.h: the models that --teacher names. */
#ifndef CTT_TEACHERS_H
#define CTT_TEACHERS_H

#include "net/file/file.h"

enum { CTT_TEACHERS = 16 };
struct ctt_teachers {
    struct ctt_model       *model[CTT_TEACHERS];
    const struct ctt_model *list[CTT_TEACHERS + 1];    /* the same, then NULL */
};

/* Loads the models of `paths`, separated by commas; NULL: none.  CTT_EINVAL if
 * there are more than CTT_TEACHERS. */
int  ctt_teachers_load(const char *paths, struct ctt_teachers *out);
void ctt_teachers_free(struct ctt_teachers *t);

/* CTT_EINVAL if one of these files is one of the n that are made. */
int  ctt_teachers_spared(const char *paths, const char *const *made, int n);

#endif
