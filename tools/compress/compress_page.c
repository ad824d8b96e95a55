/* SPDX-License-Identifier: Apache-2.0
 * compress_page.c: --report-html: the report of a compression as a page. */
#include "tools/compress/compress_tool.h"
#include "base/statistics/statistics.h"
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

    ctt_table_row(&t, "given\t%s, %" PRId64 " bytes",
                  ctt_tool_given(p->j->path), from->bytes);
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

static void put_sizes(FILE *f, const struct ctt_report *r, double *room,
                      const char *const *names)
{
    static const struct ctt_bars columns[] = {
        { "bytes of the file", "%.0f" }, { "times smaller", "%.1f" } };

    for (int k = 0; k < r->stages; k++) {
        room[2 * k] = (double)r->stage[k].bytes;
        room[2 * k + 1] = (double)r->stage[0].bytes / room[2 * k];
    }
    ctt_page_bars(f, "Size after each stage", names, r->stages, columns, 2,
                  room);
}

/* A number of each stage; NAN: not measured. */
struct points { double *bytes, *ms, *x, *top1[CTT_ACCURACIES], *low, *high; };

static void find_points(const struct ctt_report *r, const struct points *p)
{
    for (int i = 0; i < r->stages; i++) {
        const struct ctt_stage_row *s = &r->stage[i];
        double range[2];

        p->x[i] = i;
        p->bytes[i] = (double)s->bytes;
        p->ms[i] = s->busy ? NAN : s->ms;
        ctt_wilson(s->after.top1[2], s->after.clips, range);
        p->low[i] = r->several ? NAN : range[0];
        p->high[i] = r->several ? NAN : range[1];
        for (int k = 0; k < CTT_ACCURACIES; k++)
            p->top1[k][i] = s->after.top1[k];
    }
}

static void put_accuracy(FILE *f, const struct ctt_report *r,
                         const struct points *p, const char *const *names)
{
    static const char *const name[CTT_ACCURACIES] = {
        "25% of a clip seen", "50%", "100%; bars: 95% confidence",
    };
    struct ctt_series s[CTT_ACCURACIES];

    for (int k = 0; k < CTT_ACCURACIES; k++)
        s[k] = (struct ctt_series){ name[k], r->stages, p->x, p->top1[k], NULL,
                                    NULL };
    s[CTT_ACCURACIES - 1].low = p->low;
    s[CTT_ACCURACIES - 1].high = p->high;
    ctt_page_chart(f, &(struct ctt_chart){
        "Validation clips after each stage, retrained", "stage",
        ctt_report_score(r), s, CTT_ACCURACIES, 1, 0, 0, 1, names, r->stages });
}

/* The front: a dot for each stage. */
static int put_front(FILE *f, const struct ctt_report *r,
                     const struct points *p, const double *x, const char *of,
                     const char *title)
{
    struct ctt_series *s = ctt_calloc((size_t)r->stages, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < r->stages; i++)
        s[i] = (struct ctt_series){ r->stage[i].name, isfinite(x[i]), &x[i],
            &p->top1[CTT_ACCURACIES - 1][i], &p->low[i], &p->high[i], 1 };
    ctt_page_chart(f, &(struct ctt_chart){ title, of, ctt_report_score(r), s,
        r->stages, 1, 0, NAN, NAN, .log_x = 1 });
out:
    ctt_free(s);
    return rc;
}

static int put_figures(FILE *f, const struct ctt_report *r)
{
    size_t n = (size_t)r->stages;
    double *room = ctt_calloc(n, (CTT_ACCURACIES + 5) * sizeof(*room));
    const char **names = ctt_calloc(n, sizeof(*names));
    struct points p = { room, room + n, room + 2 * n,
        { room + 3 * n, room + 4 * n, room + 5 * n }, room + 6 * n,
        room + 7 * n };
    int rc = room && names ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int k = 0; k < r->stages; k++)
        names[k] = r->stage[k].name;
    put_sizes(f, r, room, names);
    find_points(r, &p);
    CTT_TRY(put_front(f, r, &p, p.bytes, "bytes of the file", "Whole clips "
                      "by size; bars: 95% confidence"));
    CTT_TRY(put_front(f, r, &p, p.ms, "ms a frame", "Whole clips by time of a "
                      "frame; bars: 95% confidence"));
    put_accuracy(f, r, &p, names);
out:
    ctt_free(room);
    ctt_free(names);
    return rc;
}

static int put_stages(FILE *f, const struct page *p)
{
    const struct ctt_report *r = p->r;
    int rc;

    ctt_page_section(f, "Stages", NULL);
    CTT_TRY(put_figures(f, r));
    CTT_TRY(put_cells(f, r, "Size and speed", ctt_report_stage_cells));
    if (!isnan(r->stage[0].after.top1[0]))
        CTT_TRY(put_cells(f, r, "Before and after on the same validation "
                          "clips; lost and won: whole clips against the "
                          "original, p by McNemar's test",
                          ctt_report_score_cells));
    CTT_TRY(put_cells(f, r, "Clips that chose nothing",
                      ctt_report_proof_cells));
    CTT_TRY(put_cells(f, r, "Choices before training",
                      ctt_report_choice_cells));
out:
    return rc;
}

/* ---- weights ---- */

static double error_of(const struct ctt_report *r, const char *name)
{
    for (int i = 0; i < r->weights; i++)
        if (ctt_row_has(&r->weight[i], name, ".w"))
            return r->weight[i].cores > 1 ? 100 * r->weight[i].error : NAN;
    return NAN;
}

static int put_weights(FILE *f, const struct page *p)
{
    static const struct ctt_bars columns[] = {
        { "bytes in the file", "%.0f" }, { "bits a weight", "%.2f" },
        { "zeros", "%.0f%%" }, { "error of the factors", "%.1f%%" } };
    enum { COLUMNS = CTT_LEN(columns) };
    const struct ctt_report *r = p->r;
    int n = r->nstored < BARS ? r->nstored : BARS, rc;
    const char **names = ctt_calloc((size_t)n + 1, sizeof(*names));
    double *value = ctt_calloc((size_t)n + 1, COLUMNS * sizeof(*value));

    CTT_TRY(names && value ? 0 : CTT_ENOMEM);
    ctt_page_section(f, "Weights", n < r->nstored ? "The first of them only."
                                                  : NULL);
    for (int k = 0; k < n; k++) {
        const struct ctt_stored *s = &r->stored[k];
        double *v = value + k * COLUMNS;

        names[k] = s->name;
        v[0] = (double)s->size;
        v[1] = 8.0 * (double)s->size / (double)s->params;
        v[2] = 100 - 100.0 * (double)s->kept / (double)s->params;
        v[3] = error_of(r, s->name);
    }
    ctt_page_bars(f, "Each weight in the file", names, n, columns, COLUMNS,
                  value);
    CTT_TRY(put_cells(f, r, "Factors and errors", ctt_report_weight_cells));
    CTT_TRY(put_cells(f, r, "Codebooks: bits per weight that is kept",
                      ctt_report_stored_cells));
    CTT_TRY(put_cells(f, r, "INT8: the worst convs", ctt_report_blame_cells));
out:
    ctt_free(names);
    ctt_free(value);
    return rc;
}

static int print_compression(FILE *f, const void *arg)
{
    const struct page *p = arg;
    char title[300];
    int rc;

    snprintf(title, sizeof(title), "Compression of %s",
             ctt_tool_given(p->j->path));
    ctt_page_begin(f, title);
    put_facts(f, p);
    CTT_TRY(put_stages(f, p));
    CTT_TRY(put_weights(f, p));
    ctt_page_end(f);
out:
    return rc;
}

void ctt_compress_page(const struct ctt_compress_job *j,
                       const struct ctt_report *r)
{
    ctt_page_write(j->c.report_html, print_compression, &(struct page){ j, r });
}
