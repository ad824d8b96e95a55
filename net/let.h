/* SPDX-License-Identifier: Apache-2.0
 * let.h: named values of a model text: after "let width=64 rank=8" a later line
 * may say out=$width, out=$width*2 or out=$width/2. */
#ifndef CTT_LET_H
#define CTT_LET_H

#include <stddef.h>

enum { CTT_LETS = 32, CTT_LET_NAME = 32, CTT_LET_VALUE = 64 };

/* The values of the lines so far.  set: "name=value,...", which count in place
 * of those in the text, or NULL. */
struct ctt_lets {
    const char *set;
    int         count;
    struct { char name[CTT_LET_NAME], value[CTT_LET_VALUE]; } let[CTT_LETS];
};

/* Replaces each $name of a line, which has room for `size` bytes.  Returns 1 if
 * it was a line "let", whose values count from the next line on.
 * CTT_EFORMAT: a name that is not known or has a value already, a product that
 * is no whole number, no room. */
int ctt_let_line(struct ctt_lets *l, char *line, size_t size);

/* CTT_EINVAL names an element of l->set that has no line "let", is there twice
 * or has no value. */
int ctt_let_check(const struct ctt_lets *l);

#endif
