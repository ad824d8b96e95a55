/* SPDX-License-Identifier: Apache-2.0
 * bars.c: bars of a table. */
#include "tools/report/page.h"

#include <math.h>
#include <string.h>

/* Below 0 the colour is another one. */
static void put_bar(FILE *f, const struct ctt_bars *column, double v,
                    double most)
{
    if (isnan(v)) {
        fprintf(f, "<td>-</td>");
        return;
    }
    fprintf(f, "<td>");
    fprintf(f, column->form, v);
    fprintf(f, "<span%s style=\"width:%.1f%%\"></span></td>",
            v < 0 ? " class=\"less\"" : "",
            most > 0 ? 100 * fabs(v) / most : 0);
}

/* The longest bar: of the largest number, of shares 100%. */
static double most_of(const struct ctt_bars *column, const double *value,
                      int n, int columns, int k)
{
    double most = strstr(column[k].form, "%%") ? 100 : 0;

    for (int i = 0; i < n; i++)
        if (isfinite(value[i * columns + k]))
            most = fmax(most, fabs(value[i * columns + k]));
    return most;
}

void ctt_page_bars(FILE *f, const char *caption, const char *const *name,
                   int n, const struct ctt_bars *column, int columns,
                   const double *value)
{
    ctt_page_table_begin(f, "bars", caption);
    fprintf(f, "<tr><th scope=\"col\"></th>");
    for (int k = 0; k < columns; k++) {
        fprintf(f, "<th scope=\"col\">");
        ctt_page_text(f, column[k].title);
        fprintf(f, "</th>");
    }
    fprintf(f, "</tr>\n");
    for (int i = 0; i < n; i++) {
        fprintf(f, "<tr><th scope=\"row\">");
        ctt_page_text(f, name[i]);
        fprintf(f, "</th>");
        for (int k = 0; k < columns; k++)
            put_bar(f, &column[k], value[i * columns + k],
                    most_of(column, value, n, columns, k));
        fprintf(f, "</tr>\n");
    }
    ctt_page_table_end(f);
}
