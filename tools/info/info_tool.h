/* SPDX-License-Identifier: Apache-2.0
 * info_tool.h: functions and structures shared by the files of convtt-info. */
#ifndef CTT_INFO_TOOL_H
#define CTT_INFO_TOOL_H

#include "base/limits.h"
#include "base/opt.h"
#include "base/telling.h"
#include "exchange/exchange.h"
#include "net/file/file.h"
#include "tools/bench/bench_tool.h"
#include "video/video.h"

/* ---- info.c ---- */

struct ctt_info_cfg {
    int   ops, all, net, plan, lint, merge, compare, report, watch, threads;
    int   tune;
    const char *strip, *data, *split, *classes, *device;
    const char *export_to, *import, *map, *out, *shapes, *answer, *verify;
    const char *frames, *labels, *licence, *report_html;
    struct ctt_export onnx;
    struct ctt_limits limits;
    struct ctt_telling telling;
};

extern const struct ctt_program ctt_info_program;    /* info_opt.c */

/* --export: writes the model at path for another program. */
int  ctt_info_export(const struct ctt_info_cfg *cfg, const char *path);

/* --import: writes the model of a file of another program; path: the text that
 * its weights are for, or NULL. */
int  ctt_info_import(const struct ctt_info_cfg *cfg, const char *path);

/* Writes m at path, or its text if that is a NAME.net; can_save: whether the
 * file may be replaced, a text by a text alone. */
int  ctt_info_save(const char *path, const struct ctt_model *m);
int  ctt_info_can_save(const char *path);

/* ---- info_model.c ---- */

/* Loads a model file, or makes a model with zero weights of a text. */
int  ctt_info_load(const char *path, int with_train, struct ctt_model **m);

/* Prints the use of a model; all: everything that its file holds. */
int  ctt_info_model(const char *path, int all);

/* info_labels.c: completes an imported model: the file that it is from, with
 * its checksum, and --licence, in its history; --frames, keys of its input
 * line; --labels, those of its classes, of which repeated ones get numbers.
 * CTT_EINVAL: no such key, or d, h, w or c, or no licence; CTT_EFORMAT: not one
 * label a class. */
int  ctt_info_describe(const struct ctt_info_cfg *cfg, struct ctt_model *m);

/* Prints a table with one row per model, and writes the page of --report-html.
 */
int  ctt_info_compare(const struct ctt_info_cfg *cfg, char **path, int count);

/* ---- info_run.c ---- */

/* Columns of a log that are read; prediction and recognition have not the
 * same. */
enum { CTT_RUN_EPOCH, CTT_RUN_LOSS, CTT_RUN_VAL_LOSS, CTT_RUN_TOP1,
       CTT_RUN_VAL_TOP1, CTT_RUN_LOW, CTT_RUN_HIGH, CTT_RUN_VAL_MSE, CTT_RUN_LR,
       CTT_RUN_WAIT, CTT_RUN_BEST, CTT_RUN_SECONDS, CTT_RUN_COLUMNS };

/* EPOCHS: kept of each log, of longer ones each 2nd, 4th .. */
enum { CTT_RUN_EPOCHS = 4096, CTT_RUN_NAME = 80 };

/* A log of a training. */
struct ctt_run_log {
    const char *path;
    char        name[CTT_RUN_NAME];
    char       *settings;        /* " name=value" each, or NULL: no first row
                                    of this version */
    double     *at[CTT_RUN_COLUMNS];      /* [CTT_RUN_EPOCHS], NAN: none */
    double      last[CTT_RUN_COLUMNS], best[CTT_RUN_COLUMNS];
    int64_t     epochs, bad;     /* rows; other lines */
    int         n, each;         /* kept; one of so many */
};

/* The rows of the file at path, perhaps none; other lines are counted.  *r is
 * to be freed in any case. */
int  ctt_run_log_read(struct ctt_run_log *r, const char *path);
void ctt_run_log_free(struct ctt_run_log *r);

/* ---- info_watch.c ---- */

/* Draws the curves of a log as text: on a terminal each second until its run
 * ends or the user stops it, else once. */
int  ctt_info_watch(const char *path);

/* ---- info_runs.c ---- */

/* A table of logs of trainings, and the page of --report-html. */
int  ctt_info_runs(const struct ctt_info_cfg *cfg, char **path, int count);

/* ---- info_compare_page.c ---- */

enum { CTT_COMPARE_SHARES = 3, CTT_COMPARE_READ = 0x80 };
extern const double ctt_compare_shares[CTT_COMPARE_SHARES];

/* A model of --compare.  Without clips there are no verdicts. */
struct ctt_compared {
    const char *path;
    int64_t     bytes;
    double      params, macs, ms;    /* macs, ms: of a frame; ms NAN: not
                                        measured */
    int         clips, right[CTT_COMPARE_SHARES];
    uint8_t    *verdict;             /* [items]: bit k: right at share k;
                                        CTT_COMPARE_READ */
    int         items;
};

/* Clips that two models have read, and of these, at share k, those that only
 * the first has right (lost) and only the second (won). */
struct ctt_compared_pair { int both, lost, won; };
struct ctt_compared_pair ctt_compare_pair(const struct ctt_compared *was,
                                          const struct ctt_compared *is,
                                          int k);

/* t: the table as it is printed.  A page that cannot be written is a
 * warning. */
struct ctt_table;
void ctt_compare_page(const char *path, const struct ctt_compared *m, int n,
                      const struct ctt_table *t);

/* Prints the contents of an open pack without reading clips. */
int  ctt_info_pack(const char *path, const struct ctt_pack *p);

/* info_plan.c: frames of a model with the times of its nodes. */
struct ctt_plan {
    const struct ctt_graph *g;
    struct ctt_stepper      s;
    struct ctt_nodes        nodes;
    struct ctt_times       *node;     /* of each node, a time a frame */
    struct ctt_times        frame;    /* of all nodes */
};

/* open: runs frames until their times are warm, and then some that count; p is
 * closed by the caller, also after an error.  macs: multiplications of a call,
 * with the convs that are fused into it. */
int    ctt_plan_open(const struct ctt_info_cfg *cfg, const struct ctt_model *m,
                     struct ctt_plan *p);
void   ctt_plan_close(struct ctt_plan *p);
double ctt_plan_macs(const struct ctt_plan *p, int node);

/* Prints kernel, pass and time of each node of a model. */
int  ctt_info_plan(const struct ctt_info_cfg *cfg, const struct ctt_model *m);

/* --lint: prints receptive field, memory and energy by node, and what could be
 * changed at which line of the model's text, with the gain. */
int  ctt_info_lint(const struct ctt_info_cfg *cfg, const char *path);

#endif
