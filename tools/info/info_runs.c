/* SPDX-License-Identifier: Apache-2.0
 * info_runs.c: convtt-info --report: logs of trainings (--log-json) beside each
 * other, as a table and as a page. */
#include "tools/info/info_tool.h"
#include "base/json.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "tools/report/page.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* RUNS: logs; EPOCHS: kept of each, of longer logs each 2nd, 4th ..; LINE:
 * bytes of a line; SETTINGS: shown. */
enum { RUNS = 16, EPOCHS = 4096, LINE = 1 << 16, SETTINGS = 40, NAME = 80 };

/* Columns of a log that are read; prediction and recognition have not the
 * same. */
enum { EPOCH, LOSS, VAL_LOSS, TOP1, VAL_TOP1, LOW, HIGH, VAL_MSE, LR, WAIT,
       BEST, SECONDS, COLUMNS };
static const char *const columns[COLUMNS] = { "epoch", "loss", "val_loss",
    "top1", "val_top1", "val_top1_low", "val_top1_high", "val_mse", "lr",
    "wait", "best", "seconds" };

struct run {
    const char *path;
    char        name[NAME];
    char       *settings;        /* " name=value" each, or NULL: no first row
                                    of this version */
    double     *at[COLUMNS];     /* [EPOCHS] */
    double      last[COLUMNS], best[COLUMNS];
    int64_t     epochs, bad;     /* rows; other lines */
    int         n, each;         /* kept; one of so many */
};

/* ---- reading ---- */

/* Each second one stays. */
static void thin_out(struct run *r)
{
    for (int k = 0; k < COLUMNS; k++)
        for (int i = 0; i < EPOCHS / 2; i++)
            r->at[k][i] = r->at[k][2 * i];
    r->n = EPOCHS / 2;
    r->each *= 2;
}

static void add_row(struct run *r)
{
    if (r->n == EPOCHS)
        thin_out(r);
    if (r->epochs++ % r->each == 0) {
        for (int k = 0; k < COLUMNS; k++)
            r->at[k][r->n] = r->last[k];
        r->n++;
    }
    if (r->last[BEST] > 0)
        memcpy(r->best, r->last, sizeof(r->best));
}

/* A line of another kind, of another version or cut off is counted. */
static int take_line(struct run *r, int64_t number, const char *line)
{
    struct ctt_value *v = NULL;
    const char *settings;
    int rc = ctt_json_parse(r->path, (int)number, line, &v);

    CTT_TRY(rc == CTT_EFORMAT ? 0 : rc);
    for (int k = 0; k < COLUMNS; k++)
        if (!ctt_json_real(ctt_json_get(v, columns[k]), NAN, &r->last[k]))
            r->last[k] = NAN;
    if (!isfinite(r->last[EPOCH])) {
        r->bad++;
        goto out;
    }
    add_row(r);
    settings = ctt_json_text(ctt_json_get(v, "settings"));
    if (settings && !r->settings) {
        r->settings = ctt_strdup(settings);
        CTT_TRY(r->settings ? 0 : CTT_ENOMEM);
    }
out:
    ctt_json_free(&v);
    return rc < 0 ? rc : 0;
}

/* The last row is one of those that are kept. */
static void keep_last(struct run *r)
{
    for (int k = 0; k < COLUMNS && r->n; k++)
        r->at[k][r->n - 1] = r->last[k];
}

/* Takes the lines of f; one that is longer than LINE is two bad ones. */
static int take_lines(struct run *r, FILE *f, char *line)
{
    double last[COLUMNS];
    int64_t number = 0, rows;
    int rc = 0;

    while (fgets(line, LINE, f)) {
        rows = r->epochs;
        memcpy(last, r->last, sizeof(last));
        CTT_TRY(take_line(r, ++number, line));
        if (r->epochs == rows)
            memcpy(r->last, last, sizeof(last));
    }
    CTT_CHECK(!ferror(f), CTT_EIO, "%s: %s", r->path, strerror(errno));
    CTT_CHECK(r->n, CTT_EFORMAT, "%s: has no row of a training: --report takes "
              "what convtt-train --log-json wrote", r->path);
    keep_last(r);
out:
    return rc;
}

static int read_run(struct run *r, const char *path)
{
    const char *base = strrchr(path, '/');
    char *line = ctt_calloc(LINE, 1);
    double *room = ctt_calloc(EPOCHS, COLUMNS * sizeof(*room));
    FILE *f = NULL;
    int64_t size;
    int rc, fd;

    *r = (struct run){ .path = path, .each = 1 };
    r->at[0] = room;
    CTT_TRY(line && room ? 0 : CTT_ENOMEM);
    for (int k = 0; k < COLUMNS; k++) {
        r->at[k] = room + (size_t)k * EPOCHS;
        r->last[k] = r->best[k] = NAN;
    }
    ctt_visible(base && base[1] ? base + 1 : path, 0, r->name, NAME);
    CTT_TRY(ctt_file_open(path, &fd, &size));
    f = fdopen(fd, "r");
    if (!f)
        close(fd);
    CTT_CHECK(f, CTT_ENOMEM, "%s: out of memory", path);
    CTT_TRY(take_lines(r, f, line));
    if (r->bad)
        ctt_tool_warn("%s: %lld lines are no rows of a training, or were cut",
                      path, (long long)r->bad);
out:
    if (f)
        fclose(f);
    ctt_free(line);
    return rc;
}

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

static void add_scores(struct ctt_table *t, const struct run *r)
{
    const double *best = isfinite(r->best[EPOCH]) ? r->best : r->last;
    char text[8][CTT_PAGE_NUMBER], range[2 * CTT_PAGE_NUMBER + 4] = "";

    if (isfinite(best[LOW]) && isfinite(best[HIGH]))
        snprintf(range, sizeof(range), " (%.1f-%.1f)", 100 * best[LOW],
                 100 * best[HIGH]);
    ctt_table_row(t, "%s\t%s\t%s\t%s%s\t%s\t%s\t%s\t%s\t%s", r->name,
                  whole(r->last[EPOCH], text[0]), whole(best[EPOCH], text[1]),
                  cell(best[VAL_TOP1], 1, text[2]), range,
                  cell(r->last[VAL_TOP1], 1, text[3]),
                  cell(best[VAL_LOSS], 0, text[4]),
                  cell(best[VAL_MSE], 0, text[5]),
                  cell(r->last[LOSS], 0, text[6]),
                  whole(r->last[SECONDS], text[7]));
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

static int differs(const struct run *r, int n, const char *name, size_t size)
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

static void add_setting(struct ctt_table *t, const struct run *r, int n,
                        const char *name, size_t size)
{
    char line[RUNS * (NAME + 2)];
    size_t used = (size_t)snprintf(line, sizeof(line), "%.*s", (int)size, name);

    for (int i = 0; i < n && used < sizeof(line); i++) {
        size_t is = 0;
        const char *v = setting(r[i].settings, name, size, &is);

        used += (size_t)snprintf(line + used, sizeof(line) - used, "\t%.*s",
                                 v ? (int)(is < NAME ? is : NAME) : 1,
                                 v ? v : "-");
    }
    ctt_table_row(t, "%s", line);
}

/* Settings that some runs have and others not, or with another value; -: the
 * default, or a log that does not say. */
static void add_settings(struct ctt_table *t, const struct run *r, int n)
{
    char head[RUNS * (NAME + 2)] = "setting";

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

struct page { const struct run *r; int n; const struct ctt_table *scores,
              *settings; };

/* A curve a run. */
static void put_runs(FILE *f, const struct page *p, int column,
                       struct ctt_chart chart)
{
    struct ctt_series s[RUNS];

    for (int i = 0; i < p->n; i++) {
        const struct run *r = &p->r[i];

        s[i] = (struct ctt_series){ r->name, r->n, r->at[EPOCH], r->at[column],
            column == VAL_TOP1 ? r->at[LOW] : NULL,
            column == VAL_TOP1 ? r->at[HIGH] : NULL };
    }
    chart.x = "epoch";
    chart.of = s;
    chart.series = p->n;
    ctt_page_chart(f, &chart);
}

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
    put_runs(f, p, VAL_TOP1, (struct ctt_chart){ .title = "Right answers, "
        "validation; bars: 95% confidence", .y = "top-1", .percent = 1,
        .low = 0, .high = 1 });
    put_runs(f, p, TOP1, (struct ctt_chart){ .title = "Right answers, "
        "training", .y = "top-1", .percent = 1, .low = 0, .high = 1 });
    put_runs(f, p, VAL_LOSS, (struct ctt_chart){ .title = "Loss, validation",
        .y = "loss", .low = NAN, .high = NAN });
    put_runs(f, p, LOSS, (struct ctt_chart){ .title = "Loss, training",
        .y = "loss", .low = NAN, .high = NAN });
    put_runs(f, p, VAL_MSE, (struct ctt_chart){ .title = "Error of predicted "
        "frames, validation", .y = "MSE", .low = NAN, .high = NAN });
    put_runs(f, p, LR, (struct ctt_chart){ .title = "Learning rate",
        .y = "learning rate", .low = 0, .high = NAN });
    put_runs(f, p, WAIT, (struct ctt_chart){ .title = "Time spent waiting "
        "for clips", .y = "share of the time", .percent = 1, .low = 0,
        .high = 1 });
    ctt_page_end(f);
    return 0;
}

int ctt_info_runs(const struct ctt_info_cfg *cfg, char **path, int count)
{
    struct ctt_table scores = { NULL }, settings = { NULL };
    struct run *r = ctt_calloc(RUNS, sizeof(*r));
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
    for (int i = 0; r && i < count && i < RUNS; i++) {
        ctt_free(r[i].at[0]);
        ctt_free(r[i].settings);
    }
    ctt_free(r);
    ctt_table_free(&scores);
    ctt_table_free(&settings);
    return rc;
}
