/* SPDX-License-Identifier: Apache-2.0
 * compress.c: convtt-compress: compresses a trained model, retrains it and
 * reports size, speed and accuracy. */
#include "tools/compress_opt.h"
#include "tools/compress_say.h"
#include "tools/compress_time.h"
#include "tools/files.h"
#include "tools/tool.h"

struct config {
    struct ctt_train_cfg train;
    struct ctt_recipe    recipe;
    const char          *out, *report;
};

#define FIELD(f) offsetof(struct config, f)

static const struct ctt_opt own[] = {
    { .name = "retrain-epochs", .type = CTT_INT, .off = FIELD(recipe.epochs),
      .dflt = "-1", .help = "total epochs of retraining; -1: 12 with --data",
      .min = -1, .max = 100000, .arg = "N", .section = "Retraining",
      .tags = CTT_OPT_COMMON },
    { .name = NULL }
};

/* After the trainer's settings, as they continue their last section. */
static const struct ctt_opt files[] = {
    { "out", CTT_STRING, FIELD(out), NULL, "the compressed model",
      .letter = 'o', .arg = "FILE", .section = "Output",
      .tags = CTT_OPT_COMMON },
    { "report", CTT_STRING, FIELD(report), "", "write the report as JSON",
      .arg = "FILE", .section = "Output", .tags = CTT_OPT_COMMON },
    { .name = NULL }
};

static int add_rows(struct ctt_opt tab[CTT_OPT_MAX + 1], int *n,
                    const struct ctt_opt *rows)
{
    int rc = 0;

    for (; rows->name; rows++) {
        if (rows->tags & CTT_CFG_TRAINER)
            continue;
        CTT_CHECK(*n < CTT_OPT_MAX, CTT_EINVAL, "too many options");
        tab[(*n)++] = *rows;
    }
    tab[*n] = (struct ctt_opt){ .name = NULL };
out:
    return rc;
}

/* All options: those of the stages, of retraining and of files.  The trainer's
 * settings are first in struct config, so the offsets of its rows apply. */
static int all_options(struct ctt_opt tab[CTT_OPT_MAX + 1])
{
    int n, rc = 0;

    CTT_TRY(n = ctt_recipe_options(FIELD(recipe), tab, CTT_OPT_MAX));
    CTT_TRY(add_rows(tab, &n, own));
    CTT_TRY(add_rows(tab, &n, ctt_train_opts));
    CTT_TRY(add_rows(tab, &n, files));
out:
    return rc;
}

struct job {
    struct config     c;
    const char       *path;         /* of the model as given */
    struct ctt_model *m;
    struct ctt_data  *data, *val;
    const char       *stage;        /* being retrained, for messages */
    struct ctt_events ev;
};

/* ---- calls of the recipe ---- */

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

    ctt_tool_progress(0, "%s: validation", stage);
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

static int measure(void *arg, const char *path, double *ms)
{
    const struct ctt_train_cfg *c = &((struct job *)arg)->c.train;

    return ctt_compress_time(path, c->device, c->threads, ms);
}

/* ---- the run ---- */

static int open_data(struct job *j, const char *path, const char *split,
                     struct ctt_data **out)
{
    const struct ctt_graph *g = j->m->g;

    return ctt_data_open(path, split, &g->node[ctt_graph_input(g)].attr.input,
                         j->m->label, j->m->labels, &j->c.train, &j->ev, out);
}

/* Opens the training clips, if it retrains, and the validation clips. */
static int open_clips(struct job *j)
{
    const struct ctt_train_cfg *c = &j->c.train;
    int rc = 0;

    if (j->c.recipe.epochs > 0)
        CTT_TRY(open_data(j, c->data, c->split, &j->data));
    CTT_TRY(open_data(j, c->val ? c->val : c->data, c->val_split, &j->val));
    CTT_CHECK(!j->data || !ctt_data_same(j->data, j->val), CTT_EINVAL,
              "%s: has no split '%s' to validate on; pass --val",
              c->data, c->val_split);
    ctt_tool_say("%d training clips, %d validation clips",
                 j->data ? ctt_data_clips(j->data) : 0,
                 ctt_data_clips(j->val));
out:
    return rc;
}

/* Retraining and validation are for recognition. */
static int check_task(const struct job *j)
{
    const struct ctt_graph *g = j->m->g;
    const struct ctt_tensor *y = &g->node[ctt_graph_output(g)].out;
    int rc = 0;

    CTT_CHECK(y->d * y->h * y->w == 1, CTT_EUNSUP, "%s: predicts frames; such "
              "a model is compressed without --data and --val, which are for "
              "classification", j->path);
out:
    return rc;
}

static int compress(struct job *j)
{
    struct config *c = &j->c;
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
    CTT_TRY(ctt_recipe_run(&c->recipe, &calls, c->out, &j->m, &r));
    CTT_TRY(ctt_compress_say(r));
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

/* Checks what the table of options cannot express. */
static int complete(struct job *j, int argc, char **argv, int first)
{
    struct config *c = &j->c;
    int rc = 0;

    CTT_CHECK(first < argc, CTT_EINVAL, "no model given (see --help)");
    CTT_CHECK(argc - first == 1, CTT_EINVAL, "one model expected, but "
              "also given: '%s'", argv[first + 1]);
    j->path = argv[first];
    CTT_CHECK(c->out, CTT_EINVAL, "-o OUT must be given (see --help)");
    CTT_TRY(ctt_recipe_asked(&c->recipe));
    CTT_CHECK(!ctt_tool_same_file(c->report, c->out) &&
              !ctt_tool_same_file(c->report, argv[first]), CTT_EINVAL,
              "--report=%s: is a model already", c->report);
    CTT_TRY(ctt_train_check(&c->train));
    CTT_CHECK(c->recipe.epochs <= 0 || c->train.data, CTT_EINVAL,
              "--retrain-epochs=%d requires --data", c->recipe.epochs);
    if (c->recipe.epochs < 0)
        c->recipe.epochs = c->train.data ? 12 : 0;
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct job j = { .path = NULL };
    struct ctt_opt tab[CTT_OPT_MAX + 1];
    struct ctt_program program = ctt_compress_program;
    int done = 0, rc;

    ctt_tool_start("convtt-compress", argv);
    j.ev = ctt_compress_events(&j.stage);
    rc = ctt_opt_defaults(ctt_train_opts, &j.c.train);
    if (rc >= 0)
        rc = all_options(tab);
    program.opts = tab;
    if (rc >= 0)
        rc = ctt_opt_main(&program, &j.c, argc, argv, &done);
    if (done && rc >= 0)
        return ctt_tool_end(0);
    if (rc < 0 || ctt_limits_set(&j.c.train.limits) < 0 ||
        complete(&j, argc, argv, rc) < 0)
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
