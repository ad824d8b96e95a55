/* SPDX-License-Identifier: Apache-2.0
 * task.c: prediction as a task: its row of functions. */
#include "libtrain/predict/predict.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/data.h"
#include "libtrain/layers.h"
#include "libtrain/task.h"

#include <stdio.h>

static int check_sequences(const struct ctt_graph *g,
                           const struct ctt_train_cfg *cfg,
                           const struct ctt_data *d)
{
    int frames = ctt_cfg_frames(cfg), rc = 0;

    CTT_TRY(ctt_predict_check(g));
    CTT_CHECK(!g->several, CTT_EINVAL, "the line 'several' is of models with "
              "classes, and this one predicts frames");
    CTT_TRY(ctt_data_check(d, g));
    for (int i = 0; i < d->clips; i++)
        CTT_CHECK(d->clip[i].length == frames, CTT_EINVAL,
                  "a sequence has %d frames instead of %d + %d",
                  d->clip[i].length, cfg->input_frames, cfg->future_frames);
out:
    return rc;
}

static int graph(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                 struct ctt_graph **out)
{
    int rc = ctt_predict_graph(g, ctt_predict_losses[cfg->loss], out);

    if (rc >= 0)
        ctt_freeze(*out, cfg);
    return rc;
}

static struct ctt_size step_size(const struct ctt_train_cfg *cfg, int longest)
{
    (void)longest;
    return (struct ctt_size){ ctt_cfg_frames(cfg) - 1, 0 };
}

/* The windows of --window; by default short ones, or the whole clip if a norm
 * needs its statistics. */
static int memory_of(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                     struct ctt_memory *m)
{
    const char *norm = ctt_exec_norm(g);
    int rc = 0;

    CTT_TRY(ctt_memory_parse(cfg, m));
    if (!norm || cfg->window)
        goto out;
    CTT_CHECK(m->keep < 0, CTT_EINVAL, "--keep=%s requires --window, because "
              "%s: kind=batch takes the statistics of the whole clip",
              cfg->keep, norm);
    m->window = 0;
out:
    return rc;
}

static int open_step(const struct ctt_graph *g, const float *w,
                     const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                     const struct ctt_data *d, void **out)
{
    struct ctt_predict_step *s = NULL;
    struct ctt_memory m;
    int rc = 0;

    (void)d;
    CTT_TRY(memory_of(g, cfg, &m));
    CTT_TRY(ctt_predict_step_open(g, w, cfg, dev, &m, &s));
    *out = s;
out:
    return rc;
}

static void close_step(void **s)
{
    struct ctt_predict_step *x = *s;

    ctt_predict_step_close(&x);
    *s = NULL;
}

static struct ctt_exec *exec(const void *s)
{
    return ((const struct ctt_predict_step *)s)->x;
}

static double weight(const void *s, int clips)
{
    return (double)ctt_predict_step_rows(s, clips);
}

static int run_step(void *s, const struct ctt_turn *t, struct ctt_sums *sums)
{
    struct ctt_predict_step *p = s;

    p->scale = t->scale;
    p->skips = t->skips;
    return ctt_predict_step_run(p, t, sums);
}

static int blame(void *s, const struct ctt_turn *t)
{
    return ctt_predict_step_blame(s, t);
}

/* ---- tests ---- */

struct predict_test {
    struct ctt_predict_eval   *f;
    struct ctt_predict_scores *sums;
    int                        told;    /* the baselines were reported */
};

static void close_test(void **e)
{
    struct predict_test *t = *e;

    if (!t)
        return;
    ctt_predict_eval_close(&t->f);
    ctt_predict_scores_free(&t->sums);
    ctt_free(t);
    *e = NULL;
}

static int open_test(const struct ctt_graph *g, const float *w,
                     const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                     struct ctt_data *d, void **out)
{
    void *made = ctt_calloc(1, sizeof(struct predict_test));
    struct predict_test *t = made;
    int rc = t ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_predict_eval_open(g, w, cfg, dev, d, &t->f));
    CTT_TRY(ctt_predict_scores_new(cfg->input_frames, cfg->future_frames,
                                   &t->sums));
    *out = made;
    made = NULL;
out:
    close_test(&made);
    return rc;
}

/* Reports the quality of the baselines. */
static void tell_baselines(struct predict_test *t, const struct ctt_events *ev)
{
    struct ctt_quality a = ctt_predict_scores_at(t->sums, CTT_BY_LAST_FRAME, 0);
    struct ctt_quality b = ctt_predict_scores_at(t->sums, CTT_BY_LINEAR_MOTION,
                                                 0);
    char line[160];

    snprintf(line, sizeof(line), "baselines: repeated last frame MSE "
             "%.2fe-3, SSIM %.3f; linear motion MSE %.2fe-3, SSIM %.3f",
             1e3 * a.mse, a.ssim, 1e3 * b.mse, b.ssim);
    if (ev && ev->say)
        ev->say(ev->arg, line);
    t->told = 1;
}

static int test_model(void *e, const struct ctt_events *ev,
                      struct ctt_test_score *out)
{
    struct predict_test *t = e;
    struct ctt_quality q;
    int rc = ctt_predict_eval_run(t->f, !t->told, t->sums);

    if (rc != 0)
        return rc;
    if (!t->told)
        tell_baselines(t, ev);
    q = ctt_predict_scores_at(t->sums, CTT_BY_MODEL, 0);
    *out = (struct ctt_test_score){
        .loss = t->sums->loss / (double)t->sums->sequences,
        .mse = q.mse, .psnr = q.psnr, .ssim = q.ssim, .ssim2 = q.ssim2 };
    return 0;
}

static const struct ctt_metrics *counts(const void *e)
{
    (void)e;
    return NULL;
}

static int better(const struct ctt_test_score *a,
                  const struct ctt_test_score *b)
{
    return a->mse < b->mse;
}

const struct ctt_task_kind ctt_predict_task = {
    .feedback = 1, .check = check_sequences, .graph = graph, .size = step_size,
    .memory = memory_of, .open = open_step, .close = close_step, .exec = exec,
    .weight = weight, .run = run_step, .blame = blame, .test_open = open_test,
    .test_close = close_test, .test = test_model, .counts = counts,
    .better = better, .saves = "", .word = "val_mse",
    .score = offsetof(struct ctt_test_score, mse),
};
