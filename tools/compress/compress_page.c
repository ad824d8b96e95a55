/* SPDX-License-Identifier: Apache-2.0
 * compress_page.c: --report-html: the report of a compression as a page. */
#include "tools/compress/compress_tool.h"
#include "base/newfile.h"
#include "base/wilson.h"
#include "tools/report/page.h"
#include "tools/shared/tool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { BARS = 60 };    /* weights that a page shows */

typedef int cells_of(const struct ctt_report *r, int row, char *text,
                     size_t size);

struct page {
    const struct ctt_compress_job *j;
    const struct ctt_report       *r;
};

static int put_cells(FILE *f, const struct ctt_report *r, const char *caption,
                     cells_of *cells)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[1024];
    int rc;

    for (int k = 0; cells(r, k, line, sizeof(line)); k++)
        ctt_table_row(&t, "%s", line);
    CTT_TRY(t.rc);
    if (t.rows)
        ctt_page_table(f, caption, &t);
out:
    ctt_table_free(&t);
    return rc;
}

/* ---- the whole ---- */

static void put_facts(FILE *f, const struct page *p)
{
    const struct ctt_stage_row *from = p->r->stage;
    const struct ctt_stage_row *to = from + p->r->stages - 1;
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "given\t%s, %" PRId64 " bytes", p->j->path, from->bytes);
    ctt_table_row(&t, "written\t%s, %" PRId64 " bytes: %.1f times smaller",
                  p->j->c.out, to->bytes, (double)from->bytes /
                                          (double)to->bytes);
    ctt_table_row(&t, "multiplications per frame\t%" PRId64 ", before %"
                  PRId64, to->live_macs, from->live_macs);
    if (to->busy)
        ctt_table_row(&t, "speed\tthe machine was busy: not measured");
    else if (!isnan(to->faster))
        ctt_table_row(&t, "speed\t%.2f times as fast", to->faster);
    if (t.rc >= 0)
        ctt_page_facts(f, "The model", &t);
    ctt_table_free(&t);
}

/* ---- stages ---- */

static void put_sizes(FILE *f, const struct ctt_report *r, struct ctt_bar *bar)
{
    for (int k = 0; k < r->stages; k++) {
        bar[k] = (struct ctt_bar){ r->stage[k].name,
                                   (double)r->stage[k].bytes, "" };
        snprintf(bar[k].label, sizeof(bar[k].label), "%" PRId64 " bytes, %.1fx",
                 r->stage[k].bytes, (double)r->stage[0].bytes /
                                    (double)r->stage[k].bytes);
    }
    ctt_page_bars(f, "Bytes of the file after each stage", bar, r->stages);
}

/* room: 4 columns and the names. */
static void put_accuracy(FILE *f, const struct ctt_report *r, double *room,
                         const char **names)
{
    static const char *const name[CTT_ACCURACIES] = {
        "25% of a clip seen", "50%", "100%; bars: 95% confidence",
    };
    struct ctt_series s[CTT_ACCURACIES];
    double *x = room, *low = room + r->stages, *high = low + r->stages;

    for (int k = 0; k < CTT_ACCURACIES; k++) {
        double *y = high + (k + 1) * r->stages;

        for (int i = 0; i < r->stages; i++)
            y[i] = r->stage[i].after.top1[k];
        s[k] = (struct ctt_series){ name[k], r->stages, x, y, NULL, NULL };
    }
    for (int i = 0; i < r->stages; i++) {
        double range[2];

        x[i] = i;
        names[i] = r->stage[i].name;
        ctt_wilson(r->stage[i].after.top1[2], r->stage[i].after.clips, range);
        low[i] = range[0];
        high[i] = range[1];
    }
    if (!r->several) {
        s[CTT_ACCURACIES - 1].low = low;
        s[CTT_ACCURACIES - 1].high = high;
    }
    ctt_page_chart(f, &(struct ctt_chart){
        "Validation clips after each stage, retrained", "stage",
        ctt_report_score(r), s, CTT_ACCURACIES, 1, 0, 0, 1, names });
}

static int put_stages(FILE *f, const struct page *p)
{
    const struct ctt_report *r = p->r;
    size_t n = (size_t)r->stages;
    struct ctt_bar *bar = ctt_calloc(n, sizeof(*bar));
    double *room = ctt_calloc(n * (CTT_ACCURACIES + 3), sizeof(*room));
    const char **names = ctt_calloc(n, sizeof(*names));
    int rc = bar && room && names ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    ctt_page_section(f, "Stages", NULL);
    put_sizes(f, r, bar);
    put_accuracy(f, r, room, names);
    CTT_TRY(put_cells(f, r, "Size and speed", ctt_report_stage_cells));
    if (!isnan(r->stage[0].after.top1[0]))
        CTT_TRY(put_cells(f, r, "Validation clips; lost and won: whole clips "
                          "against the original, p by McNemar's test",
                          ctt_report_score_cells));
    CTT_TRY(put_cells(f, r, "Clips that chose nothing",
                      ctt_report_proof_cells));
    CTT_TRY(put_cells(f, r, "Choices before training",
                      ctt_report_choice_cells));
out:
    ctt_free(bar);
    ctt_free(room);
    ctt_free(names);
    return rc;
}

/* ---- weights ---- */

static int put_weights(FILE *f, const struct page *p)
{
    const struct ctt_report *r = p->r;
    int n = r->nstored < BARS ? r->nstored : BARS, rc;
    struct ctt_bar *bar = ctt_calloc((size_t)n + 1, sizeof(*bar));

    CTT_TRY(bar ? 0 : CTT_ENOMEM);
    ctt_page_section(f, "Weights", n < r->nstored ? "The first of them only."
                                                  : NULL);
    for (int k = 0; k < n; k++) {
        const struct ctt_stored *s = &r->stored[k];

        bar[k] = (struct ctt_bar){ s->name, (double)s->size, "" };
        snprintf(bar[k].label, sizeof(bar[k].label), "%lld bytes, %.0f%% "
                 "zeros, %.2f bits a weight", (long long)s->size,
                 100 - 100.0 * (double)s->kept / (double)s->params,
                 8.0 * (double)s->size / (double)s->params);
    }
    ctt_page_bars(f, "Bytes of each weight in the file", bar, n);
    CTT_TRY(put_cells(f, r, "Factors and errors", ctt_report_weight_cells));
    CTT_TRY(put_cells(f, r, "Bits per weight that is kept",
                      ctt_report_stored_cells));
    CTT_TRY(put_cells(f, r, "INT8: the worst convs", ctt_report_blame_cells));
out:
    ctt_free(bar);
    return rc;
}

static int print(FILE *f, const void *arg)
{
    const struct page *p = arg;
    char title[300];
    int rc;

    snprintf(title, sizeof(title), "Compression of %s", p->j->path);
    ctt_page_begin(f, title);
    put_facts(f, p);
    CTT_TRY(put_stages(f, p));
    CTT_TRY(put_weights(f, p));
    ctt_page_end(f);
out:
    return rc;
}

int ctt_compress_page(const struct ctt_compress_job *j,
                      const struct ctt_report *r)
{
    return j->c.report_html
           ? ctt_file_print(j->c.report_html, print,
                            &(struct page){ j, r }) : 0;
}
