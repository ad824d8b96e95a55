/* SPDX-License-Identifier: Apache-2.0
 * budget_train.c: retrainings of --budget: for a few steps, or whole, from a
 * checkpoint if there is one. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <unistd.h>

/* ---- for a few steps ---- */

/* arg: a struct ctt_compress_job with short_steps.  A recipe of one epoch
 * retrains once, and then shared values if it has some, for a third as long. */
enum { SHARED = 3 };
static int retrain_steps(void *arg, const char *stage, int epochs,
                   const struct ctt_changes *during, struct ctt_model *m)
{
    struct ctt_compress_job *j = arg;
    struct ctt_train_cfg cfg = j->c.train;
    struct ctt_events ev = j->ev;
    struct ctt_result r;
    int rc;

    (void)stage;
    (void)epochs;
    cfg.max_steps = j->short_steps;
    cfg.epochs = (int)(j->short_steps / ctt_compress_batches(j)) + 1;
    j->short_steps = (j->short_steps + SHARED - 1) / SHARED;
    cfg.warmup = 0;
    cfg.checkpoint = NULL;
    cfg.wiring.changes = during;
    ev.epoch = NULL;
    CTT_TRY(ctt_train(m, &cfg, j->data, NULL, &ev, &r));
    CTT_CHECK(!r.stopped, CTT_ESTOP, "--budget: stopped; the same command goes "
              "on from %s", j->c.sense_log);
out:
    return rc;
}

/* A third of the frames that are enough elsewhere, as retraining follows, and
 * sampling would take longer than that. */
enum { FRAMES = 1000 };
static int sample_fewer(void *arg, const struct ctt_model *m, int clips,
                  const int *node, int nodes, enum ctt_sampled what,
                  void (*take)(void *to, int k, const float *row), void *to)
{
    struct ctt_compress_job *j = arg;
    int64_t all = ctt_data_clips(j->data);
    int64_t frames = ctt_data_all_frames(j->data);

    if (clips == 0)
        clips = (int)(FRAMES * all / (frames > 0 ? frames : 1)) + 1;
    return ctt_compress_calls(j).sample(arg, m, clips, node, nodes, what, take,
                                        to);
}

static int train_short(struct ctt_compress_job *j, const struct ctt_recipe *o,
                       int steps, const char *what, const char *path,
                       struct ctt_model **m, struct ctt_report **report)
{
    struct ctt_recipe_calls all = ctt_compress_calls(j);
    const struct ctt_recipe_calls calls = { .arg = j, .retrain = retrain_steps,
        .norms = all.norms, .sample = all.sample ? sample_fewer : NULL,
        .slow_bytes = all.slow_bytes };
    int rc;

    snprintf(j->busy, sizeof(j->busy), "%s", what);
    j->watch.stage = j->busy;
    j->watch.span = (struct ctt_epochs){ .done = 0 };
    j->short_steps = steps;
    rc = o ? ctt_recipe_run(o, &calls, path, NULL, m, report)
           : retrain_steps(j, "", 1, NULL, *m);
    if (!o && rc >= 0)
        rc = ctt_model_save(path, *m);
    j->busy[0] = '\0';
    return rc;
}

/* ---- whole ---- */

/* The checkpoint of a killed run of this recipe; one of another recipe is left
 * out. */
static int open_from(struct ctt_compress_job *j, struct ctt_recipe_from *from,
                     char **place)
{
    const char *path = j->c.train.checkpoint;
    struct ctt_model *m = NULL;
    int rc = access(path, F_OK) == 0 ? 0 : CTT_EIO;

    if (rc >= 0)
        rc = ctt_model_load(path, 1, &m);
    if (rc >= 0)
        rc = ctt_pause_open(m, &j->c.train, place);
    if (rc >= 0)
        rc = ctt_pause_end(m, &j->c.train, j->data, j->val);
    if (rc >= 0) {
        *from = (struct ctt_recipe_from){ m, *place };
        m = NULL;
    }
    ctt_model_free(&m);
    return ctt_is_lack(rc) ? rc : 0;
}

static int train_whole(struct ctt_compress_job *j, const struct ctt_recipe *o,
                       const char *path, struct ctt_model **m,
                       struct ctt_report **report)
{
    struct ctt_recipe_calls calls = ctt_compress_calls(j);
    struct ctt_recipe_from from = { NULL, NULL };
    char *place = NULL;
    int again, rc;

    if (!calls.compare)
        calls.time = NULL;
    calls.compare = NULL;    /* everything is chosen */
    CTT_TRY(open_from(j, &from, &place));
    rc = from.m ? ctt_recipe_run(o, &calls, path, &from, m, report) : 0;
    again = !from.place || rc == CTT_EINVAL || rc == CTT_EFORMAT;
    if (from.place && again) {
        ctt_model_free(m);
        CTT_TRY(ctt_model_copy(j->m, m));
    }
    if (again)
        rc = ctt_recipe_run(o, &calls, path, NULL, m, report);
    CTT_TRY(rc);
    unlink(j->c.train.checkpoint);
out:
    ctt_model_free(&from.m);
    ctt_free(place);
    return rc;
}

int ctt_budget_train(void *arg, const struct ctt_recipe *o, int steps,
                     const char *what, const char *path, struct ctt_model **m,
                     struct ctt_report **report)
{
    const struct ctt_budget_job *r = arg;

    return steps ? train_short(r->j, o, steps, what, path, m, report)
                 : train_whole(r->j, o, path, m, report);
}
