/* SPDX-License-Identifier: Apache-2.0
 * heat.c: answers by true class as a table of shades. */
#include "tools/report/page.h"

enum { MOST = 60 };    /* classes that a page shows */

static int64_t sum(const int64_t *row, int n)
{
    int64_t all = 0;

    for (int k = 0; k < n; k++)
        all += row[k];
    return all;
}

static void put_head(FILE *f, int classes, char *const *name)
{
    fprintf(f, "<tr><th scope=\"col\">true class</th>");
    for (int k = 0; k < classes; k++) {
        fprintf(f, "<th scope=\"col\"><span class=\"col\">");
        ctt_page_text(f, name[k]);
        fprintf(f, "</span></th>");
    }
    fprintf(f, "<th scope=\"col\">right</th></tr>\n");
}

static void put_row(FILE *f, const int64_t *row, int label, int classes,
                    char *const *name)
{
    int64_t all = sum(row, classes);

    fprintf(f, "<tr><th scope=\"row\">");
    ctt_page_text(f, name[label]);
    fprintf(f, "</th>");
    for (int k = 0; k < classes; k++) {
        fprintf(f, "<td style=\"background:color-mix(in srgb,var(--c0) %.0f%%,"
                "transparent)\">", all ? 70.0 * (double)row[k] / (double)all
                                       : 0);
        if (row[k])
            fprintf(f, k == label ? "<b>%lld</b>" : "%lld", (long long)row[k]);
        fprintf(f, "</td>");
    }
    if (all)
        fprintf(f, "<td>%.0f%%</td></tr>\n", 100.0 * (double)row[label] /
                                             (double)all);
    else
        fprintf(f, "<td></td></tr>\n");
}

void ctt_page_heat(FILE *f, const int64_t *clips, int classes,
                   char *const *name)
{
    if (classes > MOST) {
        fprintf(f, "<p>%d classes are too many for a table here.</p>\n",
                classes);
        return;
    }
    fprintf(f, "<div class=\"wide\"><table class=\"heat\">\n<caption>clips by "
            "true class (row) and answer (column); the stronger the colour, "
            "the larger their share of the row</caption>\n");
    fprintf(f, "<thead>");
    put_head(f, classes, name);
    fprintf(f, "</thead>\n");
    for (int k = 0; k < classes; k++)
        put_row(f, clips + (int64_t)k * classes, k, classes, name);
    fprintf(f, "</table></div>\n");
}
