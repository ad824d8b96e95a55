/* SPDX-License-Identifier: Apache-2.0
 * table.c: tables with aligned columns on standard output. */
#include "tools/shared/tool.h"
#include "base/visible.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The tabs of a format separate cells, tabs of printed values do not: the
 * former become BETWEEN while the row is formatted. */
enum { FORMAT = 1024, BETWEEN = '\x1f' };

static char *replace(char *s, char from, char to)
{
    for (char *p = s; (p = strchr(p, from)) != NULL; p++)
        *p = to;
    return s;
}

/* A copy of the row with escaped control characters: at most four bytes per
 * byte. */
static char *shown(const char *line, char between)
{
    size_t size = 4 * strlen(line) + 1;
    char *text = ctt_calloc(size, 1), *copy = NULL;

    if (text)
        copy = ctt_strdup(replace(ctt_visible(line, between, text, size),
                                  between, '\t'));
    ctt_free(text);
    return copy;
}

/* A row of any length, as names may be long. */
static char *formatted(const char *fmt, va_list ap)
{
    va_list again;
    char *line;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    line = n < 0 ? NULL : ctt_calloc((size_t)n + 1, 1);
    if (line)
        vsnprintf(line, (size_t)n + 1, fmt, ap);
    return line;
}

void ctt_table_row(struct ctt_table *t, const char *fmt, ...)
{
    char apart[FORMAT], *line, **more;
    va_list ap;

    more = ctt_grown(t->row, &t->room, t->rows, sizeof(*more));
    if (!more) {
        t->rc = CTT_ENOMEM;
        return;
    }
    t->row = more;
    if (strchr(fmt, '\t') && strlen(fmt) < sizeof(apart))
        fmt = replace(strcpy(apart, fmt), '\t', BETWEEN);
    va_start(ap, fmt);
    line = formatted(fmt, ap);
    va_end(ap);
    t->row[t->rows] = line ? shown(line, fmt == apart ? BETWEEN : '\t') : NULL;
    ctt_free(line);
    if (!t->row[t->rows])
        t->rc = CTT_ENOMEM;
    else
        t->rows++;
}

enum { COLUMNS = 40 };

struct column { int width, number; };

static int cell_length(const char *s)
{
    return (int)strcspn(s, "\t");
}

static int is_number(const char *s)
{
    return isdigit((unsigned char)*s) || *s == '-' || *s == '+' || *s == '.';
}

/* Columns on a terminal: continuation bytes of UTF-8 take none. */
static int shown_length(const char *s, int n)
{
    int k = 0;

    for (int i = 0; i < n; i++)
        k += ((unsigned char)s[i] & 0xC0) != 0x80;
    return k;
}

/* A number that is missing because others used the processor. */
static int is_busy(const char *s)
{
    return strncmp(s, "busy", 4) == 0 && (s[4] == '\t' || !s[4]);
}

static void measure_columns(const struct ctt_table *t, struct column *col)
{
    for (int r = 0; r < t->rows; r++) {
        const char *s = t->row[r];
        for (int c = 0; c < COLUMNS; c++) {
            int n = cell_length(s), k = shown_length(s, n);
            if (k > col[c].width)
                col[c].width = k;
            if (r > 0 && n && !is_number(s) && !is_busy(s))
                col[c].number = 0;
            if (!s[n])
                break;
            s += n + 1;
        }
    }
}

static int has_busy(const char *row)
{
    const char *s = row;

    while (!is_busy(s) && (s = strchr(s, '\t')) != NULL)
        s++;
    return s != NULL;
}

static void print_cells(const char *s, const struct column *col)
{
    for (int c = 0; c < COLUMNS; c++) {
        int n = cell_length(s), pad = col[c].width - shown_length(s, n);

        printf("%s%*s%.*s", c ? "  " : "", col[c].number ? pad : 0, "", n, s);
        if (!s[n])
            break;
        printf("%*s", col[c].number ? 0 : pad, "");
        s += n + 1;
    }
    putchar('\n');
}

int ctt_table_print(struct ctt_table *t)
{
    struct column col[COLUMNS] = { { 0, 0 } };
    int rc = t->rc, busy = 0;

    for (int c = 1; c < COLUMNS; c++)
        col[c].number = 1;
    ctt_tool_clear();
    measure_columns(t, col);
    for (int r = 0; r < t->rows; r++) {
        print_cells(t->row[r], col);
        busy |= has_busy(t->row[r]);
    }
    if (busy)
        printf("busy: other programs used the processor; when it is idle, "
               "convtt-infer --bench FILE measures a model alone\n");
    ctt_table_free(t);
    return rc;
}

void ctt_table_free(struct ctt_table *t)
{
    for (int r = 0; r < t->rows; r++)
        ctt_free(t->row[r]);
    ctt_free(t->row);
    memset(t, 0, sizeof(*t));
}

void ctt_csv_real(FILE *f, double x)
{
    if (!isnan(x))
        fprintf(f, "%.6g", x);
    fprintf(f, ",");
}

void ctt_csv_quoted(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) {
        if (*s == '"')
            putc('"', f);
        putc(*s == '\n' || *s == '\r' ? ' ' : *s, f);
    }
    fputs("\",", f);
}
