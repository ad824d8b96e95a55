/* SPDX-License-Identifier: Apache-2.0
 * opt_needs.c: settings that have no effect without others. */
#include "base/opt_inside.h"

#include <string.h>

/* The words of a condition that another setting is not given. */
#define EXCLUDES "excludes "

/* One alternative of a condition. */
struct term {
    const struct ctt_opt *row;    /* NULL: the table does not have it */
    int  differs;                 /* !name or name!=value */
    char value[64];               /* empty: the default */
};

/* Reads the alternative at s and returns where it ends. */
static const char *read_term(const struct ctt_opt *tab, const char *s,
                             struct term *t)
{
    size_t n;
    int k;

    *t = (struct term){ .differs = *s == '!' };
    s += *s == '!';
    n = strcspn(s, "!=| ");
    k = ctt_opt_find_n(tab, s, n);
    t->row = k < 0 ? NULL : &tab[k];
    s += n;
    if (*s != '!' && *s != '=')
        return s;
    t->differs = *s == '!';
    s += t->differs + 1;
    n = strcspn(s, "| ");
    snprintf(t->value, sizeof(t->value), "%.*s", (int)n, s);
    return s + n;
}

/* "mnist:*": the text before the star, which ends a string's condition. */
static int has_beginning(const struct ctt_opt *o, const void *cfg,
                         const char *value, size_t n)
{
    const char *s = *(char *const *)((const char *)cfg + o->off);

    return s && strncmp(s, value, n) == 0;
}

static int holds(const struct term *t, const void *cfg)
{
    size_t n = strlen(t->value);

    if (!t->row)
        return 1;
    if (!n)
        return ctt_opt_is_default(t->row, cfg) == t->differs;
    if (t->row->type == CTT_STRING && t->value[n - 1] == '*')
        return has_beginning(t->row, cfg, t->value, n - 1) != t->differs;
    return ctt_opt_is(t->row, cfg, t->value) != t->differs;
}

/* 1 if one of the alternatives at *s holds; moves *s behind them. */
static int condition(const struct ctt_opt *tab, const void *cfg, const char **s)
{
    struct term t;
    int any = 0;

    for (;;) {
        *s = read_term(tab, *s, &t);
        any |= holds(&t, cfg);
        if (**s != '|')
            break;
        (*s)++;
    }
    *s += **s == ' ';
    return any;
}

void ctt_opt_add(char text[CTT_OPT_TEXT], const char *what)
{
    size_t n = strlen(text);

    snprintf(text + n, CTT_OPT_TEXT - n, "%s", what);
}

/* "--name", "--name=value" or "--name other than value". */
static void add_term(char text[CTT_OPT_TEXT], const struct term *t)
{
    size_t n = strlen(t->value);
    int star = n && t->value[n - 1] == '*';
    char value[sizeof(t->value) + 4];

    ctt_opt_add(text, "--");
    ctt_opt_add(text, t->row->name);
    if (!n)
        return;
    ctt_opt_add(text, t->differs ? " other than " : "=");
    snprintf(value, sizeof(value), "%.*s%s", (int)n - star, t->value,
             star ? "..." : "");
    ctt_opt_add(text, value);
}

/* The condition at s in words, added to text; returns where the next begins. */
static const char *add_condition(const struct ctt_opt *tab, const char *s,
                                 char text[CTT_OPT_TEXT])
{
    struct term t;
    int said = 0;

    for (;;) {
        s = read_term(tab, s, &t);
        if (t.row) {
            ctt_opt_add(text, said++ ? " or " :
                        t.differs && !t.value[0] ? EXCLUDES : "requires ");
            add_term(text, &t);
        }
        if (*s != '|')
            break;
        s++;
    }
    return s + (*s == ' ');
}

void ctt_opt_needs_text(const struct ctt_opt *tab, const struct ctt_opt *o,
                        char text[CTT_OPT_TEXT])
{
    const size_t word = strlen(EXCLUDES);
    int last = 0;    /* the condition before this one excludes */

    text[0] = '\0';
    for (const char *s = o->needs ? o->needs : ""; *s; ) {
        char one[CTT_OPT_TEXT] = "";
        int excludes;

        s = add_condition(tab, s, one);
        if (!one[0])
            continue;
        if (text[0])
            ctt_opt_add(text, ", ");
        excludes = strncmp(one, EXCLUDES, word) == 0;
        ctt_opt_add(text, one + (excludes && last ? word : 0));
        last = excludes;
    }
}

/* Fails for the first condition of a row that does not hold. */
static int check_row(const struct ctt_opt *tab, const struct ctt_opt *o,
                     const void *cfg)
{
    char text[CTT_OPT_TEXT] = "";

    for (const char *s = o->needs, *next; *s; s = next) {
        next = s;
        if (condition(tab, cfg, &next))
            continue;
        add_condition(tab, s, text);
        return ctt_error(CTT_EINVAL, "--%s %s", o->name, text);
    }
    return 0;
}

int ctt_opt_counts(const struct ctt_opt *tab, const struct ctt_opt *o,
                   const void *cfg)
{
    const char *s = o->needs ? o->needs : "";
    int holds = 1;

    while (*s && holds)
        holds = condition(tab, cfg, &s);
    return holds;
}

int ctt_opt_check(const struct ctt_opt *tab, const void *cfg)
{
    int rc = 0;

    for (const struct ctt_opt *o = tab; o->name; o++)
        if (o->needs && !ctt_opt_is_default(o, cfg))
            CTT_TRY(check_row(tab, o, cfg));
out:
    return rc;
}
