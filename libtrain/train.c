/* SPDX-License-Identifier: Apache-2.0
 * train.c: the training loop: epochs of batches, tests, checkpoints, an end. */
#include "libtrain/state.h"

#include <math.h>
#include <string.h>

enum why { GOES_ON, LIMIT, STOPPED };    /* why an epoch ended */

static const struct ctt_task_kind *const tasks[] = {
    [CTT_RECOGNISE] = &ctt_recogniser, [CTT_PREDICT] = &ctt_predictor,
};

struct trainer {
    struct ctt_model           *m;
    const struct ctt_train_cfg *cfg;
    const struct ctt_task_kind      *task;
    struct ctt_data            *data, *val;
    const struct ctt_events    *ev;
    struct ctt_dev     *dev;
    void               *step, *test;    /* the task's */
    struct ctt_optim   *optim;
    struct ctt_loader  *loader;
    struct ctt_order   *plan;
    struct ctt_log     *log;
    struct ctt_buckets  buckets;
    struct ctt_place    at;
    float              *best;        /* weights that did best on val */
    uint64_t            seed;
    int64_t             steps;       /* until the end */
    double              start, wait;
    double              clips, train_seconds;    /* of this call */
    int64_t             first;       /* step this call began with */
};

static void say(const struct trainer *t, const char *line)
{
    if (t->ev && t->ev->say)
        t->ev->say(t->ev->arg, line);
}

static int wants_stop(const struct trainer *t)
{
    return t->ev && t->ev->stop && t->ev->stop(t->ev->arg);
}

/* ---- opening ---- */

static int check(const struct trainer *t)
{
    const struct ctt_data *sets[] = { t->data, t->val };
    const struct ctt_graph *g = t->m->g;
    int inputs = 0, rc = 0;

    for (int i = 0; i < g->count; i++)
        inputs += g->node[i].op == CTT_OP_INPUT;
    CTT_CHECK(inputs == 1, CTT_EUNSUP, "the model has %d inputs; clips feed "
              "one", inputs);
    for (size_t i = 0; i < CTT_LEN(sets); i++)
        if (sets[i])
            CTT_TRY(t->task->check(t->m->g, t->cfg, sets[i]));
out:
    return rc;
}

static void tell_buckets(const struct trainer *t)
{
    char line[640];

    if (ctt_buckets_tell(&t->buckets, line, sizeof(line)))
        say(t, line);
}

static void tell_memory(const struct trainer *t)
{
    struct ctt_memory_plan p = ctt_exec_plan(t->task->exec(t->step));
    char line[256];

    if (ctt_memory_tell(t->cfg, &p, line, sizeof(line)))
        say(t, line);
}

/* Without clips to test on. */
static int no_val(const struct trainer *t)
{
    int rc = 0;

    CTT_CHECK(!t->task->feeds || t->cfg->schedule != CTT_SAMPLED, CTT_EINVAL,
              "--schedule=sampled: the rate falls when the test loss stalls, "
              "and there are no clips to test on");
    if (t->task->feeds && ctt_sampling_waits(t->cfg))
        say(t, "no clips to test on: scheduled sampling will not start");
out:
    return rc;
}

static int open_val(struct trainer *t)
{
    int rc = 0;

    if (!t->val)
        return no_val(t);
    CTT_TRY(t->task->test_open(t->m->g, t->m->w, t->cfg, t->dev, t->val,
                               &t->test));
    t->best = ctt_calloc((size_t)t->m->g->weights, sizeof(float));
    CTT_TRY(t->best ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* Goes on from a checkpoint, which has done its duty then. */
static int restore(struct trainer *t)
{
    int rc = 0;

    if (!t->m->train)
        goto out;
    CTT_TRY(ctt_checkpoint_load(t->m, t->cfg, t->data, t->optim, &t->at,
                                t->best));
    CTT_CHECK(t->at.batch <= t->plan->batches, CTT_EFORMAT,
              "the checkpoint is at batch %lld of %d",
              (long long)t->at.batch, t->plan->batches);
    ctt_state_free(&t->m->train);
out:
    return rc;
}

/* All clips of a batch need the memory of the longest there is. */
static int blame_longest(const struct trainer *t, int rc)
{
    const struct ctt_data *d = t->data;

    for (int i = 0; rc == CTT_ENOMEM && i < d->clips; i++)
        if (d->clip[i].length == d->longest)
            return ctt_error(rc, "%s (the longest clip, %s, has %d frames: "
                             "%s%s or a smaller --batch helps)", ctt_errmsg(),
                             d->list->item[d->clip[i].item].id, d->longest,
                             t->task->saves, ctt_memory_auto(t->cfg)
                             ? "more --memory" : "--keep=auto");
    return rc;
}

static int open_all(struct trainer *t)
{
    const struct ctt_train_cfg *cfg = t->cfg;
    int rc = 0, resumed = t->m->train != NULL;

    CTT_TRY(check(t));
    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &t->dev));
    ctt_dev_deterministic(t->dev, cfg->deterministic);
    CTT_TRY(ctt_buckets_find(t->data, cfg->batch, cfg->buckets, &t->buckets));
    tell_buckets(t);
    CTT_TRY(ctt_order_new(t->data, cfg->batch, &t->plan));
    CTT_TRY(ctt_optim_open(t->m->g, cfg, t->m->keep, &t->optim));
    ctt_sampling_begin(cfg, t->plan->batches, &t->at.sampling);
    CTT_TRY(open_val(t));
    CTT_TRY(restore(t));
    CTT_TRY(blame_longest(t, t->task->open(t->m->g, t->m->w, cfg, t->dev,
                                           t->data, &t->step)));
    tell_memory(t);
    CTT_TRY(ctt_loader_open(t->data, cfg->batch, t->data->longest,
                            &t->loader));
    CTT_TRY(ctt_log_open(cfg->log_csv, cfg->log_json, cfg->task, resumed,
                         &t->log));
    t->seed = (uint64_t)cfg->seed;
    t->steps = (int64_t)cfg->epochs * t->plan->batches;
    if (cfg->max_steps && cfg->max_steps < t->steps)
        t->steps = cfg->max_steps;
    t->first = t->at.step;
    t->start = ctt_seconds();
    for (int64_t i = 0; t->m->keep && i < t->m->g->weights; i++)
        if (!t->m->keep[i])
            t->m->w[i] = 0;
out:
    return rc;
}

static int close_all(struct trainer *t)
{
    ctt_loader_close(&t->loader);
    t->task->close(&t->step);
    t->task->test_close(&t->test);
    ctt_optim_close(&t->optim);
    ctt_order_free(&t->plan);
    ctt_free(t->best);
    ctt_dev_close(&t->dev);
    return ctt_log_close(&t->log);
}

/* ---- files ---- */

static int checkpoint(struct trainer *t)
{
    if (!t->cfg->checkpoint)
        return 0;
    return ctt_checkpoint_save(t->cfg->checkpoint, t->m, t->cfg, t->data,
                               t->optim, &t->at, t->best);
}

static double score_of(const struct trainer *t, const struct ctt_score *s)
{
    return *(const double *)((const char *)s + t->task->score);
}

/* The line on how the model was made. */
static int history(const struct trainer *t, char **out)
{
    char test[64] = "";

    if (t->at.best_epoch)
        snprintf(test, sizeof(test), " %s=%.4f", t->task->word,
                 score_of(t, &t->at.val));
    return ctt_history(t->m, t->cfg, t->data, t->at.step, test, out);
}

/* keep: m->history stays as it is written now. */
static int write_out(struct trainer *t, int keep)
{
    char *old = t->m->history, *now = NULL;
    int rc = 0;

    CTT_TRY(ctt_weights_check(t->m));
    CTT_TRY(history(t, &now));
    t->m->history = now;
    if (t->cfg->out)
        rc = ctt_model_save(t->cfg->out, t->m);
    if (keep && rc >= 0) {
        ctt_free(old);
    } else {
        t->m->history = old;
        ctt_free(now);
    }
out:
    return rc;
}

/* ---- an epoch ---- */

static double average(double sum, double of)
{
    return of > 0 ? sum / of : 0;
}

/* The chance of a true frame in the step to come. */
static double truth(const struct trainer *t)
{
    return t->task->feeds ? ctt_sampling_truth(t->cfg, &t->at.sampling,
                                               t->at.step, t->plan->batches)
                          : 1;
}

/* The rate of a step. */
static double rate(const struct trainer *t, int64_t step)
{
    return ctt_lr(t->cfg, step, t->steps, t->plan->batches,
                  t->at.sampling.falls);
}

static void report(const struct trainer *t, struct ctt_progress *p)
{
    double seconds = ctt_seconds() - t->start;
    double done = (double)(t->at.step - t->first);
    double left = (double)(t->steps - t->at.step);

    *p = (struct ctt_progress){
        .task = t->cfg->task, .truth = truth(t),
        .epoch = (int)t->at.epoch + 1, .epochs = t->cfg->epochs,
        .batch = (int)t->at.batch, .batches = t->plan->batches,
        .step = t->at.step, .steps = t->steps,
        .lr = t->at.step ? rate(t, t->at.step - 1) : 0,
        .loss = average(t->at.sums.loss, t->at.sums.weight),
        .top1 = average(t->at.sums.right, t->at.sums.clips),
        .clips_a_second = average(t->clips, t->train_seconds),
        .wait = average(t->wait, t->train_seconds), .seconds = seconds,
        .left = done > 0 ? seconds / done * left : 0,
    };
    if (t->cfg->time_limit > 0 && p->left > 60 * t->cfg->time_limit - seconds)
        p->left = 60 * (double)t->cfg->time_limit - seconds;
}

static int update(struct trainer *t, const struct ctt_turn *turn)
{
    float *dw = t->task->exec(t->step)->dw;
    double norm = ctt_optim_norm(t->optim, dw);
    int rc = 0;

    if (!isfinite(norm))
        CTT_TRY(t->task->blame(t->step, turn));
    ctt_optim_step(t->optim, dw, norm, rate(t, t->at.step), t->m->w);
out:
    return rc;
}

static int train_batch(struct trainer *t, const struct ctt_batch *b)
{
    const struct ctt_turn turn = {
        .data = t->data, .batch = b, .seed = t->seed,
        .epoch = (uint64_t)t->at.epoch, .step = (uint64_t)t->at.step,
        .truth = truth(t),
    };
    double clips = t->at.sums.clips;
    int rc;

    if (b->bad && t->ev && t->ev->clip)
        t->ev->clip(t->ev->arg, b->bad);
    rc = t->task->run(t->step, &turn, &t->at.sums);
    if (rc >= 0)
        rc = update(t, &turn);
    if (rc < 0)
        return ctt_error(rc, "step %lld: %s", (long long)t->at.step + 1,
                         ctt_errmsg());
    t->clips += t->at.sums.clips - clips;
    t->at.step++;
    t->at.batch++;
    return 0;
}

static enum why after_batch(struct trainer *t)
{
    const struct ctt_train_cfg *c = t->cfg;
    struct ctt_progress p;

    if (t->ev && t->ev->progress) {
        report(t, &p);
        t->ev->progress(t->ev->arg, &p);
    }
    if (wants_stop(t))
        return STOPPED;
    if (c->max_steps && t->at.step >= c->max_steps)
        return LIMIT;
    if (c->time_limit > 0 &&
        ctt_seconds() - t->start >= 60 * (double)c->time_limit)
        return LIMIT;
    return GOES_ON;
}

static void start_epoch(struct trainer *t)
{
    const struct ctt_train_cfg *c = t->cfg;
    uint64_t epoch = (uint64_t)t->at.epoch;
    struct ctt_augment a = { c->jitter, c->flip, c->brightness, c->contrast,
        ctt_key(ctt_key(t->seed, CTT_KEY_IMAGE), epoch) | 1 };

    ctt_order_make(t->data, &t->buckets, 1,
                  ctt_key(ctt_key(t->seed, CTT_KEY_ORDER), epoch), t->plan);
    ctt_loader_start(t->loader, t->plan, &a, (int)t->at.batch);
}

static int run_epoch(struct trainer *t, enum why *why)
{
    int every = t->cfg->checkpoint_every, rc = 0;
    double begin = ctt_seconds();
    struct ctt_batch b;

    *why = GOES_ON;
    start_epoch(t);
    while (*why == GOES_ON &&
           (rc = ctt_loader_next(t->loader, &b, &t->wait)) > 0) {
        double now;
        CTT_TRY(train_batch(t, &b));
        ctt_loader_done(t->loader);
        now = ctt_seconds();
        t->train_seconds += now - begin;
        begin = now;
        *why = after_batch(t);
        if (*why != GOES_ON || (every && t->at.step % every == 0))
            CTT_TRY(checkpoint(t));
    }
out:
    return rc < 0 ? rc : 0;
}

/* Whether the model is to see its own answers from now on, and at which
 * rate. */
static void sample(struct trainer *t, double loss, int last)
{
    char line[128];

    if (t->task->feeds &&
        ctt_sampling_tested(t->cfg, loss, t->at.step, &t->at.sampling) &&
        ctt_sampling_tell(t->cfg, &t->at.sampling, line, sizeof(line)) && !last)
        say(t, line);
}

/* A test; 1 if it was stopped and counts nothing. */
static int test(struct trainer *t, int last, struct ctt_epoch *e)
{
    int rc = 0;

    CTT_TRY(t->task->test(t->test, t->ev, &e->val));
    if (rc == 1)
        goto out;
    e->tested = 1;
    sample(t, e->val.loss, last);
    e->best = !t->at.best_epoch || t->task->better(&e->val, &t->at.val);
    if (!e->best)
        goto out;
    t->at.best_epoch = t->at.epoch + 1;
    t->at.val = e->val;
    memcpy(t->best, t->m->w, (size_t)t->m->g->weights * sizeof(float));
    if (t->cfg->out)
        CTT_TRY(write_out(t, 0));
out:
    return rc;
}

/* 1: stopped during the test; the epoch then still has to end. */
static int end_epoch(struct trainer *t, int last, struct ctt_result *result)
{
    struct ctt_epoch e = { .tested = 0 };
    int rc = 0;

    report(t, &e.p);
    if (t->test && (last || (t->at.epoch + 1) % t->cfg->val_every == 0))
        CTT_TRY(test(t, last, &e));
    if (rc == 1)
        goto out;
    CTT_TRY(ctt_log_row(t->log, &e));
    if (t->ev && t->ev->epoch)
        t->ev->epoch(t->ev->arg, &e,
                     e.tested ? t->task->counts(t->test) : NULL);
    result->loss = e.p.loss;
    result->top1 = e.p.top1;
    t->at.epoch++;
    t->at.batch = 0;
    memset(&t->at.sums, 0, sizeof(t->at.sums));
out:
    return rc;
}

/* Only a test can end it. */
static int patience_ends(const struct trainer *t)
{
    return t->cfg->early_stop && t->at.best_epoch &&
           t->at.epoch % t->cfg->val_every == 0 &&
           t->at.epoch - t->at.best_epoch >= t->cfg->early_stop;
}

static int loop(struct trainer *t, struct ctt_result *result)
{
    enum why why = GOES_ON;
    int rc = 0;

    while (why == GOES_ON && t->at.epoch < t->cfg->epochs) {
        CTT_TRY(run_epoch(t, &why));
        if (why == STOPPED)
            break;
        CTT_TRY(end_epoch(t, why == LIMIT ||
                          t->at.epoch + 1 == t->cfg->epochs, result));
        if (rc == 1)
            why = STOPPED;
        if (why != LIMIT && (!t->cfg->checkpoint_every || rc == 1))
            CTT_TRY(checkpoint(t));
        if (patience_ends(t))
            break;
    }
    rc = 0;
    result->stopped = why == STOPPED;
    result->epochs = (int)t->at.epoch;
    result->steps = t->at.step;
out:
    return rc;
}

static int finish(struct trainer *t, struct ctt_result *r)
{
    r->best_epoch = (int)t->at.best_epoch;
    r->val = t->at.val;
    r->seconds = ctt_seconds() - t->start;
    r->clips_a_second = average(t->clips, t->train_seconds);
    r->wait = average(t->wait, t->train_seconds);
    if (r->stopped)
        return 0;
    if (t->at.best_epoch)
        memcpy(t->m->w, t->best, (size_t)t->m->g->weights * sizeof(float));
    return write_out(t, 1);
}

int ctt_train(struct ctt_model *m, const struct ctt_train_cfg *cfg,
              struct ctt_data *train, struct ctt_data *val,
              const struct ctt_events *ev, struct ctt_result *out)
{
    struct trainer t = { .m = m, .cfg = cfg, .task = tasks[cfg->task],
                         .data = train, .val = val, .ev = ev };
    struct ctt_result r = { 0 };
    int rc = 0, bad;

    CTT_TRY(open_all(&t));
    CTT_TRY(loop(&t, &r));
    CTT_TRY(finish(&t, &r));
    *out = r;
out:
    bad = close_all(&t);
    return rc < 0 ? rc : bad;
}
