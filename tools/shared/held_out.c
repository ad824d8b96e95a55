/* SPDX-License-Identifier: Apache-2.0
 * held_out.c: the clips that are not trained on: a fifth of those of a list
 * without splits, to choose the best epoch by; and those that choose nothing
 * either: --test, or the split "test" of the data. */
#include "tools/shared/training.h"
#include "tools/shared/tool.h"
#include "base/limits.h"
#include "base/statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char test_name[] = "test";

/* As ctt_say_events, but clips that cannot be read are only counted: splits
 * without classes are common. */
static struct ctt_events quiet(void)
{
    struct ctt_events ev = ctt_say_events;

    ev.clip = NULL;
    ev.say = NULL;
    return ev;
}

int ctt_check_several(const struct ctt_graph *g, int several, const char *path,
                      const char *split)
{
    int rc = 0;

    CTT_CHECK(g->several || !several, CTT_EINVAL, "%s%s%s%s: clips have "
              "several labels, and the model's classes exclude each other: "
              "train one on clips with several labels", path,
              split ? ", split '" : "", split ? split : "", split ? "'" : "");
out:
    return rc;
}

/* ---- validation ---- */

enum { FIFTH = 5, LEAST_CLIPS = 10 };

/* 1 if each class of `all` has clips in `rest`, too; CTT_ENOMEM. */
static int keeps_classes(const struct ctt_data *all,
                         const struct ctt_data *rest)
{
    int *clips = NULL, before, rc;

    CTT_TRY(ctt_data_classes(all, &clips));
    before = rc;
    ctt_free(clips);
    CTT_TRY(ctt_data_classes(rest, &clips));
    rc = rc == before;
out:
    ctt_free(clips);
    return rc;
}

/* Sets *val to a fifth of *data and *data to the rest; 0: too few. */
static int take_fifth(const struct ctt_train_cfg *cfg, struct ctt_data **data,
                      struct ctt_data **val)
{
    struct ctt_train_cfg by = *cfg;
    struct ctt_data *all = *data, *rest = NULL;
    int rc;

    by.folds = FIFTH;
    by.seed = 1;    /* the same fifth in every program */
    rc = ctt_data_clips(all) < LEAST_CLIPS
             ? CTT_EINVAL : ctt_fold_open(all, &by, 0, &rest, val);
    if (rc == CTT_EINVAL)
        return 0;
    CTT_TRY(rc);
    CTT_TRY(ctt_data_unlabelled(all) ? 1 : keeps_classes(all, rest));
    if (rc) {
        CTT_TRY(ctt_folds_count((struct ctt_data *[]){ rest, *val, all }, 3));
        *data = rest;
        return 1;
    }
out:
    ctt_fold_close(&rest);
    ctt_fold_close(val);
    return rc;
}

int ctt_hold_out(const struct ctt_train_cfg *cfg, const struct ctt_input *in,
                 struct ctt_data **data, struct ctt_data **val,
                 struct ctt_data **whole)
{
    int named = strcmp(cfg->val_split, "validation") != 0, rc, several;
    struct ctt_data *all = *data;

    rc = ctt_data_has_split(all, cfg->data, cfg->val_split, in, cfg, &several);
    if (rc == CTT_ENOSPLIT && !named)
        rc = 0;
    CTT_TRY(rc);
    if (rc)
        return 1;
    CTT_CHECK(!named, CTT_EINVAL, "%s: --val-split=%s has the same clips as "
              "the split to train on", cfg->data, cfg->val_split);
    if (cfg->task != CTT_PREDICT)
        CTT_TRY(take_fifth(cfg, data, val));
    if (!rc) {
        ctt_tool_say("no validation %s: %s has no split '%s'%s%s%s",
                     ctt_word_clips(cfg), cfg->data, cfg->val_split,
                     cfg->task == CTT_PREDICT ? "" : ", and too few ",
                     cfg->task == CTT_PREDICT ? "" : ctt_word_clips(cfg),
                     cfg->task == CTT_PREDICT ? "" : " to hold some out");
        goto out;
    }
    *whole = all;
    if (cfg->task == CTT_NEXT)
        ctt_tool_say("validation: %s%d of %d %s are held out (--val names "
                     "other text)", ctt_data_is_one(all) ? "the last " : "",
                     ctt_data_clips(*val), ctt_data_clips(all),
                     ctt_word_clips(cfg));
    else
        ctt_tool_say("validation: %d of %d clips are held out, as %s has no "
                     "split '%s' (--val names others)", ctt_data_clips(*val),
                     ctt_data_clips(all), cfg->data, cfg->val_split);
    rc = 0;
out:
    return rc;
}

/* ---- test ---- */

static int was_used(const char *split)
{
    return split && strcmp(split, test_name) == 0;
}

static int is_same(const struct ctt_data *a, const struct ctt_data *b)
{
    return a && ctt_data_same(a, b);
}

/* Whether split "test" may be clips that nothing has used. */
static int may_prove(const struct ctt_train_cfg *cfg)
{
    return cfg->data && !cfg->test && !was_used(cfg->split) &&
           !was_used(cfg->val_split);
}

int ctt_held_out_check(const struct ctt_train_cfg *cfg,
                       const struct ctt_model *m, const struct ctt_data *like,
                       const struct ctt_data *test)
{
    const struct ctt_graph *g = m->g;
    int rc = 0, several = test && ctt_data_several(test);

    if (like && may_prove(cfg))
        rc = ctt_data_has_split(like, cfg->data, test_name,
                                &g->node[ctt_graph_input(g)].attr.input, cfg,
                                &several);
    CTT_TRY(rc == CTT_EINVAL || ctt_is_lack(rc) ? rc : 0);
    CTT_TRY(ctt_check_several(g, several, test ? cfg->test : cfg->data,
                              test ? NULL : test_name));
out:
    return rc;
}

int ctt_held_out_open(const struct ctt_train_cfg *cfg,
                      const struct ctt_model *m, const struct ctt_data *train,
                      const struct ctt_data *val, struct ctt_data **out)
{
    const struct ctt_graph *g = m->g;
    struct ctt_events ev = quiet();
    struct ctt_data *d = NULL;
    int rc = 0, none, several;

    *out = NULL;
    ctt_stop_set(NULL);
    if (!may_prove(cfg))
        goto out;
    if (train) {    /* clips that are gone now may not make another set */
        rc = ctt_data_has_split(train, cfg->data, test_name,
                                &g->node[ctt_graph_input(g)].attr.input, cfg,
                                &several);
        if (rc == 0)
            goto out;
    }
    rc = ctt_data_open(cfg->data, test_name,
                       &g->node[ctt_graph_input(g)].attr.input, m->label,
                       m->labels, cfg, &ev, &d);
    none = rc == CTT_ENOSPLIT || rc == CTT_EUNSUP;
    if (rc < 0 && !none && !ctt_is_lack(rc))
        ctt_tool_warn("split '%s': %s", test_name, ctt_errmsg());
    if (rc < 0 || is_same(train, d) || is_same(val, d))
        ctt_data_close(&d);
    rc = none ? 0 : rc;
    *out = d;
out:
    return rc;
}

const char *ctt_held_out_missing(int rc)
{
    return rc < 0 ? "split 'test' cannot be read"
                  : "there is no split 'test' with classes to compare with";
}

const char *ctt_held_out_name(const struct ctt_train_cfg *cfg, char *buf,
                              size_t size)
{
    snprintf(buf, size, "split '%s'", test_name);
    return cfg->test ? cfg->test : buf;
}

static int say_classes(const struct ctt_train_cfg *cfg,
                       const struct ctt_model *m, const char *who,
                       struct ctt_data *test, struct ctt_metrics **scores)
{
    static const struct ctt_point point[] = {
        { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
    };
    struct ctt_metrics *r = NULL;
    char range[CTT_LEN(point)][32];
    double top1[CTT_LEN(point)];
    char split[32];
    const char *set = ctt_held_out_name(cfg, split, sizeof(split));
    int rc;

    CTT_TRY(ctt_evaluate_recognise(m, cfg, test, point, CTT_LEN(point), &r));
    if (r->several) {
        ctt_tool_say("%s on %s (%lld clips): mAP %.1f%%, %.1f%%, %.1f%% at 25, "
                     "50, 100%%, top-1 %.1f%%", who,
                     set, (long long)r->clips,
                     100 * r->map[0], 100 * r->map[1], 100 * r->map[2],
                     100 * ctt_metrics_top1(r, r->points - 1));
        goto out;
    }
    for (int k = 0; k < r->points; k++) {
        top1[k] = ctt_metrics_top1(r, k);
        ctt_wilson_text(top1[k], r->clips, range[k], sizeof(range[k]));
    }
    ctt_tool_say("%s on %s (%lld clips): top-1 %.1f%%, %.1f%%, %.1f%% at 25, "
                 "50, 100%% (95%% confidence: %s, %s, %s)", who,
                 set, (long long)r->clips,
                 100 * top1[0], 100 * top1[1], 100 * top1[2], range[0],
                 range[1], range[2]);
    *scores = r;
    r = NULL;
out:
    ctt_metrics_free(&r);
    return rc;
}

static int say_frames(const struct ctt_train_cfg *cfg,
                      const struct ctt_model *m, const char *who,
                      struct ctt_data *test, struct ctt_metrics **scores)
{
    struct ctt_predict_scores *f = NULL;
    struct ctt_quality q;
    char split[32];
    int rc;

    (void)scores;
    CTT_TRY(ctt_evaluate_predict(m, cfg, test, &f));
    q = ctt_predict_scores_at(f, CTT_BY_MODEL, 0);
    ctt_tool_say("%s on %s (%lld sequences): MSE %.2fe-3, SSIM %.3f (range 2: "
                 "%.3f), PSNR %.2f", who,
                 ctt_held_out_name(cfg, split, sizeof(split)),
                 (long long)f->sequences, 1e3 * q.mse, q.ssim, q.ssim2, q.psnr);
out:
    ctt_predict_scores_free(&f);
    return rc;
}

static int say_symbols(const struct ctt_train_cfg *cfg,
                       const struct ctt_model *m, const char *who,
                       struct ctt_data *test, struct ctt_metrics **scores)
{
    char split[32];
    double nats;
    int rc;

    (void)scores;
    CTT_TRY(ctt_evaluate_next(m, cfg, test, &nats));
    ctt_tool_say("%s on %s (%lld symbols): perplexity %.2f, loss %.4f", who,
                 ctt_held_out_name(cfg, split, sizeof(split)),
                 (long long)ctt_data_all_frames(test), exp(nats), nats);
out:
    return rc;
}

int ctt_held_out_say(const struct ctt_train_cfg *cfg,
                     const struct ctt_model *m, const char *who,
                     struct ctt_data *test, struct ctt_metrics **scores)
{
    *scores = NULL;
    return (cfg->task == CTT_PREDICT ? say_frames
          : cfg->task == CTT_NEXT    ? say_symbols
                                     : say_classes)(cfg, m, who, test, scores);
}
