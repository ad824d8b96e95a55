/* SPDX-License-Identifier: Apache-2.0
 * best.c: tests while a model is trained, and the best weights, which become
 * the model that is written. */
#include "libtrain/trainer.h"
#include "libtrain/optim.h"
#include "libtrain/settings.h"

static double score_of(const struct ctt_trainer *t,
                       const struct ctt_test_score *s)
{
    return *(const double *)((const char *)s + t->task->score);
}

/* The history with a line on this run, which says of which epoch the weights
 * are; 0: they are as given. */
static int history(const struct ctt_trainer *t, char **out)
{
    int64_t best = t->at.best_epoch;
    int several = t->m->g->several;
    char test[96] = "";

    if (best)
        snprintf(test, sizeof(test), " best-epoch=%lld %s=%.4f",
                 best == CTT_BEST_GIVEN ? 0 : (long long)best,
                 several ? "val_map" : t->task->word,
                 several ? t->at.val.map : score_of(t, &t->at.val));
    return ctt_history(t->m, t->cfg, t->data, t->at.step, test, out);
}

int ctt_trainer_out(struct ctt_trainer *t, int keep)
{
    char *old = t->m->history, *now = NULL;
    int rc = 0;

    CTT_TRY(ctt_model_finite(t->m));
    CTT_TRY(history(t, &now));
    t->m->history = now;
    if (t->cfg->out)
        rc = ctt_model_save_inference(t->cfg->out, t->m);
    if (keep && rc >= 0) {
        ctt_free(old);
    } else {
        t->m->history = old;
        ctt_free(now);
    }
out:
    return rc;
}

/* Starts scheduled sampling, or the decrease of the rate, if the test loss
 * stalls. */
static void start_sampling(struct ctt_trainer *t, double loss, int last)
{
    char line[128];

    if (t->task->feedback &&
        ctt_sampling_tested(t->cfg, loss, t->at.step, &t->at.sampling) &&
        ctt_sampling_tell(t->cfg, &t->at.sampling, line, sizeof(line)) && !last)
        ctt_trainer_say(t, line);
}

/* 1 if the model will be pruned further. */
static int changes_later(const struct ctt_trainer *t)
{
    const struct ctt_changes *c = t->changes;

    for (int64_t step = t->at.step; c && step < t->steps; step++)
        if (c->due(c->arg, step, t->steps))
            return 1;
    return 0;
}

/* The tested weights become the best so far, after best_epoch epochs. */
static int keep_best(struct ctt_trainer *t, int64_t best_epoch,
                     const struct ctt_test_score *score)
{
    float *w = t->m->w;
    int rc = 0;

    t->at.best_epoch = best_epoch;
    t->at.val = *score;
    CTT_TRY(ctt_optim_pick(t->optim, t->best));
    t->m->w = t->best;
    if (t->cfg->out)
        rc = ctt_trainer_out(t, 0);
    t->m->w = w;
out:
    return rc;
}

int ctt_trainer_test_given(struct ctt_trainer *t)
{
    struct ctt_test_score score;
    int rc = 0;

    if (!t->cfg->wiring.or_given || t->changes || !t->test || t->at.step > 0)
        goto out;
    CTT_TRY(t->task->test(t->test, t->ev, &score));
    if (rc == 0)
        CTT_TRY(keep_best(t, CTT_BEST_GIVEN, &score));
out:
    return rc;
}

int ctt_trainer_test(struct ctt_trainer *t, int last, struct ctt_epoch *e)
{
    int rc = 0;

    CTT_TRY(t->task->test(t->test, t->ev, &e->val));
    if (rc == 1)
        goto out;
    e->tested = 1;
    ctt_free_pages();    /* of the test, for what a save needs */
    start_sampling(t, e->val.loss, last);
    e->best = ctt_picks_last(t->cfg) ? last
              : !changes_later(t) && (!t->at.best_epoch ||
                                      t->task->better(&e->val, &t->at.val));
    if (e->best)
        CTT_TRY(keep_best(t, t->at.epoch + 1, &e->val));
out:
    return rc;
}
