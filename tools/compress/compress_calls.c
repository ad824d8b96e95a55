/* SPDX-License-Identifier: Apache-2.0
 * compress_calls.c: callbacks of the recipe of convtt-compress: checkpoints,
 * retraining, tests and measurements. */
#include "tools/compress/compress_tool.h"
#include "device/device.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int stopped(const struct ctt_compress_job *j, const char *stage)
{
    return ctt_error(CTT_ESTOP, "%s: stopped; %s%s", stage, j->saved
                     ? "--resume continues from " : "nothing is written",
                     j->saved ? j->c.train.checkpoint : "");
}

static int save_checkpoint(void *arg, struct ctt_model *m, const char *place)
{
    struct ctt_compress_job *j = arg;
    int rc = 0;

    ctt_free(j->place);
    j->c.train.wiring.recipe = j->place = ctt_strdup(place);
    CTT_TRY(j->place ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_pause_save(j->c.train.checkpoint, m, &j->c.train, j->data,
                           j->val));
    j->saved = 1;
out:
    return rc;
}

static int retrain_stage(void *arg, const char *stage, int epochs,
                         const struct ctt_changes *during, struct ctt_model *m)
{
    struct ctt_compress_job *j = arg;
    struct ctt_train_cfg cfg = j->c.train;
    struct ctt_result r;
    char scale[96];
    int rc = 0;

    j->watch.stage = stage;
    cfg.epochs = epochs;
    cfg.wiring.changes = during;
    cfg.wiring.or_given = 1;
    CTT_TRY(ctt_train(m, &cfg, j->data, j->val, &j->ev, &r));
    if (r.stopped)
        CTT_TRY(stopped(j, stage));
    if (r.best_epoch == CTT_BEST_GIVEN)
        ctt_tool_say("%s: no epoch of retraining was better on the validation "
                     "clips, so the weights from before it are kept; another "
                     "--lr may help", stage);
    if (cfg.amp)
        ctt_tool_say("%s: %s", stage, ctt_say_scale(r.scale, r.skipped, scale,
                                                    sizeof(scale)));
    CTT_TRY(ctt_compress_perplexity(j, stage, m));
out:
    return rc;
}

/* Of a run that goes on, the original is tested again. */
static int test_given(struct ctt_compress_job *j)
{
    struct ctt_score s;

    if (j->base || !j->c.train.resume)
        return 0;
    return ctt_compress_test(j->given, &j->c.train, j->val, NULL, &s, &j->base);
}

/* Tests m on the validation clips; base and all as of ctt_compress_test(). */
static int test_model(struct ctt_compress_job *j, const char *stage,
                      const struct ctt_model *m, const struct ctt_metrics *base,
                      struct ctt_score *s, struct ctt_metrics **all)
{
    double part = (double)j->watch.span.now;
    struct ctt_work work = ctt_compress_work(&j->watch.span, part);
    char far[128];
    int rc;

    ctt_epochs_text(&j->watch.span, part, far, sizeof(far));
    ctt_tool_progress(&work, "%s: validation%s", stage, far);
    rc = ctt_compress_test(m, &j->c.train, j->val, base, s, all);
    if (ctt_tool_stop())
        CTT_TRY(stopped(j, stage));
out:
    return rc;
}

/* The first model that a recipe tests is the one as given. */
static int accuracy(void *arg, const char *stage, const struct ctt_model *m,
                    struct ctt_score *s)
{
    struct ctt_compress_job *j = arg;
    int rc = 0;

    CTT_TRY(test_given(j));
    CTT_TRY(test_model(j, stage, m, j->base, s, j->base ? NULL : &j->base));
    ctt_tool_say("%s: %s %.1f%%, %.1f%%, %.1f%% at 25, 50, 100%%", stage,
                 ctt_score_word(j->m->g->several), 100 * s->top1[0],
                 100 * s->top1[1], 100 * s->top1[2]);
out:
    return rc;
}

static int against(void *arg, const char *stage, const struct ctt_model *was)
{
    struct ctt_compress_job *j = arg;
    struct ctt_score s;

    ctt_metrics_free(&j->was);
    return test_model(j, stage, was, NULL, &s, &j->was);
}

static int loss(void *arg, const char *stage, const struct ctt_model *m,
                struct ctt_loss *out)
{
    struct ctt_compress_job *j = arg;
    struct ctt_metrics *is = NULL;
    struct ctt_score s;
    int rc = 0;

    CTT_TRY(test_model(j, stage, m, NULL, &s, &is));
    ctt_compress_loss(j->was, is, ctt_data_clips(j->val), out);
    ctt_tool_say("%s: %s %.1f%%, %.1f%%, %.1f%% at 25, 50, 100%%; %.1f "
                 "points %s in the mean, standard error %.1f", stage,
                 ctt_score_word(j->m->g->several), 100 * s.top1[0],
                 100 * s.top1[1], 100 * s.top1[2],
                 100 * fabs(out->mean), out->mean < 0 ? "won" : "lost",
                 100 * out->error);
out:
    ctt_metrics_free(&is);
    return rc;
}

static int norms(void *arg, const char *stage, struct ctt_model *m)
{
    struct ctt_compress_job *j = arg;
    int rc = ctt_norms_estimate(m, &j->c.train, j->data,
                                j->c.recipe.norm_clips);

    if (rc == CTT_ESTOP)
        CTT_TRY(stopped(j, stage));
out:
    return rc;
}

static int sample(void *arg, const struct ctt_model *m, int clips,
                  const int *node, int nodes, enum ctt_sampled what,
                  void (*take)(void *to, int k, const float *row), void *to)
{
    struct ctt_compress_job *j = arg;
    struct ctt_sample want = { node, nodes, what, take, to };

    ctt_tool_progress(&j->around, "%s: %s%s",
                      j->busy[0] ? j->busy : "measuring responses",
                      m->g->node[node[0]].name, nodes > 1 ? ", ..." : "");
    return ctt_sample_values(m, &j->c.train, j->data, clips, &want);
}

static void span(void *arg, const struct ctt_epochs *s)
{
    struct ctt_compress_job *j = arg;
    double each = j->watch.span.each;

    j->watch.span = *s;
    j->watch.span.each = each;
}

static void print_line(void *arg, const char *line)
{
    (void)arg;
    ctt_tool_say("%s", line);
}

static void busy(void *arg, const char *what)
{
    struct ctt_compress_job *j = arg;

    snprintf(j->busy, sizeof(j->busy), "%s", what);
}

int64_t ctt_compress_batches(const struct ctt_compress_job *j)
{
    int batch = j->c.train.batch;

    return (ctt_data_clips(j->data) + batch - 1) / batch;
}

static int timed_threads(const struct ctt_compress_job *j)
{
    return j->c.time_threads ? j->c.time_threads : j->c.train.threads;
}

static int time_model(void *arg, const char *path, struct ctt_speed *s)
{
    const struct ctt_compress_job *j = arg;

    return ctt_compress_time(j->path, path, j->c.train.device,
                             timed_threads(j), 0, s);
}

static int compare_models(void *arg, const char *base, const char *path,
                          struct ctt_speed *s)
{
    const struct ctt_compress_job *j = arg;

    ctt_tool_progress(&j->around, "timing what there is to choose");
    if (ctt_tool_stop())
        return stopped(j, "choices");
    return ctt_compress_time(base, path, j->c.train.device, timed_threads(j),
                             j->many_times, s);
}

int ctt_compress_may_time(const struct ctt_compress_cfg *c)
{
    return c->by_times && strcmp(c->train.device, "ref") != 0;
}

struct ctt_recipe_calls ctt_compress_calls(struct ctt_compress_job *j)
{
    struct ctt_recipe_calls calls = { .arg = j, .time = time_model,
        .slow_bytes = ctt_dev_has(j->c.train.device,
                                  CTT_DEV_OWN_MEMORY) };

    if (ctt_compress_may_time(&j->c))
        calls.compare = compare_models;
    calls.say = print_line;
    calls.busy = busy;
    if (j->val && j->c.train.task == CTT_RECOGNISE) {
        calls.accuracy = accuracy;
        calls.against = against;
        calls.loss = loss;
        calls.clips = ctt_data_clips(j->val);
    }
    if (j->data && j->c.recipe.norm_clips > 0)
        calls.norms = norms;
    if (j->data)
        calls.sample = sample;
    if (j->c.recipe.epochs > 0) {
        calls.retrain = retrain_stage;
        calls.span = span;
        calls.save = save_checkpoint;
    }
    return calls;
}
