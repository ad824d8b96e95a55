/* SPDX-License-Identifier: Apache-2.0
 * opt_help.c: --help, --help=SECTION and --help=all, printed to stdout. */
#include "base/opt_inside.h"

#include <ctype.h>
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

static void append_default(char text[CTT_OPT_TEXT], const struct ctt_opt *o)
{
    if (!o->dflt)
        append_parts(text, " (required)", "", "");
    else if (o->dflt[0] && o->type != CTT_FLAG)
        append_parts(text, " [", o->dflt, "]");
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
    append_default(text, o);
}

void ctt_opt_brief(const struct ctt_opt *o, char text[CTT_OPT_TEXT])
{
    size_t n = 0;

    for (int depth = 0; o->help[n] && (depth || o->help[n] != ';'); n++)
        depth += (o->help[n] == '(') - (o->help[n] == ')');
    text[0] = '\0';
    ctt_opt_add(text, o->help);
    if (n < strlen(text))
        text[n] = '\0';
}

static void print_named(const struct ctt_opt *o, const char *text)
{
    char name[CTT_OPT_TEXT] = "    ", arg[CTT_OPT_TEXT];

    if (o->letter)
        snprintf(name, sizeof(name), "-%c, ", o->letter);
    append_parts(name, "--", o->name, o->type == CTT_FLAG ? "" : "=");
    if (o->type != CTT_FLAG) {
        ctt_opt_arg_text(o, arg);
        ctt_opt_add(name, arg);
    }
    print_entry(name, text);
}

static void print_option(const struct ctt_opt *tab, const struct ctt_opt *o)
{
    char text[CTT_OPT_TEXT];

    describe(tab, o, text);
    print_named(o, text);
}

/* The first clause of the help, and the default unless the clause has it. */
static void print_brief(const struct ctt_opt *o)
{
    char text[CTT_OPT_TEXT];

    ctt_opt_brief(o, text);
    if (text[0] && text[strlen(text) - 1] != ']')
        append_default(text, o);
    print_named(o, text);
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
    print_entry("-h, --help[=SECTION|all]", "show this help, a section of the "
                "options, or every option");
    print_entry("    --version", "show the version");
}

void ctt_opt_sections(const struct ctt_opt *tab, char text[CTT_OPT_TEXT])
{
    text[0] = '\0';
    for (const struct ctt_opt *o = tab; o->name; o++)
        if (is_first(tab, o))
            append_parts(text, text[0] ? ", " : "", section_of(o), "");
    for (char *c = text; *c; c++)
        *c = (char)(*c == ' ' && c[-1] != ',' ? '-' : tolower(*c));
}

static void print_common(const struct ctt_program *p)
{
    char list[CTT_OPT_TEXT], all[64];

    printf("\nCommon options:\n");
    for (const struct ctt_opt *o = p->opts; o->name; o++)
        if (o->tags & CTT_OPT_COMMON)
            print_brief(o);
    print_answers();
    ctt_opt_sections(p->opts, list);
    printf("\nSections: ");
    print_filled(list, 10, 10);
    snprintf(all, sizeof(all), "--help=all lists all %d options",
             count_tagged(p->opts, 0));
    print_end(p, all);
}

/* "mixed-precision" or its beginning names the section "Mixed precision". */
static int is_named(const char *section, const char *word)
{
    for (; *word; word++, section++)
        if (tolower((unsigned char)*section) !=
            (*word == '-' ? ' ' : tolower((unsigned char)*word)))
            return 0;
    return 1;
}

static int help_section(const struct ctt_program *p, const char *word)
{
    const struct ctt_opt *first = p->commands ? NULL : p->opts;

    while (first && first->name && !is_named(section_of(first), word))
        first++;
    if (!first || !first->name || !*word)
        return 0;
    print_heading(section_of(first));
    for (const struct ctt_opt *o = first; o->name; o++)
        if (strcmp(section_of(o), section_of(first)) == 0)
            print_option(p->opts, o);
    return 1;
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
        int         page;    /* only of whole programs */
    } answers[] = {
        { "--help", help, 0 }, { "-h", help, 0 },
        { "--help=all", help_all, 0 },
        { "--help=man", ctt_opt_man, 1 },
        { "--help=bash", ctt_opt_bash, 1 }, { "--help=zsh", ctt_opt_zsh, 1 },
        { "--version", version, 0 },
    };

    for (size_t i = 0; i < CTT_LEN(answers); i++)
        if (strcmp(word, answers[i].word) == 0 &&
            (!answers[i].page || p->summary)) {
            answers[i].answer(p);
            return 1;
        }
    return strncmp(word, "--help=", 7) == 0 && help_section(p, word + 7);
}
