/* SPDX-License-Identifier: Apache-2.0
 * compress.c: convtt-compress: makes a trained model small, retrains it, and
 * says what that cost. */
#include "compress/compress.h"
#include "infer/infer.h"
#include "libtrain/train.h"
#include "net/random.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "convtt-compress [OPTION...] MODEL -o OUT\n"
    "Factorises the weights of a trained model (--tt-rank, --tt-tol), prunes "
    "them in\nrounds (--prune), or first the one and then the other; retrains "
    "with --data after\neach step, and writes the result and a report.  "
    "Patterns are names with * and ?,\nwith commas between them; they also "
    "match the cores of a weight of that name.";

struct config {
    struct ctt_train_cfg train;
    struct ctt_lowrank   lowrank;
    struct ctt_prune     prune;
    float                share;
    int                  rounds, epochs, bits;
    const char          *out, *report;
};

#define FIELD(f) offsetof(struct config, f)

static const char *const forms[] = { "train", "window", "pair", NULL };
static const char *const scopes[] = { "global", "layer", NULL };
static const char *const scores[] = { "lamp", "magnitude", NULL };

static const struct ctt_opt own[] = {
    { "out", CTT_STRING, FIELD(out), NULL, "the compressed model",
      .letter = 'o', .arg = "FILE" },
    { "report", CTT_STRING, FIELD(report), "", "the report as JSON",
      .arg = "FILE" },
    { "prune", CTT_FLOAT, FIELD(share), "0", "share of the weights (of their "
      "cores, if factorised) that becomes zero; 0: none", 0, 0.9999,
      .arg = "SHARE" },
    { "prune-rounds", CTT_INT, FIELD(rounds), "2", "times to prune and "
      "retrain", 1, 100, .arg = "N" },
    { "prune-scope", CTT_CHOICE, FIELD(prune.scope), "global", "the smallest "
      "of all weights, or of each", .choices = scopes, .arg = "SCOPE" },
    { "prune-score", CTT_CHOICE, FIELD(prune.score), "lamp", "how numbers of "
      "different weights are compared", .choices = scores, .arg = "SCORE" },
    { "prune-keep", CTT_FLOAT, FIELD(prune.floor), "0.02", "share of each "
      "weight that is never pruned", 0, 1, .arg = "SHARE" },
    { "prune-least", CTT_INT, FIELD(prune.least), "4096", "weights and cores "
      "of fewer numbers stay whole", 0, 1 << 30, .arg = "N" },
    { "prune-except", CTT_STRING, FIELD(prune.except), "", "weights to leave "
      "alone", .arg = "PATTERNS" },
    { "tt-rank", CTT_INT, FIELD(lowrank.rank), "0", "largest rank of a tensor "
      "train; 0: any", 0, 4096, .arg = "R" },
    { "tt-tol", CTT_FLOAT, FIELD(lowrank.tol), "0", "largest relative error "
      "of a weight; 0: any", 0, 0.9999, .arg = "E" },
    { "tt-form", CTT_CHOICE, FIELD(lowrank.form), "train", "cut at each "
      "axis, around the window, or once, between rows and columns",
      .choices = forms, .arg = "FORM" },
    { "tt-least", CTT_INT, FIELD(lowrank.least), "65536", "weights of fewer "
      "numbers stay whole", 0, 1 << 30, .arg = "N" },
    { "tt-harm", CTT_FLOAT, FIELD(lowrank.harm), "0.75", "weights that, "
      "factorised alone, cost more top-1 than this stay whole; 1: none (needs "
      "--data)", 0.001, 1, .arg = "SHARE" },
    { "tt-except", CTT_STRING, FIELD(lowrank.except), "", "weights to leave "
      "whole", .arg = "PATTERNS" },
    { "round", CTT_INT, FIELD(bits), "8", "significant bits of the weights in "
      "the end; 24: all", 1, 24, .arg = "BITS" },
    { "retrain-epochs", CTT_INT, FIELD(epochs), "-1", "of retraining, all "
      "steps together; -1: 12 if there is data", -1, 100000, .arg = "N" },
};

/* Settings of the trainer that make no sense here. */
static const char *const not_ours[] = {
    "out", "init", "epochs", "max-steps", "time-limit", "checkpoint",
    "checkpoint-every", "resume", "early-stop", "val-ratios", "log-csv",
    "log-json", "task", "input-frames", "future-frames", "loss", "sequences",
    "val-sequences", "digits", "sampling-start", "sampling-patience",
    "sampling-decay", "amp-plan",
};

static int is_ours(const char *name)
{
    for (size_t i = 0; i < CTT_LEN(not_ours); i++)
        if (strcmp(not_ours[i], name) == 0)
            return 0;
    return 1;
}

/* Our options, then those of the trainer; its settings stand first in
 * struct config, so its rows fit as they are. */
static int all_options(struct ctt_opt tab[CTT_OPT_MAX + 1])
{
    int n = CTT_LEN(own), rc = 0;

    memcpy(tab, own, sizeof(own));
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++) {
        if (!is_ours(o->name))
            continue;
        CTT_CHECK(n < CTT_OPT_MAX, CTT_EINVAL, "too many options");
        tab[n++] = *o;
    }
    tab[n] = (struct ctt_opt){ .name = NULL };
out:
    return rc;
}

struct job {
    struct config     c;
    const char       *path;         /* of the model as given */
    struct ctt_model *m;
    struct ctt_data  *data, *val;
    const char       *stage;        /* for the progress line */
    struct ctt_events ev;
};

/* ---- what is told meanwhile ---- */

static void on_clip(void *arg, const char *what)
{
    (void)arg;
    ctt_tool_warn("%s (skipped)", what);
}

static void on_scan(void *arg, int done, int clips)
{
    (void)arg;
    ctt_tool_progress(0, "reading clips: %d of %d", done, clips);
}

static void on_progress(void *arg, const struct ctt_progress *p)
{
    const struct job *j = arg;

    ctt_tool_progress(0, "%s: epoch %d/%d %d/%d: loss %.3f, top-1 %.1f%%, "
                      "%.1f clips/s, %.0f s left", j->stage, p->epoch,
                      p->epochs, p->batch, p->batches, p->loss, 100 * p->top1,
                      p->clips_a_second, p->left);
}

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    const struct job *j = arg;
    char tested[64] = "";

    if (val)
        snprintf(tested, sizeof(tested), "; tested: %.1f%%%s",
                 100 * e->val.top1, e->best ? " (best)" : "");
    ctt_tool_say("%s: epoch %d/%d: loss %.3f, top-1 %.1f%%%s; %.0f s",
                 j->stage, e->p.epoch, e->p.epochs, e->p.loss,
                 100 * e->p.top1, tested, e->p.seconds);
}

static int on_stop(void *arg)
{
    (void)arg;
    return ctt_tool_stop();
}

/* ---- what the recipe asks ---- */

static int retrain(void *arg, const char *stage, int epochs,
                   struct ctt_model *m)
{
    struct job *j = arg;
    struct ctt_train_cfg cfg = j->c.train;
    struct ctt_result r;
    int rc = 0;

    j->stage = stage;
    cfg.epochs = epochs;
    CTT_TRY(ctt_train(m, &cfg, j->data, j->val, &j->ev, &r));
    CTT_CHECK(!r.stopped, CTT_EINVAL, "%s: stopped; nothing is written",
              stage);
out:
    return rc;
}

static int accuracy(void *arg, const char *stage, const struct ctt_model *m,
                    double top1[CTT_ACCURACIES])
{
    static const struct ctt_point point[CTT_ACCURACIES] = {
        { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
    };
    struct job *j = arg;
    struct ctt_metrics *r = NULL;
    int rc = 0;

    ctt_tool_progress(0, "%s: testing", stage);
    CTT_TRY(ctt_evaluate_recognise(m, &j->c.train, j->val, point,
                                   CTT_ACCURACIES, &j->ev, &r));
    CTT_CHECK(!ctt_tool_stop(), CTT_EINVAL, "%s: stopped; nothing is written",
              stage);
    for (int k = 0; k < CTT_ACCURACIES; k++)
        top1[k] = ctt_metrics_top1(r, k);
    ctt_tool_say("%s: top-1 %.1f%%, %.1f%%, %.1f%% at 25, 50, 100%%", stage,
                 100 * top1[0], 100 * top1[1], 100 * top1[2]);
out:
    ctt_metrics_free(&r);
    return rc;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum { WARM = 8, TIMED = 48 };

/* Milliseconds a frame, one after the other as they come from a camera: the
 * median of some. */
static int stream(struct ctt_session *s, const struct ctt_infer_input *in,
                  double *ms)
{
    size_t size = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    uint8_t *frame = ctt_calloc(size, 1);
    double t[TIMED];
    int rc = 0;

    CTT_TRY(frame ? 0 : CTT_ENOMEM);
    for (size_t i = 0; i < size; i++)
        frame[i] = (uint8_t)ctt_random(1, i);
    for (int k = -WARM; k < TIMED; k++) {
        double start = ctt_tool_seconds();
        rc = ctt_session_push(s, frame, 1);
        if (rc < 0)
            CTT_TRY(ctt_error(rc, "%s", ctt_infer_error()));
        if (k >= 0)
            t[k] = ctt_tool_seconds() - start;
    }
    qsort(t, TIMED, sizeof(*t), rising);
    *ms = 1e3 * t[TIMED / 2];
out:
    ctt_free(frame);
    return rc;
}

static int measure(void *arg, const char *path, double *ms)
{
    const struct ctt_train_cfg *c = &((struct job *)arg)->c.train;
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    int rc = ctt_infer_open(path, c->device, c->threads, &m);

    if (rc >= 0)
        rc = ctt_session_open(m, &s);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s", ctt_infer_error()));
    CTT_TRY(stream(s, ctt_infer_wants(m), ms));
out:
    ctt_session_close(&s);
    ctt_infer_close(&m);
    return rc;
}

/* ---- the run ---- */

static int open_data(struct job *j, const char *path, const char *split,
                     struct ctt_data **out)
{
    const struct ctt_graph *g = j->m->g;

    return ctt_data_open(path, split, &g->node[ctt_graph_input(g)].attr.input,
                         j->m->label, j->m->labels, &j->c.train, &j->ev, out);
}

/* Clips to learn from, if any retraining is asked, and clips to test on. */
static int open_clips(struct job *j)
{
    const struct ctt_train_cfg *c = &j->c.train;
    int rc = 0;

    if (j->c.epochs > 0)
        CTT_TRY(open_data(j, c->data, c->split, &j->data));
    CTT_TRY(open_data(j, c->val ? c->val : c->data, c->val_split, &j->val));
    CTT_CHECK(!j->data || !ctt_data_same(j->data, j->val), CTT_EINVAL,
              "%s: has no split '%s' to test on; --val names other clips",
              c->data, c->val_split);
    ctt_tool_say("%d clips to retrain on, %d to test on",
                 j->data ? ctt_data_clips(j->data) : 0,
                 ctt_data_clips(j->val));
out:
    return rc;
}

static int print_report(const struct ctt_report *r)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char line[1024];
    int rc = 0;

    for (int k = 0; ctt_report_weight_cells(r, k, line, sizeof(line)); k++)
        ctt_table_row(&t, "%s", line);
    ctt_tool_say("\nweights:");
    CTT_TRY(ctt_table_print(&t));
    for (int k = 0; ctt_report_stage_cells(r, k, line, sizeof(line)); k++)
        ctt_table_row(&t, "%s", line);
    ctt_tool_say("\nstages (top-1 after 25/50/100%% of a clip):");
    CTT_TRY(ctt_table_print(&t));
out:
    return rc;
}

/* Retraining and its tests are those of recognition. */
static int check_task(const struct job *j)
{
    const struct ctt_graph *g = j->m->g;
    const struct ctt_tensor *y = &g->node[ctt_graph_output(g)].out;
    int rc = 0;

    CTT_CHECK(y->d * y->h * y->w == 1, CTT_EUNSUP, "%s: predicts frames; such "
              "a model is compressed without --data and --val, which are for "
              "classes", j->path);
out:
    return rc;
}

static int compress(struct job *j)
{
    struct config *c = &j->c;
    struct ctt_recipe recipe = { c->lowrank, c->prune, c->share, c->rounds,
                                 c->epochs, c->bits };
    struct ctt_recipe_calls calls = { .arg = j, .time = measure };
    struct ctt_report *r = NULL;
    int rc = 0;

    CTT_TRY(ctt_model_load(j->path, 0, &j->m));
    if (c->train.data || c->train.val) {
        CTT_TRY(check_task(j));
        CTT_TRY(open_clips(j));
        calls.accuracy = accuracy;
        calls.retrain = j->data ? retrain : NULL;
    }
    CTT_TRY(ctt_recipe_run(&recipe, &calls, c->out, &j->m, &r));
    CTT_TRY(print_report(r));
    if (c->report)
        CTT_TRY(ctt_report_json(r, c->report));
    ctt_tool_say("\n%s written: %.1f times smaller than %s%s", c->out,
                 (double)r->stage[0].bytes /
                 (double)r->stage[r->stages - 1].bytes, j->path,
                 r->stage[0].pruned > 0 ? "" : " as dense floats");
out:
    ctt_report_free(&r);
    return rc;
}

/* What the table of options cannot say. */
static int complete(struct job *j, int argc, char **argv, int first)
{
    struct config *c = &j->c;
    int rc = 0;

    CTT_CHECK(first < argc, CTT_EINVAL, "no model given (see --help)");
    CTT_CHECK(argc - first == 1, CTT_EINVAL, "one model, not '%s' too",
              argv[first + 1]);
    j->path = argv[first];
    CTT_CHECK(c->out, CTT_EINVAL, "-o OUT must be given (see --help)");
    CTT_CHECK(c->share > 0 || c->lowrank.rank || c->lowrank.tol > 0,
              CTT_EINVAL, "nothing to do: give --prune, --tt-rank or --tt-tol");
    CTT_CHECK(!ctt_tool_same_file(c->report, c->out) &&
              !ctt_tool_same_file(c->report, argv[first]), CTT_EINVAL,
              "--report=%s: is a model already", c->report);
    CTT_TRY(ctt_train_check(&c->train));
    CTT_CHECK(c->epochs <= 0 || c->train.data, CTT_EINVAL,
              "--retrain-epochs=%d needs --data", c->epochs);
    if (c->epochs < 0)
        c->epochs = c->train.data ? 12 : 0;
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct job j = { .path = NULL };
    struct ctt_opt tab[CTT_OPT_MAX + 1];
    int done = 0, rc;

    ctt_tool_start("convtt-compress", argv);
    j.ev = (struct ctt_events){ .arg = &j, .clip = on_clip, .scan = on_scan,
        .progress = on_progress, .epoch = on_epoch, .stop = on_stop };
    rc = ctt_opt_defaults(ctt_train_opts, &j.c.train);
    if (rc >= 0)
        rc = all_options(tab);
    if (rc >= 0)
        rc = ctt_opt_main(tab, usage, &j.c, argc, argv, &done);
    if (done && rc >= 0)
        return 0;
    if (rc < 0 || complete(&j, argc, argv, rc) < 0)
        return ctt_tool_fail(CTT_EXIT_USAGE);
    ctt_tool_catch();
    rc = compress(&j);
    if (rc < 0)
        ctt_tool_fail(CTT_EXIT_FAIL);
    ctt_data_close(&j.val);
    ctt_data_close(&j.data);
    ctt_model_free(&j.m);
    return ctt_tool_end(rc < 0 ? CTT_EXIT_FAIL : 0);
}
