/* SPDX-License-Identifier: Apache-2.0
 * csv.c: reads a text of records; fields are unquoted in place. */
#include "video/list/csv.h"

#include <string.h>

/* Blanks at s that are no separator. */
static char *skip_blanks(const struct ctt_csv *c, char *s)
{
    while (*s == ' ' || *s == '\r' || (*s == '\t' && c->sep != '\t'))
        s++;
    return s;
}

/* Copies what is between quotes to the left; its end, or NULL if there is
 * none. */
static char *unquote(struct ctt_csv *c, char *s)
{
    char *to = s++;

    for (; *s; *to++ = *s++) {
        if (*s == '"' && *++s != '"') {
            *to = 0;
            return skip_blanks(c, s);
        }
        c->lines += *s == '\n';
    }
    return NULL;
}

/* The end of a field without quotes, behind which blanks are cut off. */
static char *trim(const struct ctt_csv *c, char *s, char *end)
{
    char *last = s + strcspn(s, (char[]){ c->sep, '\n', 0 });

    s = last;
    *end = *s;
    while (last > c->at && strchr(" \t\r", last[-1]))
        last--;
    *last = 0;
    return s;
}

/* Cuts the next field off; the character behind it, or -1. */
static int next_field(struct ctt_csv *c, char **out)
{
    char *s = skip_blanks(c, c->at), end;

    *out = c->at = s;
    if (*s == '"') {
        s = unquote(c, s);
        end = s ? *s : '"';
    } else {
        s = trim(c, s, &end);
    }
    if (end && end != c->sep && end != '\n')
        return -1;
    c->at = s + (end != 0);
    c->lines += end == '\n';
    return end;
}

int ctt_csv_next(struct ctt_csv *c, char *field[CTT_CSV_FIELDS])
{
    int n, end;

    do {
        while (*c->at == '#') {
            c->at += strcspn(c->at, "\n");
            c->at += *c->at != 0;
            c->lines++;
        }
        c->line = c->lines + 1;
        for (n = 0, end = c->sep; end == c->sep; n++)
            if (n == CTT_CSV_FIELDS || (end = next_field(c, &field[n])) < 0)
                return -1;
    } while (n == 1 && !*field[0] && *c->at);
    return n == 1 && !*field[0] ? 0 : n;
}
