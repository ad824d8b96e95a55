/* SPDX-License-Identifier: Apache-2.0
 * list_table.c: the rows of a list whose first line names its columns, which
 * are separated by commas, tabs or semicolons. */
#include "video/list/csv.h"
#include "video/list/list.h"
#include "video/list/rows.h"
#include "base/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether the line c is at is a heading. */
static int read_heading(struct ctt_csv *c, char *field[CTT_CSV_FIELDS],
                        int *fields, struct ctt_columns *out)
{
    ctt_columns_init(out, &ctt_words_usual);
    memset(field, 0, CTT_CSV_FIELDS * sizeof(*field));
    *fields = ctt_csv_next(c, field);
    for (int i = 0; i < CTT_CSV_FIELDS && field[i] && *fields; i++)
        ctt_columns_name(out, field[i], i);
    return ctt_columns_list(out);
}

/* Finds the separator with which the first line is a heading: 1 and what kinds
 * of columns it has; 0: none. */
static int find_separator(const char *text, char *sep,
                          struct ctt_columns *columns)
{
    static const char all[] = { ',', '\t', ';' };
    char *field[CTT_CSV_FIELDS], *copy;
    int rc = 0, n;
    size_t size;

    while (*text == '#' || *text == '\r' || *text == '\n')
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    size = strcspn(text, "\n");
    for (size_t i = 0; i < sizeof(all) && rc == 0; i++) {
        copy = ctt_calloc(size + 1, 1);
        if (!copy)
            return CTT_ENOMEM;
        memcpy(copy, text, size);
        *sep = all[i];
        rc = read_heading(&(struct ctt_csv){ .at = copy, .sep = all[i] },
                          field, &n, columns);
        ctt_free(copy);
    }
    return rc;
}

int ctt_list_kinetics_is(struct ctt_listing *s, const char *path)
{
    struct ctt_columns c;
    char some[512], sep;
    ssize_t n = ctt_list_begin(path, some, sizeof(some) - 1);
    int rc;

    (void)s;
    if (n < 0 || strcasecmp(ctt_path_ending(path), ".csv") != 0)
        return 0;
    some[n] = 0;
    rc = find_separator(some + ctt_mark_utf8(some, strlen(some)), &sep, &c);
    return rc > 0 ? ctt_columns_are_ids(&c) : rc;
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

    CTT_TRY(find_separator(text, &c.sep, columns));
    if (rc == 0)
        return 0;
    read_heading(&c, field, &fields, columns);
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
