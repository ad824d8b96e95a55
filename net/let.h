/* SPDX-License-Identifier: Apache-2.0
 * let.h: named values of a model text: after "let width=64 rank=8" a later line
 * may say out=$width, out=$width*2 or in=h$rank-1; and lines that are read
 * several times: "repeat i=3", lines with $i, "end". */
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

/* Loops over lines that are open, the innermost last. */
enum { CTT_LOOPS = 4 };
struct ctt_loop { const char *body; int row, turn, count, let; };
struct ctt_repeats {
    int             depth;
    ptrdiff_t       again;    /* bytes that were read once more */
    struct ctt_loop loop[CTT_LOOPS];
};

/* Replaces each $name of a line, and what is calculated with it, such as
 * $name*2-1; the line has room for `size` bytes.  CTT_EFORMAT: a name that is
 * not known, a result that is no whole number, no room. */
int ctt_let_replace(const struct ctt_lets *l, char *line, size_t size);

/* Returns 1 if it is a line "let", whose values count from the next line on.
 * CTT_EFORMAT: a name that has a value already, or none. */
int ctt_let_line(struct ctt_lets *l, char *line);

/* CTT_EINVAL names an element of l->set that has no line "let", is there twice
 * or has no value. */
int ctt_let_check(const struct ctt_lets *l);

/* A name of n letters for the number of a turn, which the caller puts into its
 * value; it is the last of l. */
int ctt_let_count(struct ctt_lets *l, const char *name, size_t n);

/* ---- repeat.c ---- */

/* Reads a line "repeat NAME=COUNT" or "end", in which names are replaced, and
 * returns 1; 0 for any other line.  text: what follows the line, row: its
 * number; both move back to the first line of a loop that is read once more.
 * CTT_EFORMAT: a count that is none, a name in use, "let" inside a loop, too
 * many turns. */
int ctt_repeat_line(struct ctt_repeats *r, struct ctt_lets *l, char *line,
                    const char **text, int *row);

/* CTT_EFORMAT if an "end" is missing at the end of the text. */
int ctt_repeat_check(const struct ctt_repeats *r);

#endif
