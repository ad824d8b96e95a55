/* SPDX-License-Identifier: Apache-2.0
 * heat.c: answers by true class as a table of shades. */
#include "tools/report/page.h"

/* Classes that a page shows, and pairs of them. */
enum { MOST = 64, PAIRS = 10 };

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

static void put_class(FILE *f, const int64_t *row, int label, int classes,
                    char *const *name)
{
    int64_t all = sum(row, classes);

    fprintf(f, "<tr><th scope=\"row\">");
    ctt_page_text(f, name[label]);
    fprintf(f, "</th>");
    for (int k = 0; k < classes; k++) {
        if (!row[k]) {
            fprintf(f, "<td></td>");
            continue;
        }
        fprintf(f, "<td style=\"background:color-mix(in srgb,var(--c0) %.0f%%,"
                "transparent)\">", 70.0 * (double)row[k] / (double)all);
        fprintf(f, k == label ? "<b>%lld</b>" : "%lld", (long long)row[k]);
        fprintf(f, "</td>");
    }
    if (all)
        fprintf(f, "<td>%.0f%%</td></tr>\n", 100.0 * (double)row[label] /
                                             (double)all);
    else
        fprintf(f, "<td></td></tr>\n");
}

/* Pairs of true class and answer, the most frequent first; returns their
 * count. */
static int find_pairs(const int64_t *clips, int classes, int64_t pair[PAIRS])
{
    int n = 0;

    for (int64_t i = 0; i < (int64_t)classes * classes; i++) {
        int to;

        if (!clips[i] || i / classes == i % classes)
            continue;
        for (to = n < PAIRS ? n++ : PAIRS;
             to > 0 && clips[i] > clips[pair[to - 1]]; to--)
            if (to < PAIRS)
                pair[to] = pair[to - 1];
        if (to < PAIRS)
            pair[to] = i;
    }
    return n;
}

/* Not of a few classes, whose table is read at a glance. */
static void put_pairs(FILE *f, const int64_t *clips, int classes,
                      char *const *name)
{
    int64_t pair[PAIRS];
    int n = find_pairs(clips, classes, pair);

    if (classes < 4 || !n)
        return;
    ctt_page_table_begin(f, "numbers", "Confused most often");
    fprintf(f, "<tr><th scope=\"col\">true class</th><th class=\"w\" "
            "scope=\"col\">answer</th><th scope=\"col\">clips</th>"
            "<th scope=\"col\">of the class</th></tr>\n");
    for (int i = 0; i < n; i++) {
        const int64_t *row = clips + pair[i] / classes * classes;
        int64_t at = clips[pair[i]];

        fprintf(f, "<tr><th scope=\"row\">");
        ctt_page_text(f, name[pair[i] / classes]);
        fprintf(f, "</th><td class=\"w\">");
        ctt_page_text(f, name[pair[i] % classes]);
        fprintf(f, "</td><td>%lld</td><td>%.0f%%</td></tr>\n", (long long)at,
                100.0 * (double)at / (double)sum(row, classes));
    }
    ctt_page_table_end(f);
}

void ctt_page_heat(FILE *f, const int64_t *clips, int classes,
                   char *const *name)
{
    if (classes > MOST) {
        fprintf(f, "<p>%d classes are too many for a table of all.</p>\n",
                classes);
    } else {
        ctt_page_table_begin(f, "heat", "clips by true class (row) and answer "
            "(column); the stronger the colour, the larger their share of the "
            "row");
        fprintf(f, "<thead>");
        put_head(f, classes, name);
        fprintf(f, "</thead>\n");
        for (int k = 0; k < classes; k++)
            put_class(f, clips + (int64_t)k * classes, k, classes, name);
        ctt_page_table_end(f);
    }
    put_pairs(f, clips, classes, name);
}
