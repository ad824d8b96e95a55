/* SPDX-License-Identifier: Apache-2.0
 * explain_page.c: --report-html of --explain: what each part of a compression
 * costs and saves. */
#include "tools/compress/compress_tool.h"
#include "tools/report/page.h"

#include <math.h>

enum { COLUMNS = 3, ROWS = 300, NAME = 2 * CTT_NAME };
static const struct ctt_bars columns[COLUMNS] = {
    { "costs: divergence, nats", "%.2g" }, { "saves: bytes", "%.0f" },
    { "saves: of a frame's time", "%.1f%%" } };

/* all: 0: each weight and thing; 1: their sums. */
static int put_points(FILE *f, const struct ctt_explain *e, int all)
{
    size_t n = (size_t)e->points + 1;
    int *order = ctt_calloc(n, sizeof(*order)), rows, rc;
    char (*text)[NAME] = ctt_calloc(n, sizeof(*text));
    const char **name = ctt_calloc(n, sizeof(*name));
    double *value = ctt_calloc(n, COLUMNS * sizeof(*value));

    CTT_TRY(order && text && name && value ? 0 : CTT_ENOMEM);
    rows = ctt_explain_sort(e, all, order);
    for (int i = 0; i < rows; i++) {
        const struct ctt_explain_point *p = &e->point[order[i]];
        double *v = value + i * COLUMNS;

        snprintf(text[i], NAME, "%s, %s", ctt_explain_weight_name(e, p),
                 ctt_explain_kind_name(p));
        name[i] = text[i];
        v[0] = ctt_explain_cost(p);
        v[1] = isnan(v[0]) ? NAN : (double)p->bytes;
        v[2] = 100 * (1 - 1 / p->faster);
    }
    ctt_page_bars(f, all ? "Sums: all that was done to a weight, and each "
                  "thing for all weights" : rows > ROWS
                  ? "The 300 that cost most" : "Those that cost most first",
                  name, rows < ROWS ? rows : ROWS, columns, COLUMNS, value);
out:
    ctt_free(order);
    ctt_free(text);
    ctt_free(name);
    ctt_free(value);
    return rc;
}

static int print_parts(FILE *f, const void *arg)
{
    int rc;

    ctt_page_begin(f, "What a compression costs and saves");
    ctt_page_section(f, "Each thing that was done to a weight",
                     "It alone is undone: what it costs is how much nearer the "
                     "answers then come to those of the original; what it "
                     "saves is what file and frame then take more.");
    CTT_TRY(put_points(f, arg, 0));
    CTT_TRY(put_points(f, arg, 1));
    ctt_page_end(f);
out:
    return rc;
}

void ctt_explain_page(const struct ctt_explain *e, const char *path)
{
    ctt_page_write(path, print_parts, e);
}
