/* SPDX-License-Identifier: Apache-2.0
 * cfg_check.c: checks of the trainer's settings that the table cfg.c cannot
 * express. */
#include "device/device.h"
#include "libtrain/amp.h"
#include "libtrain/before.h"
#include "net/file/card.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/augment.h"
#include "libtrain/data/bucket.h"
#include "libtrain/ranks/gpu_exchange.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/predict/predict.h"
#include "libtrain/recognise/aux_head.h"
#include "libtrain/recognise/recognise.h"
#include "video/text/text.h"

#include <string.h>

static int check_predict(const struct ctt_train_cfg *cfg)
{
    int frames = ctt_cfg_frames(cfg), rc = 0;

    CTT_TRY(ctt_sampling_check(cfg));
    CTT_CHECK(cfg->schedule != CTT_SAMPLED || !ctt_sampling_off(cfg),
              CTT_EINVAL, "--schedule=sampled requires --sampling-start=auto "
              "or an epoch");
    CTT_CHECK(!cfg->max_frames || cfg->max_frames >= frames, CTT_EINVAL,
              "--max-frames=%d: a sequence has %d frames", cfg->max_frames,
              frames);
out:
    return rc;
}

static int check_recognise(const struct ctt_train_cfg *cfg)
{
    struct ctt_point point[CTT_MAX_POINTS];
    struct ctt_buckets buckets;
    struct ctt_asks asks;
    int n, rc = 0;

    CTT_CHECK(cfg->schedule != CTT_SAMPLED, CTT_EINVAL,
              "--schedule=sampled requires --task=predict");
    CTT_CHECK(!cfg->sampler || !cfg->class_weights, CTT_EINVAL,
              "--sampler=balanced and --class-weights=balanced: small classes "
              "would count twice");
    CTT_CHECK(!cfg->rand_augment || ctt_augment_of(cfg, 0).open, CTT_EINVAL,
              "--rand-augment: every change that it draws from was given a "
              "value of its own");
    CTT_TRY(ctt_aux_head_check(cfg));
    CTT_TRY(ctt_asks_parse(cfg, &asks));
    CTT_CHECK(cfg->self_distil <= 0 || asks.total > 1, CTT_EINVAL,
              "--self-distil: there is no answer before the end of a clip "
              "(see --observe)");
    rc = ctt_points_parse(cfg->val_ratios ? cfg->val_ratios : "1", point, &n);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "--val-ratios: %s", ctt_errmsg()));
    CTT_TRY(ctt_buckets_check(cfg->buckets, &buckets));
out:
    return rc;
}

/* A text is read in order, each place of the batch a stretch of it, and what a
 * model remembers goes from step to step. */
static int check_one_text(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    CTT_CHECK(!cfg->buckets || strcmp(cfg->buckets, "auto") == 0 ||
              strcmp(cfg->buckets, "1") == 0, CTT_EINVAL,
              "--buckets groups sentences (" CTT_TEXT_WORDS "FILE), and "
              CTT_TEXT_BYTES "FILE is one text in windows of equal length");
    CTT_CHECK(!ctt_train_has_server(cfg), CTT_EUNSUP, "--sync: a server's "
              "workers get any batch, and windows of " CTT_TEXT_BYTES "FILE "
              "follow each other: --sync=all, or " CTT_TEXT_WORDS "FILE");
out:
    return rc;
}

static int check_next(const struct ctt_train_cfg *cfg)
{
    struct ctt_buckets b;
    int rc = 0;

    CTT_CHECK(cfg->schedule != CTT_SAMPLED, CTT_EINVAL,
              "--schedule=sampled requires --task=predict");
    CTT_CHECK(!cfg->doctor && !cfg->search, CTT_EUNSUP, "--%s is of clips, not "
              "of text (--task=next)", cfg->doctor ? "doctor" : "search");
    CTT_TRY(ctt_buckets_check(cfg->buckets, &b));
    if (cfg->data && ctt_text_runs_on(cfg->data))
        CTT_TRY(check_one_text(cfg));
out:
    return rc;
}

static int (*const checks[])(const struct ctt_train_cfg *) = {
    [CTT_RECOGNISE] = check_recognise, [CTT_PREDICT] = check_predict,
    [CTT_BOTH] = check_recognise, [CTT_NEXT] = check_next,
};

static int check_pick(const struct ctt_train_cfg *cfg)
{
    int average = cfg->pick == CTT_PICK_EMA || cfg->pick == CTT_PICK_EMA_LAST;
    int rc = 0;

    CTT_CHECK(!average || cfg->ema > 0, CTT_EINVAL, "--pick=ema and ema-last "
              "require --ema");
    CTT_CHECK(average || cfg->pick == CTT_PICK_AUTO || cfg->ema <= 0,
              CTT_EINVAL, "--ema has no effect with --pick=best or last");
    CTT_CHECK(!ctt_picks_last(cfg) || !cfg->early_stop, CTT_EINVAL,
              "--early-stop looks for the best epoch, --pick=last and ema-last "
              "take the last");
out:
    return rc;
}

static int check_folds(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    if (!cfg->folds)
        goto out;
    CTT_CHECK(cfg->folds > 1, CTT_EINVAL, "--folds=%d: two are the fewest",
              cfg->folds);
    CTT_CHECK(!cfg->val && (!cfg->val_split ||
                            strcmp(cfg->val_split, "validation") == 0),
              CTT_EINVAL, "--val%s has no effect with --folds, which validates "
              "on parts of --split", cfg->val ? "" : "-split");
    CTT_CHECK(cfg->time_limit <= 0, CTT_EINVAL, "--time-limit would end each "
              "of the --folds after another number of steps");
out:
    return rc;
}

/* Numbers that are found before the training. */
static int check_auto(const struct ctt_train_cfg *cfg)
{
    int lr = ctt_auto_lr(cfg), batch = ctt_auto_batch(cfg), rc = 0;
    const char *name = lr ? "lr" : "batch";

    if (!lr && !batch)
        goto out;
    CTT_CHECK(!cfg->folds, CTT_EINVAL, "--%s=auto would differ between the "
              "--folds", name);
    CTT_CHECK(!cfg->doctor && !cfg->amp_plan, CTT_EINVAL, "--%s=auto has no "
              "effect with --%s, which trains nothing", name,
              cfg->doctor ? "doctor" : "amp-plan");
    CTT_CHECK(!batch || cfg->limits.memory > 0 ||
              ctt_dev_has(cfg->device, CTT_DEV_OWN_MEMORY), CTT_EINVAL,
              "--batch=auto requires --memory");
out:
    return rc;
}

/* The options that a fit of --backbone and the tests behind it read. */
static const char *const fit_reads[] = {
    "data", "val", "test", "split", "val-split", "classes", "background", "fps",
    "min-frames", "max-frames", "strict", "buckets", "workers", "cache", "task",
    "backbone", "nodes", "reads", "seed", "baselines", "val-batch",
    "device", "threads", "affinity", "stall", "memory", "frame-pixels",
    "clip-bytes", "clip-frames", "clip-seconds", "max-classes", "progress",
    "quiet", "out", "licence", "report-html", "profile", "folds",
};

/* --log-csv and --log-json hold the results of folds. */
static int is_read(const struct ctt_train_cfg *cfg, const char *name)
{
    for (size_t i = 0; i < CTT_LEN(fit_reads); i++)
        if (strcmp(fit_reads[i], name) == 0)
            return 1;
    return cfg->folds && (strcmp(name, "log-csv") == 0 ||
                          strcmp(name, "log-json") == 0);
}

static int check_fit(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (const struct ctt_opt *o = ctt_train_opts; cfg->backbone && o->name;
         o++)
        CTT_CHECK(is_read(cfg, o->name) || ctt_opt_is_default(o, cfg),
                  CTT_EINVAL, "--%s has no effect with --backbone, whose head "
                  "is fitted in closed form: leave it out", o->name);
out:
    return rc;
}

int ctt_train_check(const struct ctt_train_cfg *cfg)
{
    struct ctt_memory memory;
    struct ctt_squeeze squeeze;
    struct ctt_scale scale;
    time_t today;
    int rc = 0;

    CTT_TRY(ctt_opt_check(ctt_train_opts, cfg));
    CTT_TRY(check_fit(cfg));
    CTT_TRY(ctt_card_time(&today));
    CTT_CHECK(cfg->pause <= cfg->epochs, CTT_EINVAL, "--pause=%d: the run has "
              "%d epochs", cfg->pause, cfg->epochs);
    CTT_CHECK(cfg->dsd <= 0 || !cfg->early_stop, CTT_EINVAL, "--early-stop "
              "could end the run before the phases of --dsd");
    CTT_CHECK(cfg->dsd <= 0 || cfg->time_limit <= 0, CTT_EINVAL,
              "--time-limit could end the run before the phases of --dsd");
    CTT_TRY(ctt_card_licence(cfg->licence));
    CTT_TRY(check_auto(cfg));
    CTT_TRY(ctt_shards_check(cfg));
    CTT_TRY(check_pick(cfg));
    CTT_TRY(check_folds(cfg));
    CTT_TRY(checks[cfg->task](cfg));
    CTT_TRY(ctt_memory_parse(cfg, &memory));
    CTT_TRY(ctt_scale_begin(cfg, &scale));
    CTT_TRY(ctt_strategy_check(cfg));
    CTT_TRY(ctt_gpu_exchange_suits(cfg));
    CTT_TRY(ctt_squeeze_parse(cfg->squeeze, &squeeze));
    CTT_CHECK(squeeze.type != CTT_F16 || scale.scale > 1, CTT_EINVAL,
              "--squeeze=fp16 needs a --loss-scale (see --amp), or small "
              "gradients vanish; bf16 does not");
out:
    return rc;
}
