/* SPDX-License-Identifier: Apache-2.0
 * report_text.c: a report as rows of text and as JSON. */
#include "compress/report.h"
#include "net/newfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- as text ---- */

static const char *percent3(const double a[CTT_ACCURACIES], char *s,
                            size_t size)
{
    if (isnan(a[0]))
        return "-";
    snprintf(s, size, "%.1f/%.1f/%.1f", 100 * a[0], 100 * a[1], 100 * a[2]);
    return s;
}

int ctt_report_stage_cells(const struct ctt_report *r, int row, char *text,
                           size_t size)
{
    const struct ctt_stage_row *s = r->stage + (row ? row - 1 : 0);
    char before[48], after[48], prunable[24] = "-";
    char ram[24] = "-", ms[24] = "-", faster[24] = "-";

    if (row > r->stages)
        return 0;
    if (row == 0) {
        snprintf(text, size, "stage\tbytes\tsmaller\tparameters\tpruned %%\t"
                 "prunable %%\tmult/frame\tnot pruned\tRAM kB\tms/frame\tfaster\t"
                 "before retraining\ttop-1 %%");
        return 1;
    }
    if (s->ram)
        snprintf(ram, sizeof(ram), "%.0f", (double)s->ram / 1000);
    if (!isnan(s->faster))
        snprintf(faster, sizeof(faster), "%.2fx", s->faster);
    if (!isnan(s->ms))
        snprintf(ms, sizeof(ms), "%.3f", s->ms);
    if (!isnan(s->prunable))
        snprintf(prunable, sizeof(prunable), "%.1f", 100 * s->prunable);
    snprintf(text, size, "%s\t%" PRId64 "\t%.1fx\t%" PRId64 "\t%.1f\t%s\t%"
             PRId64 "\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s", s->name, s->bytes,
             (double)r->stage[0].bytes / (double)s->bytes, s->params,
             100 * s->pruned, prunable, s->macs, s->live_macs, ram, ms, faster,
             percent3(s->before, before, sizeof(before)),
             percent3(s->after, after, sizeof(after)));
    return 1;
}

static void shape_text(const struct ctt_weight_row *w, char *s, size_t size)
{
    size_t n = (size_t)snprintf(s, size, "%d", w->shape[0]);

    for (int k = 1; k < 5 && n < size; k++)
        if (k == 4 || w->shape[k] > 1)
            n += (size_t)snprintf(s + n, size - n, "x%d", w->shape[k]);
}

static void rank_text(const struct ctt_weight_row *w, const char *between,
                      char *s, size_t size)
{
    size_t n = 0;

    s[0] = '\0';
    for (int k = 0; k < w->cores - 1 && n < size; k++)
        n += (size_t)snprintf(s + n, size - n, "%s%d", k ? between : "",
                              w->rank[k]);
}

int ctt_report_weight_cells(const struct ctt_report *r, int row, char *text,
                            size_t size)
{
    const struct ctt_weight_row *w = r->weight + (row ? row - 1 : 0);
    char shape[64], rank[64], error[24] = "-";

    if (row > r->weights)
        return 0;
    if (row == 0) {
        snprintf(text, size, "weight\tshape\tcores\tranks\terror\tparameters\t"
                 "after\tkept\tmult\tafter\tbytes\tstored as\tnote");
        return 1;
    }
    shape_text(w, shape, sizeof(shape));
    rank_text(w, ",", rank, sizeof(rank));
    if (w->cores > 1)
        snprintf(error, sizeof(error), "%.4f", w->error);
    snprintf(text, size, "%s\t%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64 "\t%"
             PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%s", w->name,
             shape, w->cores > 1 ? w->chain : "-", w->cores > 1 ? rank : "-",
             error, w->params, w->params_after, w->kept, w->macs,
             w->macs_after, w->size, w->encoding, w->reason);
    return 1;
}

/* ---- as JSON; names have no characters that need quoting ---- */

static void json_number(FILE *f, const char *name, double x)
{
    if (isnan(x))
        fprintf(f, ", \"%s\": null", name);
    else
        fprintf(f, ", \"%s\": %.9g", name, x);
}

static void json_three(FILE *f, const char *name,
                       const double a[CTT_ACCURACIES])
{
    if (isnan(a[0]))
        fprintf(f, ", \"%s\": null", name);
    else
        fprintf(f, ", \"%s\": [%.6g, %.6g, %.6g]", name, a[0], a[1], a[2]);
}

static void json_stage(FILE *f, const struct ctt_stage_row *s)
{
    fprintf(f, "{\"stage\": \"%s\", \"bytes\": %" PRId64
            ", \"parameters\": %" PRId64 ", \"multiplications_a_frame\": %"
            PRId64 ", \"multiplications_not_pruned\": %" PRId64
            ", \"multiplications_an_answer\": %" PRId64, s->name, s->bytes,
            s->params, s->macs, s->live_macs, s->clip_macs);
    json_number(f, "pruned", s->pruned);
    json_number(f, "pruned_of_prunable", s->prunable);
    json_three(f, "top1_before_retraining", s->before);
    json_three(f, "top1", s->after);
    fprintf(f, ", \"ram_bytes\": %" PRId64, s->ram);
    json_number(f, "ms_a_frame", s->ms);
    json_number(f, "faster", s->faster);
    fprintf(f, "}");
}

static void json_weight(FILE *f, const struct ctt_weight_row *w)
{
    char rank[64];

    rank_text(w, ", ", rank, sizeof(rank));
    fprintf(f, "{\"weight\": \"%s\", \"shape\": [%d, %d, %d, %d, %d], "
            "\"cores\": %d, \"chain\": \"%s\", \"ranks\": [%s]", w->name,
            w->shape[0], w->shape[1], w->shape[2], w->shape[3], w->shape[4],
            w->cores, w->chain, rank);
    json_number(f, "error", w->error);
    fprintf(f, ", \"parameters\": %" PRId64 ", \"parameters_after\": %" PRId64
            ", \"multiplications\": %" PRId64
            ", \"multiplications_after\": %" PRId64 ", \"kept\": %" PRId64
            ", \"bytes\": %" PRId64, w->params, w->params_after, w->macs,
            w->macs_after, w->kept, w->size);
    fprintf(f, ", \"stored_as\": \"%s\", \"note\": \"%s\"}", w->encoding,
            w->reason);
}

static void json_stored(FILE *f, const struct ctt_stored *s)
{
    fprintf(f, "{\"name\": \"%s\", \"positions\": \"%s\", \"values\": \"%s\", "
            "\"coding\": \"%s\", \"parameters\": %" PRId64 ", \"kept\": %"
            PRId64 ", \"bytes\": %" PRId64 "}", s->name, s->positions,
            s->values, s->bytes, s->params, s->kept, s->size);
}

static int json_all(FILE *f, const void *report)
{
    const struct ctt_report *r = report;

    fprintf(f, CTT_REPORT_BEGIN " [0.25, 0.5, 1],\n \"stages\": [");
    for (int i = 0; i < r->stages; i++) {
        fprintf(f, "%s\n  ", i ? "," : "");
        json_stage(f, &r->stage[i]);
    }
    fprintf(f, "],\n \"weights\": [");
    for (int i = 0; i < r->weights; i++) {
        fprintf(f, "%s\n  ", i ? "," : "");
        json_weight(f, &r->weight[i]);
    }
    fprintf(f, "],\n \"stored\": [");
    for (int i = 0; i < r->nstored; i++) {
        fprintf(f, "%s\n  ", i ? "," : "");
        json_stored(f, &r->stored[i]);
    }
    fprintf(f, "]}\n");
    return 0;
}

int ctt_report_json(const struct ctt_report *r, const char *path)
{
    return ctt_file_print(path, json_all, r);
}
