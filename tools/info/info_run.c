/* SPDX-License-Identifier: Apache-2.0
 * info_run.c: reads the log of a training (--log-json). */
#include "tools/info/info_tool.h"
#include "base/json.h"
#include "base/newfile.h"
#include "base/visible.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 1 << 16 };    /* bytes of a line */

static const char *const columns[CTT_RUN_COLUMNS] = { "epoch", "loss",
    "val_loss", "top1", "val_top1", "val_top1_low", "val_top1_high", "val_mse",
    "lr", "wait", "best", "seconds" };

/* Each second one stays. */
static void thin_out(struct ctt_run_log *r)
{
    for (int k = 0; k < CTT_RUN_COLUMNS; k++)
        for (int i = 0; i < CTT_RUN_EPOCHS / 2; i++)
            r->at[k][i] = r->at[k][2 * i];
    r->n = CTT_RUN_EPOCHS / 2;
    r->each *= 2;
}

static void add_row(struct ctt_run_log *r)
{
    if (r->n == CTT_RUN_EPOCHS)
        thin_out(r);
    if (r->epochs++ % r->each == 0) {
        for (int k = 0; k < CTT_RUN_COLUMNS; k++)
            r->at[k][r->n] = r->last[k];
        r->n++;
    }
    if (r->last[CTT_RUN_BEST] > 0)
        memcpy(r->best, r->last, sizeof(r->best));
}

/* A line of another kind, of another version or cut off is counted. */
static int take_line(struct ctt_run_log *r, int64_t number, const char *line)
{
    struct ctt_value *v = NULL;
    const char *settings;
    int rc = ctt_json_parse(r->path, (int)number, line, &v);

    CTT_TRY(rc == CTT_EFORMAT ? 0 : rc);
    for (int k = 0; k < CTT_RUN_COLUMNS; k++)
        if (!ctt_json_real(ctt_json_get(v, columns[k]), NAN, &r->last[k]))
            r->last[k] = NAN;
    if (!isfinite(r->last[CTT_RUN_EPOCH])) {
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
static void keep_last(struct ctt_run_log *r)
{
    for (int k = 0; k < CTT_RUN_COLUMNS && r->n; k++)
        r->at[k][r->n - 1] = r->last[k];
}

/* Takes the lines of f; one that is longer than LINE is two bad ones. */
static int take_lines(struct ctt_run_log *r, FILE *f, char *line)
{
    double last[CTT_RUN_COLUMNS];
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
    keep_last(r);
out:
    return rc;
}

int ctt_run_log_read(struct ctt_run_log *r, const char *path)
{
    const char *base = strrchr(path, '/');
    char *line = ctt_calloc(LINE, 1);
    double *room = ctt_calloc(CTT_RUN_EPOCHS, CTT_RUN_COLUMNS * sizeof(*room));
    FILE *f = NULL;
    int64_t size;
    int rc, fd;

    *r = (struct ctt_run_log){ .path = path, .each = 1 };
    r->at[0] = room;
    CTT_TRY(line && room ? 0 : CTT_ENOMEM);
    for (int k = 0; k < CTT_RUN_COLUMNS; k++) {
        r->at[k] = room + (size_t)k * CTT_RUN_EPOCHS;
        r->last[k] = r->best[k] = NAN;
    }
    ctt_visible(base && base[1] ? base + 1 : path, 0, r->name, CTT_RUN_NAME);
    CTT_TRY(ctt_file_open(path, &fd, &size));
    f = fdopen(fd, "r");
    if (!f)
        close(fd);
    CTT_CHECK(f, CTT_ENOMEM, "%s: out of memory", path);
    CTT_TRY(take_lines(r, f, line));
out:
    if (f)
        fclose(f);
    ctt_free(line);
    return rc;
}

void ctt_run_log_free(struct ctt_run_log *r)
{
    ctt_free(r->at[0]);
    ctt_free(r->settings);
}
