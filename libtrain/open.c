/* SPDX-License-Identifier: Apache-2.0
 * open.c: opens everything that a training run needs and reports its plan. */
#include "libtrain/trainer.h"
#include "libtrain/before.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/load.h"
#include "libtrain/ranks/gpu_exchange.h"
#include "libtrain/ranks/groups.h"
#include "libtrain/layers.h"
#include "libtrain/log.h"
#include "libtrain/optim.h"
#include "libtrain/ranks/strategy.h"
#include "net/op.h"
#include "net/rewrite/aux_head.h"
#include "base/clock.h"

#include <math.h>

/* A batch norm over one value gives 0 for every input. */
static int check_norms(const struct ctt_trainer *t)
{
    const struct ctt_graph *g = t->m->g;
    int clips = t->cfg->sync_norm ? t->cfg->batch : ctt_cfg_shard(t->cfg);
    int frames = t->data->longest, rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        int64_t places = ctt_volume(&n->out) / n->out.c;
        int counts = ctt_is_batch_norm(n) && !ctt_is_frozen(t->cfg, n);

        if (i < g->clip)    /* behind it a clip has one result */
            places *= frames;
        CTT_CHECK(!counts || clips * places > 1, CTT_EINVAL,
                  "%s: a batch norm over a single value (1 clip a shard, 1 "
                  "frame or behind the line clip, 1 position) answers 0 "
                  "whatever its input; a larger --batch, fewer --shards, or "
                  "kind=layer in the model",
                  n->name);
        CTT_CHECK(!counts || !t->data->one || t->data->clips %
                  t->cfg->batch == 0, CTT_EINVAL,
                  "%s: a batch norm would count the empty places of the last "
                  "step, as %d windows of the text are no multiple of "
                  "--batch=%d: kind=layer in the model, or another --batch",
                  n->name, t->data->clips, t->cfg->batch);
    }
out:
    return rc;
}

static int check_settings(const struct ctt_trainer *t)
{
    const struct ctt_data *sets[] = { t->data, t->val };
    const struct ctt_constraint *c = &t->m->constraint;
    const struct ctt_graph *g = t->m->g;
    int inputs = ctt_graph_inputs(g), rc = 0;

    CTT_CHECK(!ctt_auto_lr(t->cfg) && !ctt_auto_batch(t->cfg), CTT_EINVAL,
              "--lr and --batch must be numbers");
    CTT_CHECK(t->cfg->dsd <= 0 || t->m->train || (!c->keep &&
              !ctt_constraint_shares(c, g->weights)), CTT_EINVAL,
              "--dsd is for dense models, and this one is pruned or shared");
    CTT_TRY(ctt_train_layers(g, t->cfg));
    CTT_TRY(check_norms(t));
    CTT_CHECK(inputs == 1, CTT_EUNSUP, "the model has %d inputs; clips feed "
              "one", inputs);
    for (size_t i = 0; i < CTT_LEN(sets); i++)
        if (sets[i])
            CTT_TRY(t->task->check(t->m->g, t->cfg, sets[i]));
out:
    return rc;
}

static void tell_buckets(const struct ctt_trainer *t)
{
    char line[640];

    if (!t->data->one && ctt_buckets_tell(&t->buckets, line, sizeof(line)))
        ctt_trainer_say(t, line);
}

static void tell_memory(const struct ctt_trainer *t)
{
    struct ctt_memory_plan p = ctt_exec_plan(t->task->exec(t->step));
    char line[CTT_FOLDER + 512];

    if (ctt_memory_tell(t->cfg, &p, line, sizeof(line)))
        ctt_trainer_say(t, line);
}

/* Without clips to test on, nothing can start scheduled sampling. */
static int no_val(const struct ctt_trainer *t)
{
    int rc = 0;

    CTT_CHECK(!t->task->feedback || t->cfg->schedule != CTT_SAMPLED, CTT_EINVAL,
              "--schedule=sampled: the rate falls when the test loss stalls, "
              "and there are no clips to test on");
    if (t->task->feedback && ctt_sampling_waits(t->cfg))
        ctt_trainer_say(t, "no clips to test on: scheduled sampling will not "
                        "start");
out:
    return rc;
}

static int open_val(struct ctt_trainer *t)
{
    int rc = 0;

    if (!t->val)
        return no_val(t);
    CTT_TRY(ctt_aux_head_drop(t->m->g, &t->tested));
    rc = t->task->test_open(t->tested, ctt_optim_picked(t->optim), t->cfg,
                            t->dev, t->val, &t->test);
    if (rc == CTT_ENOMEM)
        ctt_error(rc, "%s (to test on %s; %s helps)", ctt_errmsg(),
                  ctt_word_clips(t->cfg), t->val->one ? "shorter windows, "
                  "--max-frames," : "a smaller --val-batch");
    CTT_TRY(rc);
    t->best = ctt_calloc((size_t)t->m->g->weights, sizeof(float));
    CTT_TRY(t->best ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* Resumes from a checkpoint, if there is one, and frees it. */
static int restore(struct ctt_trainer *t)
{
    int64_t residuals = ctt_gather_residuals(&t->shards.gather);
    const float *residual;
    int rc = 0;

    if (!t->m->train)
        goto out;
    CTT_TRY(ctt_checkpoint_load(t->m, t->cfg, t->data, t->optim, &t->at,
                                t->best));
    CTT_CHECK(t->at.batch <= t->plan->batches, CTT_EFORMAT,
              "the checkpoint is at batch %lld of %d",
              (long long)t->at.batch, t->plan->batches);
    if (residuals) {
        CTT_TRY(ctt_checkpoint_residual(t->m->train, residuals, &residual));
        ctt_gather_load(&t->shards.gather, residual);
    }
    CTT_TRY(ctt_checkpoint_states(t->m->train, &t->carry));
    ctt_state_free(&t->m->train);
out:
    return rc;
}

static int open_loader(struct ctt_trainer *t)
{
    int rc = 0;

    CTT_TRY(ctt_loader_open(t->data, ctt_cfg_shard(t->cfg), t->data->longest,
                            &t->loader));
    if (ctt_augment_mixes(t->cfg))
        CTT_TRY(ctt_loader_mixes(t->loader));
    CTT_TRY(ctt_loader_pin(t->loader, t->dev));
out:
    return rc;
}

/* Applies the constraint to the initial weights first. */
static int open_optim(struct ctt_trainer *t)
{
    struct ctt_model *m = t->m;
    int rc;

    ctt_model_hold(m);
    CTT_TRY(ctt_optim_open(m->g, t->cfg, &m->constraint, m->w, t->dev,
                           &t->optim));
    t->optim->limited = ctt_squeeze_is_sparse(&t->shards.how);
out:
    return rc;
}

static int open_rows(struct ctt_trainer *t)
{
    int peers = ctt_comm_place(t->peers)->ranks;
    struct ctt_share share = t->share;
    struct ctt_squeeze squeeze;
    int rc;

    share.comm = t->across;
    share.direct = t->direct;
    CTT_TRY(ctt_squeeze_parse(t->cfg->squeeze, &squeeze));
    squeeze.clip = t->cfg->clip_norm;
    CTT_TRY(ctt_shards_open(t->m->g, t->cfg->batch / ctt_cfg_shard(t->cfg),
                            &squeeze, t->plan, t->dev, &share, &t->shards));
    t->mine = ctt_calloc((size_t)t->shards.mine, sizeof(*t->mine));
    t->row = ctt_calloc((size_t)t->shards.mine * (size_t)peers,
                        sizeof(*t->row));
    t->end = ctt_calloc((size_t)peers, sizeof(*t->end));
    CTT_TRY(t->mine && t->row && t->end ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* The share of the run that is over at its start.  Where no limit of time was
 * under way, the share of its steps. */
static double used_before(const struct ctt_trainer *t)
{
    if (t->at.used > 0 && t->at.used < 1)
        return t->at.used;
    return fmin(1, (double)t->first / (double)t->steps);
}

static int open_dev(struct ctt_trainer *t)
{
    const struct ctt_train_cfg *cfg = t->cfg;
    int rc;

    CTT_TRY(check_settings(t));
    CTT_TRY(ctt_scale_begin(cfg, &t->at.scale));
    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &t->dev));
    ctt_dev_deterministic(t->dev, cfg->deterministic);
    ctt_dev_tf32(t->dev, cfg->tf32);
    ctt_dev_streams(t->dev, cfg->streams);
    CTT_TRY(ctt_dev_join_norms(t->dev, &t->norms.group));
out:
    return rc;
}

/* The end of the schedule, where it is known, is the last step. */
static void set_steps(struct ctt_trainer *t)
{
    const struct ctt_train_cfg *cfg = t->cfg;
    int64_t each = t->plan->batches;
    double set = floor((double)cfg->warmup * (double)each), warm;
    char line[128];

    t->steps = (int64_t)cfg->epochs * each;
    if (cfg->max_steps && cfg->max_steps < t->steps)
        t->steps = cfg->max_steps;
    warm = ctt_lr_warm_up(cfg, (double)t->steps, each);
    if (warm >= set || cfg->wiring.last_of > cfg->epochs)
        return;
    snprintf(line, sizeof(line), "the warm-up of --warmup=%g takes %.0f steps, "
             "of %lld in all: shortened to %.0f", (double)cfg->warmup, set,
             (long long)t->steps, warm);
    ctt_trainer_say(t, line);
}

static int open_trainer(struct ctt_trainer *t)
{
    const struct ctt_train_cfg *cfg = t->cfg;
    int rc = 0, resumed = t->m->train != NULL;

    CTT_TRY(ctt_buckets_find(t->data, cfg->batch, cfg->buckets, &t->buckets));
    tell_buckets(t);
    CTT_TRY(ctt_order_new(t->data, cfg->batch, &t->plan));
    if (cfg->sampler == CTT_BALANCED)
        CTT_TRY(ctt_order_balance(t->data, t->plan));
    CTT_TRY(open_rows(t));
    CTT_TRY(open_optim(t));
    ctt_sampling_begin(cfg, t->plan->batches, &t->at.sampling);
    CTT_TRY(open_val(t));
    CTT_TRY(restore(t));
    CTT_TRY(open_loader(t));    /* first, as --keep=auto plans with the free
                                   memory */
    CTT_TRY(t->strategy->open(t));
    if (!t->dw)
        t->dw = t->task->exec(t->step)->dw;
    CTT_TRY(ctt_carry_open(t));
    tell_memory(t);
    CTT_TRY(ctt_log_open(cfg, t->m->g->several, resumed ? t->at.epoch : -1,
                         &t->log));
    t->seed = (uint64_t)cfg->seed;
    set_steps(t);
    CTT_TRY(ctt_dsd_check(cfg, t->steps));
    ctt_dsd_changes(cfg, &t->dsd);
    t->changes = cfg->dsd > 0 ? &t->dsd : cfg->wiring.changes;
    t->first = t->at.step;
    t->used = used_before(t);
    t->now = cfg->time_limit > 0 ? t->used : 0;
out:
    return rc;
}

int ctt_trainer_open(struct ctt_trainer *t)
{
    int opened, rc;

    t->hears = ctt_noise_is_known(t->cfg);
    CTT_TRY(ctt_groups_open(t));
    opened = open_dev(t);
    CTT_TRY(ctt_gpu_exchange_agree(t, opened >= 0));
    CTT_TRY(
        ctt_gpu_exchange_meet(t)); /* takes memory, so before it is planned */
    CTT_TRY(ctt_replicas_meet(t, opened < 0 ? opened : open_trainer(t)));
    CTT_TRY(ctt_carry_meet(t));
out:
    t->start = ctt_seconds();
    return rc;
}

int ctt_trainer_close(struct ctt_trainer *t)
{
    ctt_loader_close(&t->loader);
    if (t->state)
        t->strategy->close(t);
    t->task->close(&t->step);
    t->task->test_close(&t->test);
    ctt_optim_close(&t->optim);
    ctt_carry_close(t);
    ctt_shards_close(&t->shards);
    ctt_free(t->mine);
    ctt_free(t->row);
    ctt_free(t->end);
    ctt_order_free(&t->plan);
    ctt_free(t->best);
    ctt_free(t->some);
    ctt_free(t->some_now);
    ctt_free(t->overflows);
    ctt_graph_free(&t->tested);
    ctt_dev_close(&t->dev);
    ctt_groups_close(t);
    return ctt_log_close(&t->log);
}
