/* SPDX-License-Identifier: Apache-2.0
 * opt.h: one table describes a struct of settings, and from it come the
 * command line, the help text and the attributes of a model line. */
#ifndef CTT_OPT_H
#define CTT_OPT_H

#include "net/ctt.h"

#include <stdio.h>

/* CTT_INT3 and CTT_FLOAT3: one value stands for three.  CTT_FLAG is an int, 1
 * if given on a command line (and =0|1 in a model). */
enum ctt_opt_type { CTT_FLAG, CTT_INT, CTT_INT3, CTT_FLOAT, CTT_FLOAT3,
                    CTT_STRING, CTT_CHOICE };

struct ctt_opt {
    const char        *name;      /* NULL ends the table */
    enum ctt_opt_type  type;
    size_t             off;       /* of the field in the struct */
    const char        *dflt;      /* in text form; NULL: must be given; a
                                     string's default "" becomes NULL */
    const char        *help;
    double             min, max;  /* for numbers; both 0: no limits */
    const char *const *choices;   /* for CTT_CHOICE, NULL-terminated */
    char               letter;    /* short option, or 0 */
    const char        *arg;       /* what help calls the value; NULL: VALUE */
};

enum { CTT_OPT_MAX = 96 };        /* rows in a table */

/* Which rows were given; starts as zeros. */
struct ctt_opt_seen { char row[CTT_OPT_MAX]; };

/* Strings point into the text they were given in, which must stay. */
int  ctt_opt_defaults(const struct ctt_opt *tab, void *cfg);
int  ctt_opt_set(const struct ctt_opt *tab, void *cfg, const char *name,
                 const char *value);

/* Takes "name=value" (which it cuts in two). */
int  ctt_opt_word(const struct ctt_opt *tab, void *cfg, char *word,
                  struct ctt_opt_seen *seen);

/* Fails for the first row without default that is not in seen. */
int  ctt_opt_missing(const struct ctt_opt *tab,
                     const struct ctt_opt_seen *seen);
int  ctt_opt_find(const struct ctt_opt *tab, const char *name);

/* Whether the field of a row that has a default has that value. */
int  ctt_opt_is_default(const struct ctt_opt *o, const void *cfg);

/* " name=value" for each row, in the form that ctt_opt_set reads.  Rows whose
 * string is NULL are left out. */
void ctt_opt_print(const struct ctt_opt *tab, const void *cfg, FILE *f);

/* Parses the options of a tool and returns the index of the first operand
 * (operands are moved behind the options).  Answers --help and --version
 * itself: then *done is 1 and the tool has only to exit.  An unknown option or
 * a bad value is an error in one line. */
int  ctt_opt_main(const struct ctt_opt *tab, const char *usage, void *cfg,
                  int argc, char **argv, int *done);

#endif
