/* SPDX-License-Identifier: Apache-2.0
 * loop.c: the training loop: epochs of batches, tests, checkpoints, an end. */
#include "libtrain/trainer.h"
#include "libtrain/data/load.h"
#include "libtrain/log.h"
#include "libtrain/optim.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/recognise/aux_head.h"
#include "base/clock.h"
#include "base/span.h"

#include <math.h>
#include <string.h>

enum why { GOES_ON, LIMIT, STOPPED };    /* reason of the end of an epoch */

/* ---- an epoch ---- */

static double average(double sum, double of)
{
    return of > 0 ? sum / of : 0;
}

/* The same; NAN if there was nothing to average. */
static double known(double sum, double of)
{
    return of > 0 ? sum / of : NAN;
}

/* The probability of a true frame in the next step. */
static double truth(const struct ctt_trainer *t)
{
    return t->task->feedback ? ctt_sampling_truth(t->cfg, &t->at.sampling,
                                               t->at.step, t->plan->batches)
                          : 1;
}

/* The learning rate of a step. */
static double learning_rate(const struct ctt_trainer *t, int64_t step)
{
    int64_t each = t->plan->batches, before = 0;

    if (t->cfg->wiring.last_of > t->cfg->epochs)
        before = (int64_t)(t->cfg->wiring.last_of - t->cfg->epochs) * each;
    return ctt_dsd_rate(t->cfg, step, t->steps) *
           ctt_lr(t->cfg, before + step, (double)before +
                  ctt_lr_until(t->cfg, step, t->steps, each, t->at.used), each,
                  t->at.sampling.falls);
}

/* The weight of the prediction of the next frame in a step. */
static double ahead(const struct ctt_trainer *t, int64_t step)
{
    double until = ctt_lr_until(t->cfg, step, t->steps, t->plan->batches,
                                t->at.used);

    return ctt_aux_head_weight(t->cfg, (double)step / fmax(until - 1, 1));
}

/* The share of --time-limit that is used, with earlier parts of the run; 0
 * without a limit. */
static double time_used(const struct ctt_trainer *t)
{
    double limit = 60 * (double)t->cfg->time_limit;

    if (limit <= 0)
        return 0;
    return fmin(1, t->used + (1 - t->used) *
                (ctt_seconds() - t->start) / limit);
}

static void fill_progress(const struct ctt_trainer *t, struct ctt_progress *p)
{
    double seconds = ctt_seconds() - t->start;
    double done = (double)(t->at.step - t->first);
    double left = (double)(t->steps - t->at.step);

    *p = (struct ctt_progress){
        .task = t->cfg->task, .clips = ctt_word_clips(t->cfg),
        .truth = truth(t),
        .epoch = (int)t->at.epoch + 1, .epochs = t->cfg->epochs,
        .batch = (int)t->at.batch, .batches = t->plan->batches,
        .ranks = ctt_comm_place(t->comm)->ranks,
        .step = t->at.step, .steps = t->steps,
        .lr = t->at.step > t->first ? t->lr :
              t->at.step ? learning_rate(t, t->at.step - 1) : 0,
        .loss = known(t->at.sums.loss, t->at.sums.weight), .last = t->last,
        .ahead = known(t->at.sums.ahead, t->at.sums.values),
        .ahead_weight = ahead(t, t->at.step ? t->at.step - 1 : 0),
        .top1 = known(t->at.sums.right, t->at.sums.clips),
        .clips_a_second = average(t->clips, t->train_seconds),
        .wait = average(t->wait, t->train_seconds), .seconds = seconds,
        .left = done > 0 ? seconds / done * left : 0,
        .amp = t->cfg->amp != CTT_O0, .scale = t->at.scale.scale,
        .skipped = t->at.scale.skipped, .stale = t->stale,
        .stale_mean = known(t->stale.sum, (double)t->stale.all),
        .noise = ctt_noise_scale(t),
    };
    if (t->cfg->time_limit > 0 && p->left > 60 * t->cfg->time_limit - seconds)
        p->left = 60 * (double)t->cfg->time_limit - seconds;
}

/* A step whose loss or gradient is not finite changes no weight.  done: it has
 * a gradient.  It is an error if the loss is not scaled or the scale has
 * collapsed. */
static int skip_step(struct ctt_trainer *t, const struct ctt_turn *turn,
                     int done)
{
    const struct ctt_strategy *s = t->strategy;
    int alone = s->blames && !t->lock, rc;

    if (turn->skips && turn->scale > t->at.scale.scale) {
        t->at.scale.skipped++;    /* of a scale that was too large before */
        return 0;
    }
    if (turn->skips && ctt_scale_after(&t->at.scale, 0) == CTT_LEAVE)
        return done && (s->blames || s->together)
               ? ctt_trainer_overflow(t) : 0;
    if (alone) {
        rc = ctt_trainer_frames(t, turn->batch);    /* the next may be there */
        rc = rc < 0 ? rc : t->task->blame(t->step, turn);
    } else {
        rc = ctt_error(CTT_ENAN, "the gradient is not finite (without --%s%s "
                       "the node is looked for)", s->option ? s->option(t->cfg)
                       : "sync-norm", s->option && t->cfg->sync_norm
                       ? " and --sync-norm" : "");
    }
    if (alone && t->shards.count > 1)
        rc = ctt_error(rc, "%s (of one of %d shards, as the clips of others "
                       "are gone; --shards=1 looks at all clips)", ctt_errmsg(),
                       t->shards.count);
    if (!turn->skips)
        return rc;
    return ctt_error(rc, "%s, with a loss scale of %.0f after %lld steps in a "
                     "row without an update (a smaller --lr, --amp-type=bf16 "
                     "or --amp-deny may help; files stay as they are)",
                     ctt_errmsg(), turn->scale, (long long)t->at.scale.skips);
}

/* done: the step has computed a gradient, times `scale`; squares: of shards. */
static int update_weights(struct ctt_trainer *t, const struct ctt_turn *turn,
                          int done, double squares, double scale)
{
    double norm = INFINITY, start = ctt_span_begin();
    int rc = 0;

    if (done)
        CTT_TRY(ctt_optim_norm(t->optim, t->dw, &norm));
    if (!isfinite(norm))
        return skip_step(t, turn, done);
    ctt_noise_add(t, squares, norm, scale);
    CTT_TRY(ctt_optim_step(t->optim, norm, scale, t->lr));
    ctt_scale_after(&t->at.scale, 1);
    ctt_span_end(CTT_SPAN_UPDATE, start);
out:
    return rc;
}

/* Before a step: prunes more, or less. */
static int prune_next(struct ctt_trainer *t)
{
    const struct ctt_changes *c = t->changes;
    char line[192];
    int rc = 0;

    if (!c || !c->due(c->arg, t->at.step, t->steps))
        goto out;
    CTT_TRY(ctt_optim_pull(t->optim));
    CTT_TRY(c->change(c->arg, t->m, t->at.step, t->steps));
    CTT_TRY(ctt_optim_constrain(t->optim, &t->m->constraint));
    ctt_shards_forget(&t->shards, &t->m->constraint);
    t->at.best_epoch = 0;    /* of an earlier end, or an older checkpoint */
    if (c->tell && c->tell(c->arg, t->at.step, t->steps, line, sizeof(line)))
        ctt_trainer_say(t, line);
out:
    return rc;
}

static int train_batch(struct ctt_trainer *t, struct ctt_batch *b)
{
    struct ctt_turn turn = {
        .data = t->data, .seed = t->seed,
        .epoch = (uint64_t)t->at.epoch, .step = (uint64_t)t->at.step,
        .truth = truth(t), .scale = t->at.scale.scale,
        .ahead = ahead(t, t->at.step), .skips = t->cfg->amp != CTT_O0,
    };
    struct ctt_sums before = t->at.sums;
    double scale, start = ctt_span_begin();
    int rc = 0, none;

    t->at.used = t->now;
    t->lr = learning_rate(t, t->at.step);
    CTT_TRY(none = t->strategy->gradient(t, b, &turn, &scale));
    CTT_TRY(update_weights(t, &turn, !none, t->at.sums.squares - before.squares,
                           scale));
    if (!none)
        ctt_carry_keep(t);
    t->clips += t->at.sums.clips - before.clips;
    t->last = known(t->at.sums.loss - before.loss,
                    t->at.sums.weight - before.weight);
    t->at.step++;
    t->at.batch++;
    ctt_span_end(CTT_SPAN_STEP, start);
out:
    return rc >= 0 ? 0 : ctt_error(rc, "step %lld: %s",
                                   (long long)t->at.step + 1, ctt_errmsg());
}

static int is_last_step(const struct ctt_trainer *t)
{
    return t->cfg->max_steps && t->at.step >= t->cfg->max_steps;
}

static int is_time_over(const struct ctt_trainer *t)
{
    double limit = 60 * (double)t->cfg->time_limit;

    return limit > 0 && ctt_seconds() - t->start >= limit;
}

/* Agrees on the end: a stop of one rank stops all, after the same step. */
static int agree_on_end(struct ctt_trainer *t, struct ctt_row_end *all)
{
    const struct ctt_row_end mine = {
        ctt_stopped() || t->stops, is_time_over(t), time_used(t) };
    int rc;

    CTT_TRY(ctt_comm_allgather(t->peers, &mine, sizeof(mine), t->end));
    *all = t->end[0];
    for (int r = 1; r < ctt_comm_place(t->peers)->ranks; r++) {
        all->stop |= t->end[r].stop;
        all->over |= t->end[r].over;
    }
    t->now = all->used;
out:
    return rc;
}

static int after_batch(struct ctt_trainer *t, enum why *why)
{
    struct ctt_row_end all;
    struct ctt_progress p;
    int rc;

    if (t->ev && t->ev->progress) {
        fill_progress(t, &p);
        t->ev->progress(t->ev->arg, &p);
    }
    CTT_TRY(agree_on_end(t, &all));
    *why = all.stop ? STOPPED : is_last_step(t) || all.over ? LIMIT : GOES_ON;
    if (*why == LIMIT && !is_last_step(t))
        t->at.used = 1;
out:
    return rc;
}

static void start_epoch(struct ctt_trainer *t)
{
    if (t->strategy->work)    /* the workers load */
        return;
    ctt_loader_rest(t->loader);
    ctt_trainer_plan(t, t->at.epoch);
    ctt_loader_start(t->loader, ctt_shards_plan(&t->shards, t->plan),
                     &t->plan->a, (int)t->at.batch * t->shards.mine);
}

static int run_epoch(struct ctt_trainer *t, enum why *why)
{
    int every = t->cfg->checkpoint_every, rc = 0;
    double begin = ctt_seconds();
    struct ctt_batch b;

    *why = is_last_step(t) ? LIMIT : GOES_ON;
    if (*why == GOES_ON)
        start_epoch(t);
    CTT_TRY(ctt_carry_begin(t));
    while (*why == GOES_ON && t->at.batch < t->plan->batches) {
        double now;

        CTT_TRY(prune_next(t));
        rc = train_batch(t, &b);
        if (rc == CTT_ESTOP)
            break;
        CTT_TRY(rc);
        if (!t->strategy->work)
            ctt_loader_done(t->loader);
        now = ctt_seconds();
        t->train_seconds += now - begin;
        begin = now;
        CTT_TRY(after_batch(t, why));
        if (*why != GOES_ON || (every && t->at.step % every == 0))
            CTT_TRY(ctt_trainer_save(t));
    }
    if (rc == CTT_ESTOP) {    /* while the loader decoded */
        *why = STOPPED;
        CTT_TRY(ctt_trainer_save(t));
    }
out:
    return rc < 0 ? rc : 0;
}

/* Says that an epoch has no loss, because each of its steps was skipped. */
static void tell_lost(const struct ctt_trainer *t, const struct ctt_progress *p)
{
    char line[128];

    if (!isnan(p->loss))
        return;
    snprintf(line, sizeof(line), "epoch %d: no step had a finite loss: nothing "
             "was learnt", p->epoch);
    ctt_trainer_say(t, line);
}

/* Returns 1 if stopped during the test: then the epoch has not ended yet. */
static int end_epoch(struct ctt_trainer *t, int last, struct ctt_result *result)
{
    struct ctt_epoch e = { .tested = 0 };
    int rc = 0;

    fill_progress(t, &e.p);
    tell_lost(t, &e.p);
    CTT_TRY(ctt_replicas_same(t));
    if (t->test && (last || (t->at.epoch + 1) % t->cfg->val_every == 0))
        CTT_TRY(ctt_trainer_test(t, last, &e));
    if (rc == 1)
        goto out;
    CTT_TRY(ctt_log_row(t->log, &e));
    if (t->ev && t->ev->epoch)
        t->ev->epoch(t->ev->arg, &e,
                     e.tested ? t->task->counts(t->test) : NULL);
    if (t->ev && t->ev->weights) {
        CTT_TRY(ctt_optim_pull(t->optim));
        t->ev->weights(t->ev->arg, t->m);
    }
    result->loss = e.p.loss;
    result->top1 = e.p.top1;
    t->at.epoch++;
    t->at.batch = 0;
    memset(&t->at.sums, 0, sizeof(t->at.sums));
    t->stale = (struct ctt_staleness){ .all = 0 };
    t->noise = (struct ctt_noise){ .shards = 0 };
out:
    return rc;
}

/* 1 if --early-stop ends the run, which only happens after a test. */
static int patience_ends(const struct ctt_trainer *t)
{
    int64_t best = t->at.best_epoch > 0 ? t->at.best_epoch : 0;

    return t->cfg->early_stop && t->at.best_epoch &&
           t->at.epoch % t->cfg->val_every == 0 &&
           t->at.epoch - best >= t->cfg->early_stop;
}

/* 1 if no epoch is to be begun or ended.  One that the limit of steps has cut
 * is tested and logged, also if a checkpoint is beyond the limit. */
static int is_done(const struct ctt_trainer *t)
{
    return t->at.epoch >= t->cfg->epochs ||
           (t->at.batch == 0 && (is_last_step(t) || patience_ends(t)));
}

/* Says that a checkpoint is at or beyond the end of the run. */
static void tell_done(const struct ctt_trainer *t)
{
    char line[128];

    if (!is_done(t) && !is_last_step(t))
        return;
    snprintf(line, sizeof(line), "the checkpoint is at step %lld, after %lld "
             "epochs: no step is left to train", (long long)t->at.step,
             (long long)t->at.epoch);
    ctt_trainer_say(t, line);
}

static int is_paused(const struct ctt_trainer *t)
{
    return t->cfg->pause && t->at.epoch >= t->cfg->pause;
}

int ctt_trainer_loop(struct ctt_trainer *t, struct ctt_result *result)
{
    size_t some = (size_t)ctt_weights_some(t->m->g, t->m->w, NULL);
    enum why why = GOES_ON;
    int rc = 0;

    t->some = ctt_calloc(some + 1, sizeof(float));
    t->some_now = ctt_calloc(some + 1, sizeof(float));
    CTT_TRY(t->some && t->some_now ? 0 : CTT_ENOMEM);
    ctt_weights_some(t->m->g, t->m->w, t->some);
    tell_done(t);
    CTT_TRY(ctt_trainer_test_given(t));
    if (rc == 1)
        why = STOPPED;
    while (why == GOES_ON && !is_done(t) && !is_paused(t)) {
        CTT_TRY(run_epoch(t, &why));
        if (why == STOPPED)
            break;
        CTT_TRY(end_epoch(t, why == LIMIT ||
                          t->at.epoch + 1 == t->cfg->epochs, result));
        if (rc == 1)
            why = STOPPED;
        if (why != LIMIT && (!t->cfg->checkpoint_every || rc == 1 ||
                             is_paused(t)))
            CTT_TRY(ctt_trainer_save(t));
    }
    rc = 0;
    result->stopped = why == STOPPED;
    result->paused = why == GOES_ON && !is_done(t);
    result->epochs = (int)t->at.epoch;
    result->steps = t->at.step;
out:
    return rc;
}

/* Steps that leave the weights as they were are none: CTT_ENAN.  A warning
 * has said that a loss scale let all be skipped. */
static int check_moved(const struct ctt_trainer *t)
{
    int64_t steps = t->at.step - t->first;

    if (steps < 1 || t->at.scale.skipped >= steps ||
        ctt_weights_moved(t->some, t->some_now, ctt_weights_some(
            t->m->g, t->m->w, t->some_now)))
        return 0;
    return ctt_error(CTT_ENAN, "no weight has changed by more than rounding in "
                     "%lld steps: learning rate %g, or no gradient (--lr, "
                     "--doctor)",
                     (long long)steps, t->lr);
}

int ctt_trainer_finish(struct ctt_trainer *t, struct ctt_result *r)
{
    int rc = 0;

    if (t->strategy->tell)
        CTT_TRY(t->strategy->tell(t));
    r->best_epoch = (int)t->at.best_epoch;
    r->val = t->at.val;
    r->made = t->at.step - t->first;
    r->seconds = ctt_seconds() - t->start;
    r->clips_a_second = average(t->clips, t->train_seconds);
    r->wait = average(t->wait, t->train_seconds);
    r->skipped = t->at.scale.skipped;
    r->scale = t->at.scale.scale;
    ctt_trainer_overflowed(t, r);
    CTT_TRY(ctt_optim_pull(t->optim));
    if (r->stopped || r->paused)
        goto out;
    CTT_TRY(check_moved(t));
    if (t->cfg->dsd > 0)
        ctt_constraint_free(&t->m->constraint);
    if (t->at.best_epoch)
        memcpy(t->m->w, t->best, (size_t)t->m->g->weights * sizeof(float));
    else
        CTT_TRY(ctt_optim_pick(t->optim, t->m->w));
    CTT_TRY(ctt_trainer_out(t, 1));
out:
    return rc;
}
