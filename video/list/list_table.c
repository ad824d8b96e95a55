/* SPDX-License-Identifier: Apache-2.0
 * list_table.c: the rows of a list whose first line names its columns, which
 * are separated by commas, tabs or semicolons. */
#include "video/list/csv.h"
#include "video/list/list.h"
#include "video/list/rows.h"
#include "base/visible.h"

#include <stdlib.h>
#include <string.h>

/* 1 if a line names the columns of a list, with that separator. */
static int is_heading(const char *line, char sep)
{
    int k, has[CTT_COLUMNS] = { 0 };
    size_t n;

    do {
        n = strcspn(line, (char[]){ sep, '\n', 0 });
        k = ctt_column_of(&ctt_words_usual, line, n);
        if (k >= 0)
            has[k] = 1;
        line += n + 1;
    } while (line[-1] == sep);
    return has[CTT_COLUMN_PATH] && (has[CTT_COLUMN_LABEL] ||
           has[CTT_COLUMN_START] || has[CTT_COLUMN_FRAME]);
}

/* The separator with which the first line of a text is a heading; 0: none. */
static char find_separator(const char *text)
{
    while (*text == '#' || *text == '\r' || *text == '\n')
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    return is_heading(text, ',') ? ',' : is_heading(text, '\t') ? '\t' :
           is_heading(text, ';') ? ';' : 0;
}

/* Reads the heading; returns the number of its fields, or -1. */
static int read_heading(struct ctt_csv *c, struct ctt_columns *out)
{
    char *field[CTT_CSV_FIELDS];
    int n = ctt_csv_next(c, field);

    ctt_columns_init(out, &ctt_words_usual);
    for (int i = 0; i < n; i++)
        ctt_columns_name(out, field[i], i);
    return n;
}

int ctt_list_kinetics_is(struct ctt_listing *s, const char *path)
{
    char some[512];
    ssize_t n = ctt_list_begin(path, some, sizeof(some) - 1);
    struct ctt_columns columns;
    struct ctt_csv c;

    (void)s;
    some[n > 0 ? n : 0] = 0;
    ctt_text_ends(some);
    c = (struct ctt_csv){ .at = some + ctt_mark_utf8(some, strlen(some)) };
    c.sep = find_separator(c.at);
    return c.sep && read_heading(&c, &columns) > 0 &&
           ctt_columns_are_ids(&columns);
}

/* Where a comma separates decimals, columns are separated by semicolons. */
static void point(char *s)
{
    s = s ? strchr(s, ',') : NULL;
    if (s)
        *s = '.';
}

static int add_record(struct ctt_rows *r, const struct ctt_csv *c,
                      char *const *field, int n,
                      const struct ctt_columns *columns)
{
    char *value[CTT_COLUMNS];
    int any = 0;

    for (int k = 0; k < CTT_COLUMNS; k++) {
        int at = columns->place[k];

        value[k] = at >= 0 && at < n ? field[at] : NULL;
        any |= value[k] && *value[k];
    }
    if (!any)
        return 0;    /* as spreadsheets leave them behind */
    if (c->sep == ';') {
        point(value[CTT_COLUMN_START]);
        point(value[CTT_COLUMN_END]);
    }
    return ctt_rows_add(r, value, c->line, "no path or id");
}

int ctt_rows_table(struct ctt_rows *r, char *text, struct ctt_columns *columns)
{
    char *field[CTT_CSV_FIELDS];
    struct ctt_csv c = { .at = text };
    int rc, n, fields;

    c.sep = find_separator(text);
    if (!c.sep)
        return 0;
    fields = read_heading(&c, columns);
    CTT_CHECK(fields > 0, CTT_EFORMAT, "%s:%d: more than %d columns, or a "
              "quote that is not closed", r->path, c.line, CTT_CSV_FIELDS);
    CTT_TRY(ctt_columns_check(columns, r->path, c.line));
    while ((n = ctt_csv_next(&c, field)) != 0) {
        CTT_CHECK(n > 0, CTT_EFORMAT, "%s:%d: a quote that is not closed, or "
                  "too many columns", r->path, c.line);
        CTT_CHECK(n <= fields, CTT_EFORMAT, "%s:%d: %d columns, but the "
                  "heading has %d; a name with a '%c' needs quotes", r->path,
                  c.line, n, fields, c.sep);
        CTT_TRY(add_record(r, &c, field, n, columns));
    }
    CTT_TRY(ctt_rows_choose(r, CTT_LABEL_ALL));
    rc = 1;
out:
    return rc;
}

/* ---- Kinetics ---- */

/* The seconds in a field; -1 if it has none from 0 to 999999. */
static int seconds(const char *s)
{
    char *end;
    double x = s ? strtod(s, &end) : -1;

    return s && end != s && *end == 0 && x >= 0 && x < CTT_PART_SECONDS ?
           (int)x : -1;
}

int ctt_rows_kinetics(struct ctt_rows *r, const char *dir)
{
    int rc = 0;

    for (int i = 0; i < r->count; i++) {
        struct ctt_row *row = &r->row[i];
        const char *bad = seconds(row->start) < 0 ? row->start : row->end;

        CTT_CHECK(seconds(row->start) >= 0 && seconds(row->end) >= 0,
                  CTT_EFORMAT, "%s:%d: '%s' is no time in seconds", r->path,
                  row->number, bad ? bad : "");
        CTT_CHECK(ctt_id_is_good(row->path), CTT_EFORMAT, "%s:%d: '%s' is no "
                  "youtube_id", r->path, row->number, row->path);
        row->cut = 1;
    }
    CTT_TRY(ctt_rows_ids(r, &ctt_layout_segments, "Kinetics", dir));
out:
    return rc;
}
