/* SPDX-License-Identifier: Apache-2.0
 * opt_man.c: the manual page of a program, printed to stdout in roff with the
 * macros of man(7). */
#include "base/opt_inside.h"

#include <ctype.h>
#include <string.h>

/* Text that roff prints as it is.  A line that it would take for a request
 * begins with \&. */
static void print_escaped(const char *s, size_t n)
{
    if (n && (*s == '.' || *s == '\''))
        printf("\\&");
    for (; n; n--, s++) {
        if (*s == '\\')
            printf("\\e");
        else if (*s == '-')
            printf("\\-");
        else
            putchar(*s);
    }
}

static void put_text(const char *s)
{
    print_escaped(s, strlen(s));
}

static void put_bold(const char *s)
{
    printf("\\fB");
    put_text(s);
    printf("\\fR");
}

static void put_upper(const char *s)
{
    for (; *s; s++) {
        char c = (char)toupper((unsigned char)*s);
        print_escaped(&c, 1);
    }
}

/* A paragraph that is printed line by line, without its four blanks. */
static void put_literal(const char *s, size_t n)
{
    printf(".RS 4\n.nf\n");
    for (size_t line; n; n -= line, s += line) {
        size_t blanks = strspn(s, " ");
        line = strcspn(s, "\n");
        line = line < n ? line : n;
        blanks = blanks < 4 ? blanks : 4;
        print_escaped(s + blanks, line - blanks);
        printf("\n");
        line += line < n;
    }
    printf(".fi\n.RE\n");
}

/* first: a paragraph stands right below a heading, which begins it. */
static void put_paragraphs(const char *text, int first)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);

        if (!first)
            printf(".PP\n");
        if (*text == ' ') {
            put_literal(text, n);
        } else {
            print_escaped(text, n);
            printf("\n");
        }
        first = 0;
        text += n + (end ? 2 : 0);
    }
}

static void put_synopsis(const struct ctt_program *p)
{
    put_bold(p->name);
    printf("%s", p->synopsis[0] ? " " : "");
    put_text(p->synopsis);
    printf("\n");
}

static void put_heading(const char *section)
{
    printf(".SS ");
    put_text(section);
    printf("\n");
}

/* Range, conditions and default, as far as the row has them. */
static void put_limits(const struct ctt_opt *tab, const struct ctt_opt *o)
{
    char needs[CTT_OPT_TEXT], range[CTT_OPT_RANGE];

    if (ctt_opt_range(o, range))
        printf("Range: %s.\n", range);
    ctt_opt_needs_text(tab, o, needs);
    if (needs[0]) {
        put_upper((char[]){ needs[0], '\0' });
        put_text(needs + 1);
        printf(".\n");
    }
    if (!o->dflt) {
        printf("Required.\n");
    } else if (o->dflt[0] && o->type != CTT_FLAG) {
        printf("Default: ");
        put_text(o->dflt);
        printf(".\n");
    }
}

static void put_row(const struct ctt_opt *tab, const struct ctt_opt *o)
{
    char arg[CTT_OPT_TEXT];

    printf(".TP\n");
    if (o->letter)
        printf("\\fB\\-%c\\fR, ", o->letter);
    printf("\\fB\\-\\-");
    put_text(o->name);
    printf("\\fR");
    if (o->type != CTT_FLAG) {
        ctt_opt_arg_text(o, arg);
        printf("=\\fI");
        put_text(arg);
        printf("\\fR");
    }
    printf("\n");
    put_upper((char[]){ o->help[0], '\0' });
    put_text(o->help + 1);
    printf(".\n");
    put_limits(tab, o);
}

static void no_heading(const char *section)
{
    (void)section;
}

static const struct ctt_opt_printer by_section = { put_heading, put_row },
                                    plain = { no_heading, put_row };

static void put_command(const struct ctt_program *c)
{
    put_heading(strrchr(c->name, ' ') + 1);
    put_synopsis(c);
    if (c->about) {
        printf(".PP\n");
        put_paragraphs(c->about, 1);
    }
    if (c->description)
        put_paragraphs(c->description, 0);
    ctt_opt_by_section(c->opts, &plain);
}

static void put_options(const struct ctt_program *p)
{
    if (!p->commands) {
        printf(".SH OPTIONS\n");
        ctt_opt_by_section(p->opts, &by_section);
        return;
    }
    printf(".SH COMMANDS\n");
    for (const struct ctt_program *c = p->commands; c->name; c++)
        put_command(c);
}

static void put_top(const struct ctt_program *p)
{
    printf(".TH \"");
    put_upper(p->name);
    printf("\" 1 %s \"convtt %s\" \"convtt\"\n.SH NAME\n", CTT_VERSION_DATE,
           CTT_VERSION);
    put_text(p->name);
    printf(" \\- ");
    put_text(p->summary);
    printf("\n.SH SYNOPSIS\n");
    put_synopsis(p);
    printf(".SH DESCRIPTION\n");
    put_paragraphs(p->about, 1);
    if (p->description)
        put_paragraphs(p->description, 0);
}

void ctt_opt_man(const struct ctt_program *p)
{
    put_top(p);
    put_options(p);
    printf(".PP\nAll programs of convtt also have the options ");
    put_text("--help, --help=all and --version.\n");
    for (const struct ctt_chapter *c = p->chapter; c && c->title; c++) {
        printf(".SH %s\n", c->title);
        put_paragraphs(c->text, 1);
    }
    if (p->also) {
        printf(".SH SEE ALSO\n");
        put_text(p->also);
        printf("\n");
    }
}
