/* SPDX-License-Identifier: Apache-2.0
 * list_table.c: the lines of a list whose first line names its columns, which
 * are separated by commas, tabs or semicolons. */
#include "video/list/columns.h"
#include "video/list/csv.h"

#include <string.h>

/* Whether the line c is at is a heading. */
static int read_heading(struct ctt_csv *c, char *field[CTT_CSV_FIELDS],
                        int *fields, struct ctt_columns *out)
{
    ctt_columns_init(out);
    memset(field, 0, CTT_CSV_FIELDS * sizeof(*field));
    *fields = ctt_csv_next(c, field);
    for (int i = 0; i < CTT_CSV_FIELDS && field[i] && *fields; i++)
        ctt_columns_name(out, field[i], i);
    return ctt_columns_list(out);
}

/* Finds the separator with which the first line is a heading: 1 and its
 * columns; 0: none. */
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

int ctt_table_heading(const char *text, struct ctt_columns *out)
{
    char sep;

    return find_separator(text, &sep, out);
}

/* Where a comma separates decimals, columns are separated by semicolons. */
static void point(char *s)
{
    s = s ? strchr(s, ',') : NULL;
    if (s)
        *s = '.';
}

static int take_record(struct ctt_lines *t, const struct ctt_csv *c,
                       char *const *field, int n,
                       const struct ctt_columns *columns)
{
    char *value[CTT_COLUMNS];

    for (int k = 0; k < CTT_COLUMNS; k++) {
        int at = columns->place[k];
        value[k] = at >= 0 && at < n ? field[at] : NULL;
    }
    if (c->sep == ';') {
        point(value[CTT_COLUMN_START]);
        point(value[CTT_COLUMN_END]);
    }
    return ctt_columns_add(t, value, c->line);
}

int ctt_lines_table(struct ctt_lines *t, const char *split)
{
    char *field[CTT_CSV_FIELDS];
    struct ctt_csv c = { .at = t->text };
    struct ctt_columns columns;
    int rc, n, fields;

    CTT_TRY(find_separator(t->text, &c.sep, &columns));
    if (rc == 0)
        return 0;
    read_heading(&c, field, &fields, &columns);
    CTT_CHECK(fields > 0, CTT_EFORMAT, "%s:%d: more than %d columns, or a "
              "quote that is not closed", t->path, c.line, CTT_CSV_FIELDS);
    CTT_TRY(ctt_columns_check(&columns, t->path, c.line, field));
    while ((n = ctt_csv_next(&c, field)) != 0) {
        CTT_CHECK(n > 0, CTT_EFORMAT, "%s:%d: a quote that is not closed, or "
                  "too many columns", t->path, c.line);
        CTT_CHECK(n <= fields, CTT_EFORMAT, "%s:%d: %d columns, but the "
                  "heading has %d; a name with a '%c' needs quotes", t->path,
                  c.line, n, fields, c.sep);
        CTT_TRY(take_record(t, &c, field, n, &columns));
    }
    CTT_TRY(ctt_columns_choose(t, split));
    rc = 1;
out:
    return rc;
}
