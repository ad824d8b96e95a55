/* SPDX-License-Identifier: Apache-2.0
 * train_folds.c: the trainings of a cross-validation, one after the other, and
 * the table of their results. */
#include "tools/train/train_tool.h"
#include "base/newfile.h"
#include "base/statistics/statistics.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct ctt_output_kind csv_kind = {
    .name = "results of --folds as CSV", .begin = CTT_FOLDS_CSV_BEGIN };
static const struct ctt_output_kind json_kind = {
    .name = "results of --folds as JSON", .begin = CTT_FOLDS_JSON_BEGIN };

const struct ctt_point ctt_fold_points[CTT_FOLD_POINTS] = {
    { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
};

/* ---- the settings of a fold ---- */

enum { PATH = 4096 };

struct names { char out[PATH], checkpoint[PATH], csv[PATH], json[PATH]; };

/* "a/b.h5" becomes "a/b.fold1.h5"; NULL stays. */
static int name_of(const char *path, int k, char *buf, const char **out)
{
    const char *slash, *dot;
    size_t n;
    int rc = 0;

    if (!path)
        goto out;
    slash = strrchr(path, '/');
    dot = strrchr(slash ? slash + 1 : path, '.');
    n = dot && dot != path && dot != slash + 1 ? (size_t)(dot - path)
                                               : strlen(path);
    CTT_CHECK(snprintf(buf, PATH, "%.*s.fold%d%s", (int)n, path, k + 1,
                       path + n) < PATH, CTT_EINVAL, "%s: name too long", path);
    *out = buf;
out:
    return rc;
}

static int settings_of(const struct ctt_train_cfg *cfg, int own, int k,
                       struct names *n, struct ctt_train_cfg *c)
{
    int rc = 0;

    *c = *cfg;
    CTT_TRY(name_of(cfg->out, k, n->out, &c->out));
    CTT_TRY(name_of(cfg->log_csv, k, n->csv, &c->log_csv));
    CTT_TRY(name_of(cfg->log_json, k, n->json, &c->log_json));
    CTT_TRY(name_of(cfg->checkpoint, k, n->checkpoint, &c->checkpoint));
    if (own)
        CTT_CHECK(snprintf(n->checkpoint, PATH, "%s.ckpt", c->out) < PATH,
                  CTT_EINVAL, "%s: name too long", c->out);
    c->resume = cfg->resume && access(c->checkpoint, F_OK) == 0;
    if (cfg->resume && !c->resume)
        ctt_tool_say("fold %d has no checkpoint and begins anew", k + 1);
out:
    return rc;
}

/* ---- the table ---- */

struct results {
    int     folds;
    int64_t *clips;                     /* [folds] */
    double  (*top1)[CTT_FOLD_POINTS];    /* 0..1; or mAP */
    int     several;                     /* labels per clip */
};

static double mean_of(const struct results *r, int k)
{
    double sum = 0;

    for (int i = 0; i < r->folds; i++)
        sum += r->top1[i][k];
    return sum / r->folds;
}

/* Of a sample: the folds are some of many that were possible. */
static double deviation_of(const struct results *r, int k)
{
    double mean = mean_of(r, k), sum = 0;

    for (int i = 0; i < r->folds; i++)
        sum += (r->top1[i][k] - mean) * (r->top1[i][k] - mean);
    return sqrt(sum / (r->folds - 1));
}

/* Row `row` of the results: its name, and 3 numbers; 0: there is none. */
static int results_row(const struct results *r, int row, char name[16],
                       double top1[CTT_FOLD_POINTS])
{
    if (row >= r->folds + 2)
        return 0;
    snprintf(name, 16, "%d", row + 1);
    if (row >= r->folds)
        snprintf(name, 16, "%s", row == r->folds ? "mean" : "deviation");
    for (int k = 0; k < CTT_FOLD_POINTS; k++)
        top1[k] = row < r->folds ? r->top1[row][k]
                  : row == r->folds ? mean_of(r, k) : deviation_of(r, k);
    return 1;
}

static int64_t all_clips(const struct results *r)
{
    int64_t n = 0;

    for (int i = 0; i < r->folds; i++)
        n += r->clips[i];
    return n;
}

/* Clips of a row; the last two are of all. */
static int64_t clips_of(const struct results *r, int row)
{
    return row < r->folds ? r->clips[row] : all_clips(r);
}

/* Each clip is in one fold, so together they are one test of all. */
static void say_all(const struct results *r, struct ctt_table *t)
{
    char cell[CTT_FOLD_POINTS][64], range[32];
    int64_t n = all_clips(r);

    for (int k = 0; k < CTT_FOLD_POINTS; k++) {
        double right = 0, share;
        for (int i = 0; i < r->folds; i++)
            right += r->top1[i][k] * (double)r->clips[i];
        share = n ? right / (double)n : 0;
        snprintf(cell[k], sizeof(cell[k]), "%.1f%% (%s)", 100 * share,
                 ctt_wilson_text(share, n, range, sizeof(range)));
    }
    ctt_table_row(t, "all clips (95%%)\t%" PRId64 "\t%s\t%s\t%s", n, cell[0],
                  cell[1], cell[2]);
}

/* A row of the table; a fold has the interval of its clips, mean and deviation
 * have none. */
static void say_row(const struct results *r, int row, const char *name,
                    const double x[CTT_FOLD_POINTS], struct ctt_table *t)
{
    char cell[CTT_FOLD_POINTS][64], range[32];
    int64_t n = clips_of(r, row);

    for (int k = 0; k < CTT_FOLD_POINTS; k++) {
        if (row < r->folds && !r->several)
            snprintf(cell[k], sizeof(cell[k]), "%.1f%% (%s)", 100 * x[k],
                     ctt_wilson_text(x[k], n, range, sizeof(range)));
        else
            snprintf(cell[k], sizeof(cell[k]), "%.1f%%", 100 * x[k]);
    }
    ctt_table_row(t, "%s\t%" PRId64 "\t%s\t%s\t%s", name, n, cell[0], cell[1],
                  cell[2]);
}

static int say_folds(const struct ctt_train_cfg *cfg, const struct results *r)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    double x[CTT_FOLD_POINTS];
    char name[16];

    ctt_table_row(&t, "fold\tclips\t%s at 25%%%s\tat 50%%\tat 100%%",
                  ctt_score_word(r->several), r->several ? "" : " (95%)");
    for (int i = 0; results_row(r, i, name, x); i++)
        say_row(r, i, name, x, &t);
    if (!r->several)
        say_all(r, &t);
    ctt_tool_say("%d folds; %s:", r->folds, cfg->backbone || ctt_picks_last(cfg)
                 ? "no clip that is tested chose anything"
                 : "each chose the best epoch of its model, which flatters it "
                   "(--pick=last and ema-last choose nothing)");
    return ctt_table_print(&t);
}

/* The intervals of a row's accuracies; 0: it has none. */
static int intervals_of(const struct results *r, int row,
                        const double x[CTT_FOLD_POINTS],
                        double out[CTT_FOLD_POINTS][2])
{
    for (int k = 0; k < CTT_FOLD_POINTS && row < r->folds; k++)
        ctt_wilson(x[k], clips_of(r, row), out[k]);
    return row < r->folds && !r->several;
}

static int print_folds_csv(FILE *f, const void *arg)
{
    double x[CTT_FOLD_POINTS], range[CTT_FOLD_POINTS][2];
    const struct results *r = arg;
    char name[16];

    fprintf(f, CTT_FOLDS_CSV_BEGIN "clips,%s_25,%s_50,%s_100,low_25,"
            "high_25,low_50,high_50,low_100,high_100\n",
            ctt_score_key(r->several), ctt_score_key(r->several),
            ctt_score_key(r->several));
    for (int i = 0; results_row(r, i, name, x); i++) {
        int has = intervals_of(r, i, x, range);
        fprintf(f, "%s,%" PRId64 ",%.6g,%.6g,%.6g", name, clips_of(r, i), x[0],
                x[1], x[2]);
        for (int k = 0; k < CTT_FOLD_POINTS; k++)
            if (has)
                fprintf(f, ",%.6g,%.6g", range[k][0], range[k][1]);
            else
                fputs(",,", f);
        fputc('\n', f);
    }
    return 0;
}

static int print_json(FILE *f, const void *arg)
{
    double x[CTT_FOLD_POINTS], range[CTT_FOLD_POINTS][2];
    const struct results *r = arg;
    char name[16];

    for (int i = 0; results_row(r, i, name, x); i++) {
        const char *quote = i < r->folds ? "" : "\"";
        fprintf(f, CTT_FOLDS_JSON_BEGIN "%s%s%s,\"clips\":%" PRId64
                ",\"%s\":[%.6g,%.6g,%.6g]", quote, name, quote,
                clips_of(r, i), ctt_score_key(r->several), x[0], x[1], x[2]);
        if (intervals_of(r, i, x, range))
            fprintf(f, ",\"interval\":[[%.6g,%.6g],[%.6g,%.6g],[%.6g,%.6g]]",
                    range[0][0], range[0][1], range[1][0], range[1][1],
                    range[2][0], range[2][1]);
        fputs("}\n", f);
    }
    return 0;
}

static int tell_folds(const struct ctt_train_cfg *cfg, const struct results *r)
{
    int rc;

    CTT_TRY(say_folds(cfg, r));
    if (cfg->log_csv)
        CTT_TRY(ctt_file_print(cfg->log_csv, print_folds_csv, r));
    if (cfg->log_json)
        CTT_TRY(ctt_file_print(cfg->log_json, print_json, r));
out:
    return rc;
}

/* ---- all folds ---- */

static int spare_inputs(const struct ctt_train_cfg *cfg, int own, int k)
{
    const char *const read[] = { cfg->init, cfg->data, cfg->classes,
                                 cfg->backbone };
    struct names *n = ctt_calloc(1, sizeof(*n));
    struct ctt_train_cfg plain = *cfg, c;
    int rc = n ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    plain.resume = 0;
    CTT_TRY(settings_of(&plain, own, k, n, &c));
    const char *const made[] = { c.out, c.checkpoint, c.log_csv, c.log_json };
    for (size_t i = 0; i < CTT_LEN(read); i++)
        CTT_TRY(ctt_tool_spares(made, CTT_LEN(made), read[i]));
    CTT_TRY(ctt_teachers_spared(cfg->teacher, made, CTT_LEN(made)));
out:
    ctt_free(n);
    return rc;
}

int ctt_train_folds_spare(const struct ctt_train_cfg *cfg, int own)
{
    int rc = 0;

    for (int k = 0; k < cfg->folds; k++)
        CTT_TRY(spare_inputs(cfg, own, k));
out:
    return rc;
}

static int check_results(const struct ctt_train_cfg *cfg)
{
    int rc;

    CTT_TRY(ctt_output_check(cfg->log_csv, &csv_kind));
    CTT_TRY(ctt_output_check(cfg->log_json, &json_kind));
out:
    return rc;
}

static int train_one(const struct ctt_train_cfg *cfg, int own, int k,
                     ctt_fold_train *one, void *arg, struct results *r)
{
    struct names *n = ctt_calloc(1, sizeof(*n));
    struct ctt_metrics *m = NULL;
    struct ctt_train_cfg c;
    int rc = n ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(settings_of(cfg, own, k, n, &c));
    CTT_TRY(one(arg, &c, k, &m));
    if (rc == 1)
        goto out;
    r->clips[k] = m->clips;
    r->several = m->several;
    for (int i = 0; i < CTT_FOLD_POINTS; i++)
        r->top1[k][i] = ctt_metrics_score(m, i);
    ctt_tool_say("%s written: fold %d of %d", c.out, k + 1, r->folds);
out:
    ctt_metrics_free(&m);
    ctt_free(n);
    return rc;
}

/* A finished fold keeps its checkpoint until here: a run that goes on finds its
 * model there and trains no step. */
static void remove_checkpoints(const struct ctt_train_cfg *cfg)
{
    struct names *n = ctt_calloc(1, sizeof(*n));
    struct ctt_train_cfg plain = *cfg, c;

    plain.resume = 0;
    for (int k = 0; n && k < cfg->folds; k++)
        if (settings_of(&plain, 1, k, n, &c) >= 0)
            unlink(c.checkpoint);
    ctt_free(n);
}

int ctt_train_folds(const struct ctt_train_cfg *cfg, int own,
                    ctt_fold_train *one, void *arg)
{
    size_t folds = (size_t)cfg->folds;
    struct results r = { .folds = cfg->folds };
    int rc = 0;

    r.clips = ctt_calloc(folds, sizeof(*r.clips));
    r.top1 = ctt_calloc(folds, sizeof(*r.top1));
    CTT_TRY(r.clips && r.top1 ? 0 : CTT_ENOMEM);
    CTT_TRY(check_results(cfg));
    for (int k = 0; k < r.folds; k++) {
        CTT_TRY(train_one(cfg, own, k, one, arg, &r));
        if (rc == 1)
            goto out;
    }
    CTT_TRY(tell_folds(cfg, &r));
    if (own)
        remove_checkpoints(cfg);
    rc = 0;
out:
    ctt_free(r.clips);
    ctt_free(r.top1);
    return rc;
}
