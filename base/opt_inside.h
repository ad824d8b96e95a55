/* SPDX-License-Identifier: Apache-2.0
 * opt_inside.h: declarations that the files of the option table share. */
#ifndef CTT_OPT_INSIDE_H
#define CTT_OPT_INSIDE_H

#include "base/opt.h"

/* A value of one type as text and as a field of the settings. */
struct ctt_opt_kind {
    int  (*get)(const struct ctt_opt *o, const char *text, void *field);
    void (*put)(const struct ctt_opt *o, const void *field, FILE *f);
    size_t size;    /* of the field, in bytes */
};
extern const struct ctt_opt_kind ctt_opt_kinds[];    /* by enum ctt_opt_type */

/* Sets one row from text. */
int  ctt_opt_set_row(const struct ctt_opt *o, void *cfg, const char *text);

/* Marks a row as given. */
void ctt_opt_note(int row, struct ctt_opt_seen *seen);

enum { CTT_OPT_TEXT = 512 };

/* "data, model, ...": the sections' names as --help= reads them. */
void ctt_opt_sections(const struct ctt_opt *tab, char text[CTT_OPT_TEXT]);

/* Appends `what` to the text, cut to the room that is left. */
void ctt_opt_add(char text[CTT_OPT_TEXT], const char *what);

/* The conditions of a row in words, "requires --a=b or --c, excludes --d, --e";
 * empty if it has none. */
void ctt_opt_needs_text(const struct ctt_opt *tab, const struct ctt_opt *o,
                        char text[CTT_OPT_TEXT]);

/* The name of a row's value in help: "FILE", or "O0|O1|O2". */
void ctt_opt_arg_text(const struct ctt_opt *o, char text[CTT_OPT_TEXT]);

/* The first clause of a row's help: up to a semicolon outside parentheses. */
void ctt_opt_brief(const struct ctt_opt *o, char text[CTT_OPT_TEXT]);

/* Print to stdout the manual page of a program, in roff with man macros, and
 * the functions that complete its options in bash and in zsh. */
void ctt_opt_man(const struct ctt_program *p);
void ctt_opt_bash(const struct ctt_program *p);
void ctt_opt_zsh(const struct ctt_program *p);

/* Calls print for each row of a table, section by section: sections in the
 * order of their first rows, rows in theirs.  heading is called before the
 * first row of each section. */
struct ctt_opt_printer {
    void (*heading)(const char *section);
    void (*row)(const struct ctt_opt *tab, const struct ctt_opt *o);
};
void ctt_opt_by_section(const struct ctt_opt *tab,
                        const struct ctt_opt_printer *print);

#endif
