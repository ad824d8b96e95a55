/* SPDX-License-Identifier: Apache-2.0
 * opt.h: one table describes a struct of settings; the command line, the help
 * text, the manual page and the attributes of a model line come from it. */
#ifndef CTT_OPT_H
#define CTT_OPT_H

#include "base/ctt.h"

#include <stdio.h>

/* CTT_INT3 and CTT_FLOAT3: one value stands for three.  CTT_FLAG is an int, 1
 * if given on a command line (and =0|1 in a model).  CTT_SIZE is an int64_t: a
 * number, which may have a fraction, and perhaps K, M, G or T, times 1024,
 * 1024^2 and so on. */
enum ctt_opt_type { CTT_FLAG, CTT_INT, CTT_INT3, CTT_FLOAT, CTT_FLOAT3,
                    CTT_DOUBLE, CTT_SIZE, CTT_STRING, CTT_CHOICE };

/* Bits of ctt_opt.tags.  Those from CTT_OPT_OWN on belong to the owner of the
 * table, who defines them. */
enum { CTT_OPT_COMMON = 1,    /* plain --help shows it, not only --help=all */
       CTT_OPT_QUIET = 2,     /* ctt_opt_print() omits it at its default */
       CTT_OPT_OWN = 4 };

/* The value of an int whose text is the word of its row (column `word`); no
 * text of a number gives it. */
enum { CTT_OPT_WORD = -2147483647 - 1 };

struct ctt_opt {
    const char        *name;      /* NULL ends the table */
    enum ctt_opt_type  type;
    size_t             off;       /* of the field in the struct */
    const char        *dflt;      /* in text form; NULL: must be given; a
                                     string's default "" becomes NULL */
    const char        *help;
    double             min, max;  /* for numbers; both 0: no limits */
    int                zero;      /* 1: 0 is valid too, although below min */
    const char *const *choices;   /* of a CTT_CHOICE, whose field is an index
                                     into them, or of a CTT_STRING, which must
                                     be one of them; NULL-terminated */
    const char        *word;      /* of an int, float or three of them: may
                                     stand for numbers that come from elsewhere,
                                     which are then CTT_OPT_WORD, or NAN */
    char               letter;    /* short option, or 0 */
    const char        *arg;       /* name of the value in help; NULL: the
                                     choices if there are some, or VALUE */
    const char        *section;   /* heading in help; NULL: "Options" */
    const char        *needs;     /* conditions, or NULL; see ctt_opt_check */
    unsigned           tags;
};

enum { CTT_OPT_MAX = 192 };       /* rows in a table */

/* row[i]: 1: row i was given.  Starts as zeros. */
struct ctt_opt_seen { char row[CTT_OPT_MAX]; };

/* defaults: sets every field to its default.  set: sets one field from text;
 * CTT_EINVAL names the option and its range or choices.  Strings point into the
 * text, which must stay. */
int  ctt_opt_defaults(const struct ctt_opt *tab, void *cfg);
int  ctt_opt_set(const struct ctt_opt *tab, void *cfg, const char *name,
                 const char *value);

/* Sets a field from "name=value", which it cuts in two, and marks its row in
 * seen, where it must not be yet. */
int  ctt_opt_word(const struct ctt_opt *tab, void *cfg, char *word,
                  struct ctt_opt_seen *seen);

/* Fails for the first row without default that is not in seen. */
int  ctt_opt_missing(const struct ctt_opt *tab,
                     const struct ctt_opt_seen *seen);

/* The row of that name, or of the n characters at name, or -1. */
int  ctt_opt_find(const struct ctt_opt *tab, const char *name);
int  ctt_opt_find_n(const struct ctt_opt *tab, const char *name, size_t n);

/* is: 1 if the field of a row has the value of that text.  is_default: 1 if it
 * has its default. */
int  ctt_opt_is(const struct ctt_opt *o, const void *cfg, const char *value);
int  ctt_opt_is_default(const struct ctt_opt *o, const void *cfg);

/* Fails for the first row whose field is not at its default although a
 * condition of the column `needs` does not hold, because the setting would then
 * have no effect.  Conditions are separated by blanks and must all hold; a
 * condition is one or several alternatives separated by |:
 *
 *     name         that option is not at its default
 *     !name        it is at its default
 *     name=value   it has that value; STRING* is any value with that beginning
 *     name!=value  it has another value
 *
 * A condition on an option that the table does not have holds. */
int  ctt_opt_check(const struct ctt_opt *tab, const void *cfg);

/* 1 if these conditions of a row hold: its setting has an effect. */
int  ctt_opt_counts(const struct ctt_opt *tab, const struct ctt_opt *o,
                    const void *cfg);

/* The range of a row, "1 to 1024T", "0, or 1M to 1024T" or "0 to 9, or auto";
 * returns 0 if it has none. */
enum { CTT_OPT_RANGE = 128 };
int  ctt_opt_range(const struct ctt_opt *o, char text[CTT_OPT_RANGE]);

/* " name=value" for each row, in the form that ctt_opt_set reads.  Rows whose
 * string is NULL are left out. */
void ctt_opt_print(const struct ctt_opt *tab, const void *cfg, FILE *f);

/* ---- programs ---- */

/* Texts are paragraphs separated by "\n\n"; a paragraph whose lines begin with
 * four blanks is printed as it is. */
struct ctt_chapter { const char *title, *text; };

/* The texts of --help, --help=SECTION, --help=all, the manual page (--help=man)
 * and completion (--help=bash, --help=zsh). */
struct ctt_program {
    const char *name;             /* of a command with its program's: "a b" */
    const char *summary;          /* a few words; NULL: it has no manual page */
    const char *synopsis;         /* the text after the name, or "" */
    const char *about;            /* a sentence or two, or NULL */
    const struct ctt_opt *opts;
    const struct ctt_program *commands;   /* instead of opts; a NULL name ends
                                             the list */
    const char *description;      /* the manual's, after about; or NULL */
    const struct ctt_chapter *chapter;    /* the manual's, after the options; a
                                             NULL title ends the list */
    const char *also;             /* related pages: "a(1), b(1)" */
};

/* Parses the options of a program into cfg and returns the index of the first
 * operand (operands are moved behind the options).  Answers --help and
 * --version itself: then *done is 1 and the program has only to exit.  An
 * unknown option or a bad value is an error in one line. */
int  ctt_opt_main(const struct ctt_program *p, void *cfg, int argc,
                  char **argv, int *done);

/* 1 if a misspelt word of n letters may mean this name, and rather than those
 * before: *most, which starts as 0. */
int  ctt_opt_meant(const char *word, size_t n, const char *name, int *most);

/* Prints the answer to --help, --help=..., or --version to stdout; 0: word is
 * none of these. */
int  ctt_opt_answer(const struct ctt_program *p, const char *word);

#endif
