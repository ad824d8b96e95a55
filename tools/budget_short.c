/* SPDX-License-Identifier: Apache-2.0
 * budget_short.c: retrains a mix for a few steps, which shows more of what the
 * whole retraining comes to than the mix without any. */
#include "tools/budget_run.h"
#include "tools/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* arg: a struct ctt_compress_job with short_steps. */
static int retrain(void *arg, const char *stage, int epochs,
                   const struct ctt_changes *during, struct ctt_model *m)
{
    struct ctt_compress_job *j = arg;
    struct ctt_train_cfg cfg = j->c.train;
    struct ctt_events ev = j->ev;
    struct ctt_result r;
    int rc;

    (void)stage;
    (void)epochs;    /* a recipe of one epoch retrains at its end only */
    cfg.max_steps = cfg.epochs = j->short_steps;
    cfg.warmup = 0;
    cfg.checkpoint = NULL;
    cfg.changes = during;
    ev.epoch = NULL;
    CTT_TRY(ctt_train(m, &cfg, j->data, NULL, &ev, &r));
    CTT_CHECK(!r.stopped, CTT_ESTOP, "--budget: stopped; the same command goes "
              "on from %s", j->c.sense_log);
out:
    return rc;
}

/* Of a recipe of which nothing but its model is wanted. */
static struct ctt_recipe_calls calls_of(struct ctt_compress_job *j)
{
    struct ctt_recipe_calls all = ctt_compress_calls(j);

    return (struct ctt_recipe_calls){ .arg = j, .retrain = retrain,
        .norms = all.norms, .sample = all.sample,
        .slow_bytes = all.slow_bytes };
}

/* Whether a mix is retrained before values are shared or quantised. */
static int retrains(const struct ctt_budget_run *r,
                    const struct ctt_budget_short *t)
{
    int some = 0;

    for (int i = 0; t->part && i < r->s->weights; i++)
        some |= t->part[i].form || t->part[i].prune;
    return some || t->thin > 0;
}

static int changes(const struct ctt_budget_run *r,
                   const struct ctt_budget_short *t)
{
    int some = retrains(r, t);

    for (int i = 0; t->part && i < r->s->weights; i++)
        some |= t->part[i].share || t->part[i].int8;
    return some;
}

/* Pruned at once: in so few steps a share that grows leaves none to retrain
 * with what it ends at.  Each mix has as many steps, after everything that is
 * retrained, so what is shared or quantised is only if nothing else is. */
static void shorten(const struct ctt_budget_run *r,
                    const struct ctt_budget_short *t, struct ctt_recipe *o)
{
    *o = r->j->c.recipe;
    o->automatic = 0;
    o->epochs = 1;
    o->share.epochs = o->int8.epochs = retrains(r, t) ? 0 : o->epochs;
    o->prune.rounds = 1;
}

static int make(struct ctt_budget_run *r, const struct ctt_budget_short *t,
                struct ctt_model **m)
{
    struct ctt_recipe_calls calls = calls_of(r->j);
    struct ctt_mix_recipe *mix = NULL;
    struct ctt_report *report = NULL;
    struct ctt_recipe o;
    char path[4200];
    int rc;

    shorten(r, t, &o);
    CTT_TRY(ctt_model_copy(r->j->m, m));
    if (!changes(r, t)) {
        rc = retrain(r->j, "", o.epochs, NULL, *m);
        goto out;
    }
    CTT_TRY(ctt_budget_recipe(r, t->thin, t->part, &o, &mix));
    ctt_budget_try_name(r, 0, path, sizeof(path));
    CTT_TRY(ctt_recipe_run(ctt_mix_settings(mix), &calls, path, NULL, m,
                           &report));
    unlink(path);
out:
    ctt_mix_recipe_free(&mix);
    ctt_report_free(&report);
    return rc;
}

/* Sets what retraining is called in lines of progress. */
static void begin(struct ctt_compress_job *j, const struct ctt_budget_short *t)
{
    snprintf(j->busy, sizeof(j->busy), "short retraining %d of %d, %s", t->at,
             t->all, t->what);
    j->watch.stage = j->busy;
    j->watch.span = (struct ctt_span){ .done = 0 };
    j->short_steps = t->steps;
}

/* The bytes of the mix t->whole of the model of its mix without the last
 * stages. */
static int measure_bytes(const struct ctt_budget_run *r,
                         const struct ctt_budget_short *t,
                         const struct ctt_model *m, double *out)
{
    struct ctt_mix_recipe *mix = NULL;
    char path[4200];
    int rc;

    CTT_TRY(ctt_budget_recipe(r, t->thin, t->whole, &r->j->c.recipe, &mix));
    ctt_budget_try_name(r, 0, path, sizeof(path));
    CTT_TRY(ctt_mix_bytes(m, ctt_mix_settings(mix), path, out));
out:
    ctt_mix_recipe_free(&mix);
    return rc;
}

int ctt_budget_shortly(struct ctt_budget_run *r,
                       const struct ctt_budget_short *t,
                       struct ctt_budget_left *out)
{
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_SHORT,
        .mix = t->mix, .steps = t->steps,
        .costs = { { NAN, NAN, NAN, NAN }, NAN } };
    const struct ctt_budget_row *known = ctt_budget_row_find(&r->rows, &row);
    struct ctt_metrics *is = NULL;
    struct ctt_model *m = NULL;
    int rc = 0;

    if (known) {
        *out = (struct ctt_budget_left){ known->loss,
                                         known->costs.cost[CTT_COST_BYTES] };
        goto out;
    }
    begin(r->j, t);
    rc = make(r, t, &m);
    CTT_TRY(rc == CTT_ENAN ? 0 : rc);
    if (rc >= 0)
        CTT_TRY(ctt_budget_test(r, m, r->j->val, &is));
    row.loss = is ? ctt_budget_loss(is) : NAN;
    if (!isfinite(row.loss))
        row.loss = NAN;
    if (is && t->whole)
        CTT_TRY(measure_bytes(r, t, m, &row.costs.cost[CTT_COST_BYTES]));
    *out = (struct ctt_budget_left){ row.loss,
                                     row.costs.cost[CTT_COST_BYTES] };
    CTT_TRY(ctt_budget_row_add(&r->rows, r->log, &row));
out:
    r->j->busy[0] = '\0';
    ctt_model_free(&m);
    ctt_metrics_free(&is);
    return rc;
}
