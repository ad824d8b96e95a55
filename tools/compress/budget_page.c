/* SPDX-License-Identifier: Apache-2.0
 * budget_page.c: --report-html of --budget: what was tried, as fronts. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"

#include <math.h>

enum { KINDS = 3, WHOLE = CTT_ACCURACIES - 1 };

static const char *const kinds[KINDS] = { "tried", "retrained",
                                          "retrained shortly" };

/* A dot a model, on the clips of the search. */
static int put_tried(FILE *f, const struct ctt_budget_job *r,
                     enum ctt_cost cost, struct ctt_chart chart)
{
    size_t n = (size_t)r->s.rows.rows + 1;
    double *room = ctt_calloc(n, 2 * KINDS * sizeof(*room));
    struct ctt_series s[KINDS] = { { NULL } };
    int rc = room ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int k = 0; k < KINDS; k++) {
        double *x = room + 2 * (size_t)k * n, *y = x + n;

        s[k] = (struct ctt_series){ kinds[k], 0, x, y, NULL, NULL, 1 };
        for (int i = 0; i < r->s.rows.rows; i++) {
            const struct ctt_budget_row *row = &r->s.rows.row[i];
            const struct ctt_paired *t = &row->seen[0][WHOLE];

            if (row->kind != (enum ctt_budget_kind)k || t->clips <= 0 ||
                !isfinite(row->costs.cost[cost]))
                continue;
            x[s[k].n] = row->costs.cost[cost];
            y[s[k].n++] = (double)t->is / (double)t->clips;
        }
    }
    chart.y = "top-1";
    chart.of = s;
    chart.series = KINDS;
    chart.percent = chart.high = chart.log_x = 1;
    ctt_page_chart(f, &chart);
out:
    ctt_free(room);
    return rc;
}

static int print_fronts(FILE *f, const void *arg)
{
    const struct ctt_budget_job *r = arg;
    int rc;

    ctt_page_begin(f, "Search for a compression");
    ctt_page_section(f, "Models that were tried", "On the clips of the search, "
                     "which choose, so that these figures flatter.");
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
