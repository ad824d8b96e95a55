/* SPDX-License-Identifier: Apache-2.0
 * compare.h: compares the files left by a run of a program with the allowed
 * ones. */
#ifndef CTT_FAULT_COMPARE_H
#define CTT_FAULT_COMPARE_H

#include "tests/fault/tree.h"

enum { COMPARE_NAMES = 64 };

/* Complaints about one run. */
struct complaints {
    char text[4096];    /* "": nothing */
    int  count;
    int  others;        /* of these, results that differ from the new ones */
};

__attribute__((format(printf, 2, 3)))
void complain(struct complaints *c, const char *fmt, ...);

/* Files whose lines are compared in another way than by their bytes. */
struct names {
    const char *name[COMPARE_NAMES];
    int         count;
};

/* Allowed results: the files before a run, and the files and standard output of
 * a run without a fault. */
struct results {
    struct tree  old, new;
    char        *output;
    int          exact;         /* the output is the same in each run; else
                                   numbers may differ */
    const char  *checkpoint;    /* of an unfinished run; NULL: none */
    struct names timed;         /* hold times: numbers may differ */
    struct names log;           /* the same, and hold a part of the lines if
                                   the run did not finish */
};

enum compare_flags {
    COMPARE_FINISHED = 1,       /* the program says that all is written */
    COMPARE_RESUMED = 2,        /* the run resumed an unfinished one */
    COMPARE_UNKNOWN = 4         /* files of other names are allowed */
};

/* Each file of `is` must be the old or the new one, after a finished run the
 * new one; none may be lost. */
void compare_files(const struct results *r, const struct tree *is, int flags,
                   struct complaints *out);

void compare_output(const struct results *r, const char *output,
                    struct complaints *out);

#endif
