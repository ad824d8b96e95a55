/* SPDX-License-Identifier: Apache-2.0
 * budget_page.c: --report-html of --budget: what was tried, as fronts. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"

#include <math.h>
#include <string.h>

enum { KINDS = 3, WHOLE = CTT_ACCURACIES - 1 };

/* A dot a model, on the clips of the search. */
static int put_tried(FILE *f, const struct ctt_budget_job *r,
                     enum ctt_cost cost, struct ctt_chart chart)
{
    static const char *const words[KINDS] = { "short", "original",
                                              "retrained" };
    size_t n = (size_t)r->s.rows.rows + 1;
    double *room = ctt_calloc(n, 2 * KINDS * sizeof(*room));
    struct ctt_series s[KINDS] = { { "retrained shortly" }, { "the original" },
                                   { "retrained" } };
    int rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int k = 0; k < KINDS; k++) {
        double *x = room + 2 * (size_t)k * n, *y = x + n;

        s[k].x = x;
        s[k].y = y;
        s[k].dots = 1;
        for (int i = 0; i < r->s.rows.rows; i++) {
            const char *kind;
            struct ctt_budget_row row = ctt_budget_result(r, i, &kind);
            const struct ctt_paired *t = &row.seen[0][WHOLE];

            if (strcmp(kind, words[k]) != 0 || t->clips <= 0 ||
                !isfinite(row.costs.cost[cost]))
                continue;
            x[s[k].n] = row.costs.cost[cost];
            y[s[k].n++] = (double)t->is / (double)t->clips;
        }
    }
    chart.y = "top-1";
    chart.of = s;
    chart.series = KINDS;
    chart.percent = chart.log_x = 1;
    chart.low = chart.high = NAN;
    ctt_page_chart(f, &chart);
out:
    ctt_free(room);
    return rc;
}

static int print_fronts(FILE *f, const void *arg)
{
    const struct ctt_budget_job *r = arg;
    char title[600];
    int rc;

    snprintf(title, sizeof(title), "Compression of %s within %s", r->j->path,
             r->j->c.budget);
    ctt_page_begin(f, title);
    ctt_page_section(f, "Models that were retrained", "On the clips of the "
                     "search, which choose, so that these figures flatter.");
    CTT_TRY(put_tried(f, r, CTT_COST_BYTES, (struct ctt_chart){
        .title = "Whole clips by size", .x = "bytes of the file" }));
    CTT_TRY(put_tried(f, r, CTT_COST_MS, (struct ctt_chart){
        .title = "Whole clips by time of a frame", .x = "ms a frame" }));
    CTT_TRY(put_tried(f, r, CTT_COST_MACS, (struct ctt_chart){
        .title = "Whole clips by multiplications",
        .x = "multiplications a frame" }));
    ctt_page_end(f);
out:
    return rc;
}

void ctt_budget_page(const struct ctt_budget_job *r)
{
    ctt_page_write(r->j->c.report_html, print_fronts, r);
}
