/* SPDX-License-Identifier: Apache-2.0
 * info_runs.c: convtt-info --report: logs of trainings (--log-json) beside each
 * other, as a table and as a page. */
#include "tools/info/info_tool.h"
#include "tools/report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* RUNS: logs; SETTINGS: shown. */
enum { RUNS = 16, SETTINGS = 40 };

/* ---- tables ---- */

static const char *cell(double v, int percent, char text[CTT_PAGE_NUMBER])
{
    if (!isfinite(v))
        return "-";
    if (percent)
        snprintf(text, CTT_PAGE_NUMBER, "%.1f%%", 100 * v);
    else
        ctt_page_number(v, 0, text);
    return text;
}

/* An epoch, or seconds. */
static const char *whole(double v, char text[CTT_PAGE_NUMBER])
{
    if (!isfinite(v))
        return "-";
    snprintf(text, CTT_PAGE_NUMBER, "%.0f", v);
    return text;
}

static void add_scores(struct ctt_table *t, const struct ctt_run_log *r)
{
    const double *best = isfinite(r->best[CTT_RUN_EPOCH]) ? r->best : r->last;
    char text[8][CTT_PAGE_NUMBER], range[2 * CTT_PAGE_NUMBER + 4] = "";

    if (isfinite(best[CTT_RUN_LOW]) && isfinite(best[CTT_RUN_HIGH]))
        snprintf(range, sizeof(range), " (%.1f-%.1f)", 100 * best[CTT_RUN_LOW],
                 100 * best[CTT_RUN_HIGH]);
    ctt_table_row(t, "%s\t%s\t%s\t%s%s\t%s\t%s\t%s\t%s\t%s", r->name,
                  whole(r->last[CTT_RUN_EPOCH], text[0]),
                  whole(best[CTT_RUN_EPOCH], text[1]),
                  cell(best[CTT_RUN_VAL_TOP1], 1, text[2]), range,
                  cell(r->last[CTT_RUN_VAL_TOP1], 1, text[3]),
                  cell(best[CTT_RUN_VAL_LOSS], 0, text[4]),
                  cell(best[CTT_RUN_VAL_MSE], 0, text[5]),
                  cell(r->last[CTT_RUN_LOSS], 0, text[6]),
                  whole(r->last[CTT_RUN_SECONDS], text[7]));
}

/* The value of a setting in " name=value ..", which reaches to the next " ",
 * n bytes long; NULL: it is not there. */
static const char *setting(const char *text, const char *name, size_t n,
                           size_t *size)
{
    for (const char *s = text; s && (s = strchr(s, ' ')) != NULL; ) {
        s++;
        if (strncmp(s, name, n) == 0 && s[n] == '=') {
            *size = strcspn(s + n + 1, " ");
            return s + n + 1;
        }
    }
    return NULL;
}

static int differs(const struct ctt_run_log *r, int n, const char *name,
                   size_t size)
{
    size_t was = 0, is = 0;
    const char *first = setting(r[0].settings, name, size, &was);

    for (int i = 1; i < n; i++) {
        const char *v = setting(r[i].settings, name, size, &is);

        if (!v != !first || (v && (is != was || memcmp(v, first, is) != 0)))
            return 1;
    }
    return 0;
}

static void add_setting(struct ctt_table *t, const struct ctt_run_log *r, int n,
                        const char *name, size_t size)
{
    char line[RUNS * (CTT_RUN_NAME + 2)];
    size_t used = (size_t)snprintf(line, sizeof(line), "%.*s", (int)size, name);

    for (int i = 0; i < n && used < sizeof(line); i++) {
        size_t is = 0;
        const char *v = setting(r[i].settings, name, size, &is);

        used += (size_t)snprintf(line + used, sizeof(line) - used, "\t%.*s",
                                 v ? (int)(is < CTT_RUN_NAME ? is
                                                             : CTT_RUN_NAME)
                                   : 1,
                                 v ? v : "-");
    }
    ctt_table_row(t, "%s", line);
}

/* Settings that some runs have and others not, or with another value; -: the
 * default, or a log that does not say. */
static void add_settings(struct ctt_table *t, const struct ctt_run_log *r,
                         int n)
{
    char head[RUNS * (CTT_RUN_NAME + 2)] = "setting";

    for (int i = 0; i < n; i++)
        snprintf(head + strlen(head), sizeof(head) - strlen(head), "\t%s",
                 r[i].name);
    ctt_table_row(t, "%s", head);
    for (int i = 0; i < n; i++)
        for (const char *s = r[i].settings; s && (s = strchr(s, ' ')); ) {
            size_t size = strcspn(++s, "="), other = 0;
            int seen = 0;

            for (int k = 0; k < i; k++)
                seen |= setting(r[k].settings, s, size, &other) != NULL;
            if (!seen && t->rows <= SETTINGS && differs(r, n, s, size))
                add_setting(t, r, n, s, size);
        }
}

/* ---- the page ---- */

struct page {
    const struct ctt_run_log *r;
    int                       n;
    const struct ctt_table   *scores, *settings;
};

/* A curve a run. */
static void put_runs(FILE *f, const struct page *p, int column,
                       struct ctt_chart chart)
{
    struct ctt_series s[RUNS];

    for (int i = 0; i < p->n; i++) {
        const struct ctt_run_log *r = &p->r[i];

        s[i] = (struct ctt_series){ r->name, r->n, r->at[CTT_RUN_EPOCH],
            r->at[column],
            column == CTT_RUN_VAL_TOP1 ? r->at[CTT_RUN_LOW] : NULL,
            column == CTT_RUN_VAL_TOP1 ? r->at[CTT_RUN_HIGH] : NULL };
    }
    chart.x = "epoch";
    chart.of = s;
    chart.series = p->n;
    ctt_page_chart(f, &chart);
}

#define SHARE(title_, y_) { .title = title_, .y = y_, .percent = 1, .low = 0, \
                            .high = 1 }
#define NUMBER(title_, y_) { .title = title_, .y = y_, .low = NAN, .high = NAN }
static const struct { int column; struct ctt_chart chart; } charts[] = {
    { CTT_RUN_VAL_TOP1,
      SHARE("Right answers, validation; bars: 95% confidence", "top-1") },
    { CTT_RUN_TOP1, SHARE("Right answers, training", "top-1") },
    { CTT_RUN_VAL_LOSS, NUMBER("Loss, validation", "loss") },
    { CTT_RUN_LOSS, NUMBER("Loss, training", "loss") },
    { CTT_RUN_VAL_MSE, NUMBER("Error of predicted frames, validation", "MSE") },
    { CTT_RUN_LR, { .title = "Learning rate", .y = "learning rate", .low = 0,
                    .high = NAN } },
    { CTT_RUN_WAIT, SHARE("Time spent waiting for clips",
                          "share of the time") },
};

static int print_runs(FILE *f, const void *arg)
{
    const struct page *p = arg;

    ctt_page_begin(f, p->n == 1 ? "A training" : "Trainings beside each other");
    ctt_page_table(f, "Scores on validation clips: at the best epoch and at "
                   "the last", p->scores);
    if (p->settings->rows > 1)
        ctt_page_table(f, "Settings that differ (-: the default, or a log that "
                       "does not say)", p->settings);
    ctt_page_section(f, "Learning", NULL);
    for (size_t i = 0; i < CTT_LEN(charts); i++)
        put_runs(f, p, charts[i].column, charts[i].chart);
    ctt_page_end(f);
    return 0;
}

static int read_run(struct ctt_run_log *r, const char *path)
{
    int rc;

    CTT_TRY(ctt_run_log_read(r, path));
    CTT_CHECK(r->n, CTT_EFORMAT, "%s: has no row of a training: --report takes "
              "what convtt-train --log-json wrote", path);
    if (r->bad)
        ctt_tool_warn("%s: %lld lines are no rows of a training, or were cut",
                      path, (long long)r->bad);
out:
    return rc;
}

int ctt_info_runs(const struct ctt_info_cfg *cfg, char **path, int count)
{
    struct ctt_table scores = { NULL }, settings = { NULL };
    struct ctt_run_log *r = ctt_calloc(RUNS, sizeof(*r));
    int rc = r ? 0 : CTT_ENOMEM, n = 0;

    CTT_TRY(rc);
    CTT_CHECK(count <= RUNS, CTT_EINVAL, "--report takes %d logs at most",
              RUNS);
    for (int i = 0; i < count; i++)
        CTT_TRY(ctt_tool_spares(&cfg->report_html, 1, path[i]));
    CTT_TRY(ctt_output_check(cfg->report_html, &ctt_output_page));
    for (; n < count; n++)
        CTT_TRY(read_run(&r[n], path[n]));
    ctt_table_row(&scores, "run\tepochs\tbest epoch\ttop-1 there\tat the last\t"
                  "loss there\tMSE there\ttraining loss\tseconds");
    for (int i = 0; i < n; i++)
        add_scores(&scores, &r[i]);
    add_settings(&settings, r, n);
    CTT_TRY(scores.rc);
    CTT_TRY(settings.rc);
    ctt_page_write(cfg->report_html, print_runs,
                   &(struct page){ r, n, &scores, &settings });
    CTT_TRY(ctt_table_print(&scores));
    if (settings.rows > 1) {
        printf("\n");
        CTT_TRY(ctt_table_print(&settings));
    }
out:
    for (int i = 0; r && i < count && i < RUNS; i++)
        ctt_run_log_free(&r[i]);
    ctt_free(r);
    ctt_table_free(&scores);
    ctt_table_free(&settings);
    return rc;
}
