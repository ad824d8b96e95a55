/* SPDX-License-Identifier: Apache-2.0
 * values.c: the numbers of a checkpoint: lines name=value, the array "values"
 * of the training state. */
#include "libtrain/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Version 4 had two arrays without names, "place" of integers and "sums" of
 * doubles, each in the order of the table below. */
enum { VERSION = 5, UNNAMED = 4, PLACE = 14, SUMS = 13 };

enum { LINE = 64,    /* bytes for any line of the table: name=value\n */
       FIRST = PLACE + SUMS,    /* rows that all checkpoints have */
       ALWAYS = FIRST + 5,      /* those that are always written */
       ROWS = ALWAYS + 2 };

/* ---- the table ---- */

static int is_any(double x) { (void)x; return 1; }
/* No run counts further than 2^53, so a step more never overflows. */
static int is_count(double x) { return x >= 0 && x <= 0x1p53; }
static int is_epoch(double x) { return x >= 0 && x < INT_MAX; }
static int is_best(double x) { return x == CTT_BEST_GIVEN || is_epoch(x); }
static int is_step_or_none(double x) { return x == -1 || is_count(x); }
static int is_number(double x) { return !isnan(x); }
static int is_share(double x) { return x >= 0 && x <= 1; }
static int is_scale(double x) { return x >= 1 && isfinite(x); }

/* at: offset of an int64_t or a double in struct ctt_checkpoint_values.  legal:
 * whether a number is valid in any run. */
struct row {
    const char *name;
    int         is_double;
    size_t      at;
    int       (*legal)(double x);
};

#define INTEGER(name, field, legal) \
    { name, 0, offsetof(struct ctt_checkpoint_values, field), legal }
#define DOUBLE(name, field, legal) \
    { name, 1, offsetof(struct ctt_checkpoint_values, field), legal }

/* The order is that of version 4: append new rows, and define their values for
 * older checkpoints in complete(). */
static const struct row rows[ROWS] = {
    INTEGER("version", version, is_any),
    INTEGER("step", at.step, is_count),
    INTEGER("epoch", at.epoch, is_epoch),
    INTEGER("batch", at.batch, is_count),
    INTEGER("best-epoch", at.best_epoch, is_best),
    INTEGER("updates", updates, is_count),
    INTEGER("clips", clips, is_any),
    INTEGER("weights", weights, is_any),
    INTEGER("sampling-start", at.sampling.start, is_step_or_none),
    INTEGER("sampling-stalled", at.sampling.stalled, is_count),
    INTEGER("sampling-falls", at.sampling.falls, is_step_or_none),
    INTEGER("loss-scale-clean", at.scale.clean, is_count),
    INTEGER("loss-scale-skips", at.scale.skips, is_count),
    INTEGER("loss-scale-skipped", at.scale.skipped, is_count),
    DOUBLE("sum-loss", at.sums.loss, is_any),
    DOUBLE("sum-weight", at.sums.weight, is_any),
    DOUBLE("sum-right", at.sums.right, is_any),
    DOUBLE("sum-clips", at.sums.clips, is_any),
    DOUBLE("best-loss", at.val.loss, is_any),
    DOUBLE("best-top1", at.val.top1, is_any),
    DOUBLE("best-top5", at.val.top5, is_any),
    DOUBLE("best-mse", at.val.mse, is_any),
    DOUBLE("best-psnr", at.val.psnr, is_any),
    DOUBLE("best-ssim", at.val.ssim, is_any),
    DOUBLE("best-ssim2", at.val.ssim2, is_any),
    DOUBLE("sampling-best", at.sampling.best, is_number),
    DOUBLE("loss-scale", at.scale.scale, is_scale),
    DOUBLE("best-mean-top1", at.val.mean_top1, is_any),
    DOUBLE("best-mean-loss", at.val.mean_loss, is_any),
    DOUBLE("time-used", at.used, is_share),
    DOUBLE("sum-ahead", at.sums.ahead, is_any),
    DOUBLE("sum-values", at.sums.values, is_any),
    DOUBLE("best-map", at.val.map, is_share),
    DOUBLE("best-mean-map", at.val.mean_map, is_share),
};

static int64_t get_integer(const struct ctt_checkpoint_values *v,
                           const struct row *r)
{
    int64_t x;

    memcpy(&x, (const char *)v + r->at, sizeof(x));
    return x;
}

static double get_double(const struct ctt_checkpoint_values *v,
                         const struct row *r)
{
    double x;

    memcpy(&x, (const char *)v + r->at, sizeof(x));
    return x;
}

static void set_value(struct ctt_checkpoint_values *v, const struct row *r,
                      const void *x)
{
    memcpy((char *)v + r->at, x, 8);
}

/* ---- writing ---- */

/* Doubles are hexadecimal, which is exact. */
static int print_value(const struct ctt_checkpoint_values *v,
                       const struct row *r, char line[LINE])
{
    if (r->is_double)
        return snprintf(line, LINE, "%s=%a\n", r->name, get_double(v, r));
    return snprintf(line, LINE, "%s=%" PRId64 "\n", r->name,
                    get_integer(v, r));
}

int ctt_values_write(const struct ctt_checkpoint_values *v, struct ctt_state *s)
{
    struct ctt_checkpoint_values now = *v;
    char text[ROWS * LINE];
    int n = 0;

    now.version = VERSION;
    for (int k = 0; k < (v->several ? ROWS : ALWAYS); k++)
        n += print_value(&now, &rows[k], text + n);
    return ctt_state_add(s, "values", 1, n, text);
}

/* ---- reading ---- */

static int check_version(int64_t version, int must)
{
    int rc = 0;

    CTT_CHECK(version == must, CTT_EFORMAT, "a checkpoint of another version: "
              "%" PRId64 ", not %d or %d; --init starts from its weights",
              version, UNNAMED, VERSION);
out:
    return rc;
}

/* The row with the name of n characters, or -1. */
static int find_row(const char *name, size_t n)
{
    for (int k = 0; k < ROWS; k++)
        if (strlen(rows[k].name) == n && memcmp(rows[k].name, name, n) == 0)
            return k;
    return -1;
}

/* Returns the end of the number; s if there is none. */
static const char *parse(const char *s, const struct row *r,
                         struct ctt_checkpoint_values *v)
{
    char *end;

    errno = 0;
    if (r->is_double) {
        double x = strtod(s, &end);
        set_value(v, r, &x);
    } else {
        int64_t x = strtoll(s, &end, 10);
        set_value(v, r, &x);
        if (errno)
            return s;
    }
    return end;
}

/* s: a line; n: its length without the newline. */
static int read_value(const char *s, size_t n, char seen[ROWS],
                      struct ctt_checkpoint_values *v)
{
    size_t name = strcspn(s, "=\n");
    int k = find_row(s, name), rc = 0;

    CTT_CHECK(k >= 0, CTT_EUNSUP, "the checkpoint has '%.*s', which this "
              "program does not know", (int)name, s);
    CTT_CHECK(!seen[k], CTT_EFORMAT, "the checkpoint has '%s' twice",
              rows[k].name);
    seen[k] = 1;
    CTT_CHECK(name + 1 < n && s[name + 1] > ' ' &&
              parse(s + name + 1, &rows[k], v) == s + n, CTT_EFORMAT,
              "the checkpoint's '%s' is damaged", rows[k].name);
out:
    return rc;
}

/* Values that older checkpoints lack: the last of --val-ratios decided alone,
 * the schedule ignored --time-limit, no model predicted beside its answer, and
 * clips had one label. */
static void complete(struct ctt_checkpoint_values *v, const char seen[ROWS])
{
    if (!seen[FIRST])
        v->at.val.mean_top1 = v->at.val.top1;
    if (!seen[FIRST + 1])
        v->at.val.mean_loss = v->at.val.loss;
    if (!seen[FIRST + 2])
        v->at.used = 0;
    if (!seen[FIRST + 3] || !seen[FIRST + 4])
        v->at.sums.ahead = v->at.sums.values = 0;
    if (!seen[ALWAYS] || !seen[ALWAYS + 1])
        v->at.val.map = v->at.val.mean_map = 0;
}

/* The version comes first, so that it is checked before unknown names are. */
static int read_values(const char *text, struct ctt_checkpoint_values *v)
{
    char seen[ROWS] = { 0 };
    int rc = 0;

    CTT_CHECK(strncmp(text, "version=", 8) == 0, CTT_EFORMAT,
              "the checkpoint's values do not begin with 'version'");
    for (const char *s = text; *s; s += *s == '\n') {
        size_t n = strcspn(s, "\n");
        CTT_TRY(read_value(s, n, seen, v));
        if (s == text)
            CTT_TRY(check_version(v->version, VERSION));
        s += n;
    }
    for (int k = 0; k < FIRST; k++)
        CTT_CHECK(seen[k], CTT_EFORMAT, "the checkpoint has no '%s'",
                  rows[k].name);
    complete(v, seen);
out:
    return rc;
}

static int read_named(const struct ctt_array *a,
                      struct ctt_checkpoint_values *v)
{
    char *text = ctt_calloc((size_t)a->count + 1, 1);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(a->size == 1, CTT_EFORMAT, "the checkpoint's values are no text");
    memcpy(text, a->data, (size_t)a->count);
    CTT_CHECK((int64_t)strlen(text) == a->count, CTT_EFORMAT,
              "the checkpoint's values are no text");
    CTT_TRY(read_values(text, v));
out:
    ctt_free(text);
    return rc;
}

/* Reads the doubles, or the integers, from an array of version 4. */
static int read_unnamed(const struct ctt_state *s, const char *name, int count,
                        int is_double, struct ctt_checkpoint_values *v)
{
    const struct ctt_array *a = ctt_state_find(s, name);
    int rc = 0;

    CTT_CHECK(a && a->size == 8 && a->count > 0, CTT_EFORMAT,
              "the checkpoint has no usable '%s'", name);
    if (!is_double) {
        set_value(v, &rows[0], a->data);
        CTT_TRY(check_version(v->version, UNNAMED));
    }
    CTT_CHECK(a->count == count, CTT_EFORMAT,
              "the checkpoint has no usable '%s'", name);
    for (int k = 0, i = 0; i < count; k++)
        if (rows[k].is_double == is_double)
            set_value(v, &rows[k], (const char *)a->data + 8 * i++);
out:
    return rc;
}

static int check_values(const struct ctt_checkpoint_values *v)
{
    int rc = 0;

    for (int k = 0; k < ROWS; k++)
        CTT_CHECK(rows[k].legal(rows[k].is_double ? get_double(v, &rows[k])
                                : (double)get_integer(v, &rows[k])),
                  CTT_EFORMAT, "the checkpoint's '%s' is damaged",
                  rows[k].name);
out:
    return rc;
}

int ctt_values_read(const struct ctt_state *s, struct ctt_checkpoint_values *v)
{
    const struct ctt_array *named = ctt_state_find(s, "values");
    static const char none[ROWS];
    struct ctt_checkpoint_values got = *v;
    int rc = 0;

    if (named) {
        CTT_TRY(read_named(named, &got));
    } else {
        CTT_CHECK(ctt_state_find(s, "place"), CTT_EFORMAT,
                  "the checkpoint has no usable 'values'");
        CTT_TRY(read_unnamed(s, "place", PLACE, 0, &got));
        CTT_TRY(read_unnamed(s, "sums", SUMS, 1, &got));
        complete(&got, none);
    }
    CTT_TRY(check_values(&got));
    *v = got;
out:
    return rc;
}
