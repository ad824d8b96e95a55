/* SPDX-License-Identifier: Apache-2.0
 * train_fold.c: --folds: the trainings of convtt-train on parts of the clips.
 */
#include "tools/train/train_tool.h"
#include "libtrain/recognise/head.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"
#include "net/rewrite/aux_head.h"

struct folds { const struct ctt_training *all; struct ctt_beside beside; };

/* The model and the clips of a fold, which are parts of j->data. */
static int begin_fold(struct ctt_training *j, int k)
{
    struct ctt_data *whole = j->data;
    int rc = ctt_training_model(j);

    j->data = NULL;
    CTT_TRY(rc);
    CTT_TRY(ctt_fold_open(whole, &j->cfg, k, &j->data, &j->val));
    ctt_tool_say("fold %d of %d: %d clips to train on, %d to validate on",
                 k + 1, j->cfg.folds, ctt_data_clips(j->data),
                 ctt_data_clips(j->val));
    if (k == 0 && !j->cfg.resume && !j->cfg.backbone)
        CTT_TRY(ctt_doctor_glance(j->m, &j->cfg, j->data, j->val));
out:
    return rc;
}

/* Returns 1 if stopped. */
static int learn_fold(struct ctt_training *j, int k)
{
    struct ctt_result r;
    int rc;

    CTT_TRY(ctt_train(j->m, &j->cfg, j->data, j->val, &ctt_say_events, &r));
    if (r.stopped)
        ctt_tool_die(CTT_EXIT_FAIL, "stopped after step %lld of fold %d; "
                     "--resume continues from %s", (long long)r.steps, k + 1,
                     j->cfg.checkpoint);
    else
        CTT_TRY(ctt_aux_head_drop_from(&j->m));
    rc = r.stopped;
out:
    return rc;
}

static int train_fold(void *arg, const struct ctt_train_cfg *cfg, int k,
                      struct ctt_metrics **out)
{
    struct folds *f = arg;
    const struct ctt_training *all = f->all;
    struct ctt_training j = { .cfg = *cfg, .text = all->text,
                              .known = all->known };
    struct ctt_model *folded = NULL;
    int rc;

    CTT_TRY(ctt_training_claim(&j));
    CTT_TRY(ctt_training_start(&j));
    j.data = all->data;
    CTT_TRY(begin_fold(&j, k));
    CTT_TRY(cfg->backbone ? ctt_fit_head(&j, &folded)
                          : learn_fold(&j, k));
    if (rc == 1)
        goto out;
    CTT_TRY(ctt_evaluate_recognise(folded ? folded : j.m, &j.cfg, j.val,
                                   ctt_fold_points, CTT_FOLD_POINTS, out));
    CTT_TRY(ctt_beside_add(&f->beside, cfg, j.data, j.val, *out));
out:
    ctt_model_free(&folded);
    ctt_fold_close(&j.val);
    ctt_fold_close(&j.data);
    ctt_training_close(&j);
    return rc;
}

/* Reads once what the heads of --backbone are fitted to, for all folds; not of
 * the control, whose norms have the statistics of the clips of a fold. */
static int know_heads(struct ctt_training *j, struct ctt_features *all)
{
    int rc = 0;

    if (!j->cfg.backbone || ctt_tool_is_net(j->text))
        goto out;
    CTT_TRY(ctt_training_model(j));
    CTT_TRY(ctt_head_read(j->m, &j->cfg, j->data, &ctt_say_events, all));
    j->known = all;
out:
    return rc;
}

int ctt_train_all_folds(struct ctt_training *j, int *status)
{
    struct ctt_train_cfg cfg = j->cfg;
    struct ctt_features known = { .rows = 0 };
    struct folds f = { .all = j };
    int rc = 0;

    CTT_CHECK(j->text || cfg.init, CTT_EINVAL, "--folds needs the model text "
              "or --init, also to resume");
    j->cfg.resume = 0;
    j->status = CTT_EXIT_USAGE;
    CTT_TRY(ctt_train_folds_spare(&cfg, j->own_ckpt));
    j->status = CTT_EXIT_FAIL;
    CTT_TRY(ctt_training_start(j));
    CTT_TRY(ctt_training_check(j));
    CTT_TRY(ctt_training_data(j, cfg.data, cfg.split, &j->data));
    if (j->g)
        CTT_TRY(ctt_data_measure(j->data, j->g, NULL));
    ctt_tool_warned();
    ctt_training_tell(j, "all folds", j->data);
    CTT_TRY(ctt_say_set("all folds", j->data));
    CTT_TRY(know_heads(j, &known));
    CTT_TRY(ctt_train_folds(&cfg, j->own_ckpt, train_fold, &f));
    *status = rc ? CTT_EXIT_FAIL : 0;
    if (!rc)
        CTT_TRY(ctt_beside_tell(&f.beside, j->data));
out:
    ctt_features_free(&known);
    ctt_beside_free(&f.beside);
    return rc;
}

