/* SPDX-License-Identifier: Apache-2.0
 * opt_help.c: --help and --help=all, printed to stdout. */
#include "base/opt_inside.h"

#include <string.h>

enum { WIDTH = 79, COLUMN = 28 };

/* Prints words from column `at` on, and lines after the first from `left` on.
 */
static void print_filled(const char *text, int at, int left)
{
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at > left && at + 1 + n > WIDTH) {
            printf("\n%*s", left, "");
            at = left;
        } else if (at > left) {
            printf(" ");
            at++;
        }
        printf("%.*s", n, text);
        at += n;
        text += n + (text[n] == ' ');
    }
    printf("\n");
}

static void print_entry(const char *name, const char *text)
{
    int n = printf("  %s", name);

    if (n > COLUMN - 2) {
        printf("\n");
        n = 0;
    }
    printf("%*s", COLUMN - n, "");
    print_filled(text, COLUMN, COLUMN);
}

static void append_parts(char text[CTT_OPT_TEXT], const char *before,
                         const char *what, const char *after)
{
    ctt_opt_add(text, before);
    ctt_opt_add(text, what);
    ctt_opt_add(text, after);
}

void ctt_opt_arg_text(const struct ctt_opt *o, char text[CTT_OPT_TEXT])
{
    int named = o->arg || !o->choices;

    text[0] = '\0';
    if (named)
        ctt_opt_add(text, o->arg ? o->arg : "VALUE");
    for (int i = 0; !named && o->choices[i]; i++)
        append_parts(text, i ? "|" : "", o->choices[i], "");
}

/* The help with the conditions and the default. */
static void describe(const struct ctt_opt *tab, const struct ctt_opt *o,
                     char text[CTT_OPT_TEXT])
{
    char needs[CTT_OPT_TEXT];

    text[0] = '\0';
    ctt_opt_add(text, o->help);
    ctt_opt_needs_text(tab, o, needs);
    if (needs[0])
        append_parts(text, " (", needs, ")");
    if (!o->dflt)
        append_parts(text, " (required)", "", "");
    else if (o->dflt[0] && o->type != CTT_FLAG)
        append_parts(text, " [", o->dflt, "]");
}

static void print_option(const struct ctt_opt *tab, const struct ctt_opt *o)
{
    char name[CTT_OPT_TEXT] = "    ", text[CTT_OPT_TEXT];

    if (o->letter)
        snprintf(name, sizeof(name), "-%c, ", o->letter);
    append_parts(name, "--", o->name, o->type == CTT_FLAG ? "" : "=");
    if (o->type != CTT_FLAG) {
        ctt_opt_arg_text(o, text);
        ctt_opt_add(name, text);
    }
    describe(tab, o, text);
    print_entry(name, text);
}

static void print_heading(const char *section)
{
    printf("\n%s:\n", section);
}

static const struct ctt_opt_printer whole = { print_heading, print_option };

static const char *section_of(const struct ctt_opt *o)
{
    return o->section ? o->section : "Options";
}

static int is_first(const struct ctt_opt *tab, const struct ctt_opt *o)
{
    for (; tab < o; tab++)
        if (strcmp(section_of(tab), section_of(o)) == 0)
            return 0;
    return 1;
}

void ctt_opt_by_section(const struct ctt_opt *tab,
                        const struct ctt_opt_printer *print)
{
    for (const struct ctt_opt *first = tab; first->name; first++) {
        if (!is_first(tab, first))
            continue;
        print->heading(section_of(first));
        for (const struct ctt_opt *o = first; o->name; o++)
            if (strcmp(section_of(o), section_of(first)) == 0)
                print->row(tab, o);
    }
}

static void print_top(const struct ctt_program *p)
{
    printf("Usage: %s%s%s\n", p->name, p->synopsis[0] ? " " : "", p->synopsis);
    if (p->about)
        print_filled(p->about, 0, 0);
}

static int count_tagged(const struct ctt_opt *tab, unsigned tags)
{
    int n = 0;

    for (; tab->name; tab++)
        n += (tab->tags & tags) == tags;
    return n;
}

/* A last sentence, which also names the manual page. */
static void print_end(const struct ctt_program *p, const char *sentence)
{
    char text[CTT_OPT_TEXT] = "";

    ctt_opt_add(text, sentence);
    if (p->summary)
        append_parts(text, "; man ", p->name, " explains them");
    printf("\n");
    append_parts(text, ".", "", "");
    print_filled(text, 0, 0);
}

static void print_answers(void)
{
    print_entry("    --help[=all]", "show this help, or every option");
    print_entry("    --version", "show the version");
}

static void print_common(const struct ctt_program *p)
{
    char all[64];

    printf("\nCommon options:\n");
    for (const struct ctt_opt *o = p->opts; o->name; o++)
        if (o->tags & CTT_OPT_COMMON)
            print_option(p->opts, o);
    print_answers();
    snprintf(all, sizeof(all), "--help=all lists all %d options",
             count_tagged(p->opts, 0));
    print_end(p, all);
}

static void print_all(const struct ctt_program *p)
{
    ctt_opt_by_section(p->opts, &whole);
    print_heading("Help");
    print_answers();
}

static void print_commands(const struct ctt_program *p)
{
    printf("\nCommands:\n");
    for (const struct ctt_program *c = p->commands; c->name; c++)
        print_entry(strrchr(c->name, ' ') + 1, c->summary);
    print_end(p, "--help after a command lists its options, --help=all the "
                 "options of all commands");
}

static void help_all(const struct ctt_program *p)
{
    print_top(p);
    if (!p->commands) {
        print_all(p);
        return;
    }
    for (const struct ctt_program *c = p->commands; c->name; c++) {
        printf("\n");
        print_top(c);
        ctt_opt_by_section(c->opts, &whole);
    }
}

static void help(const struct ctt_program *p)
{
    print_top(p);
    if (p->commands)
        print_commands(p);
    else if (count_tagged(p->opts, CTT_OPT_COMMON))
        print_common(p);
    else
        print_all(p);
}

static void version(const struct ctt_program *p)
{
    (void)p;
    printf("convtt %s\n", CTT_VERSION);
}

int ctt_opt_answer(const struct ctt_program *p, const char *word)
{
    static const struct {
        const char *word;
        void      (*answer)(const struct ctt_program *p);
    } answers[] = {
        { "--help", help }, { "--help=all", help_all },
        { "--help=man", ctt_opt_man }, { "--version", version },
    };

    for (size_t i = 0; i < CTT_LEN(answers); i++) {
        int page = answers[i].answer == ctt_opt_man;
        if (strcmp(word, answers[i].word) == 0 && (!page || p->summary)) {
            answers[i].answer(p);
            return 1;
        }
    }
    return 0;
}
