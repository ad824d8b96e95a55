/* SPDX-License-Identifier: Apache-2.0
 * budget_heal.c: retrains each kind of option alone, for all weights at once
 * and for a few steps, as what counts is what retraining leaves of the harm. */
#include "tools/budget_run.h"
#include "tools/table.h"
#include "tools/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is being retrained, and all levels. */
struct heal {
    struct ctt_budget_run *r;
    struct ctt_recipe      o;
    struct ctt_level       level[CTT_LEVELS];
    struct ctt_part       *part;    /* by weight */
    char                  *mix;
    int                    levels;
};

/* ---- a short retraining ---- */

static int retrain(void *arg, const char *stage, int epochs,
                   const struct ctt_changes *during, struct ctt_model *m)
{
    struct ctt_compress_job *j = arg;
    struct ctt_train_cfg cfg = j->c.train;
    struct ctt_events ev = j->ev;
    struct ctt_result r;
    int rc;

    (void)stage;
    cfg.max_steps = j->c.budget_steps;
    cfg.warmup = 0;
    cfg.checkpoint = NULL;
    cfg.epochs = epochs;
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

static void shorten(const struct ctt_budget_run *r, struct ctt_recipe *o)
{
    int64_t clips = ctt_data_clips(r->j->data);
    int64_t seen = (int64_t)r->j->c.budget_steps * r->j->c.train.batch;

    *o = r->j->c.recipe;
    o->automatic = 0;
    o->epochs = (int)((seen + clips - 1) / clips);
    o->share.epochs = 0;
}

/* part NULL: of the model as given. */
static int make(const struct heal *h, const struct ctt_part *part,
                struct ctt_model **m)
{
    struct ctt_budget_run *r = h->r;
    struct ctt_recipe_calls calls = calls_of(r->j);
    struct ctt_mix_recipe *o = NULL;
    struct ctt_report *report = NULL;
    char path[4200];
    int rc;

    CTT_TRY(ctt_model_copy(r->j->m, m));
    if (!part) {
        rc = retrain(r->j, "", h->o.epochs, NULL, *m);
        goto out;
    }
    CTT_TRY(ctt_mix_recipe(r->s, part, &h->o, &o));
    ctt_budget_try_name(r, 0, path, sizeof(path));
    CTT_TRY(ctt_recipe_run(ctt_mix_settings(o), &calls, path, NULL, m,
                           &report));
    unlink(path);
out:
    ctt_mix_recipe_free(&o);
    ctt_report_free(&report);
    return rc;
}

/* The loss of what h->mix names, unless the log has it. */
static int loss_of(struct heal *h, const struct ctt_part *part, double *loss)
{
    struct ctt_budget_run *r = h->r;
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_SHORT,
        .mix = h->mix, .costs = { { NAN, NAN, NAN }, NAN } };
    const struct ctt_budget_row *known = ctt_budget_row_find(
        &r->rows, h->mix, r->how, CTT_BUDGET_SHORT);
    struct ctt_metrics *is = NULL;
    struct ctt_model *m = NULL;
    int rc = 0;

    if (known) {
        *loss = known->loss;
        goto out;
    }
    CTT_TRY(make(h, part, &m));
    CTT_TRY(ctt_budget_test(r, m, r->j->val, &is));
    *loss = row.loss = ctt_budget_loss(is);
    CTT_TRY(ctt_budget_row_add(&r->rows, r->log, &row));
out:
    ctt_model_free(&m);
    ctt_metrics_free(&is);
    return rc;
}

/* ---- all ---- */

static const char *name_of(const struct ctt_level *l, char text[64])
{
    snprintf(text, 64, "%s %g", l->ladder->name, l->ladder->value[l->value]);
    return text;
}

/* Sets what retraining is called in lines of progress. */
static void begin(struct heal *h, int done, const char *what)
{
    struct ctt_compress_job *j = h->r->j;

    snprintf(j->busy, sizeof(j->busy), "short retraining %d of %d, %s",
             done + 1, h->levels + 1, what);
    j->watch.stage = j->busy;
    j->watch.span = (struct ctt_span){ .done = 0 };
}

static int measure(struct heal *h)
{
    double base = NAN, loss;
    char text[64];
    int rc;

    begin(h, 0, "as given");
    snprintf(h->mix, CTT_MIX_TEXT, "as given");
    CTT_TRY(loss_of(h, NULL, &base));
    for (int i = 0; i < h->levels; i++) {
        if (!ctt_level_parts(h->r->s, &h->level[i], h->part))
            continue;
        begin(h, i + 1, name_of(&h->level[i], text));
        ctt_mix_print(h->r->s, h->part, h->mix, CTT_MIX_TEXT);
        CTT_TRY(loss_of(h, h->part, &loss));
        h->level[i].left = loss - base;
    }
out:
    h->r->j->busy[0] = '\0';
    return rc;
}

/* Before and after. */
static int say(const struct heal *h, const double *before)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    char text[64];
    int rc;

    ctt_tool_say("\nall weights with the same option: what the answers lose, "
                 "in nats, at once and after %d steps of retraining:",
                 h->r->j->c.budget_steps);
    ctt_table_row(&t, "option\tat once\tretrained");
    for (int i = 0; i < h->levels; i++)
        if (!isnan(h->level[i].left))
            ctt_table_row(&t, "%s\t%.3f\t%.3f", name_of(&h->level[i], text),
                          before[i], h->level[i].left);
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

int ctt_budget_heal(struct ctt_budget_run *r)
{
    struct heal h = { .r = r };
    double before[CTT_LEVELS];
    int rc = 0;

    if (!r->j->c.budget_steps)
        return 0;
    h.levels = ctt_levels(h.level);
    h.part = ctt_calloc((size_t)r->s->weights, sizeof(*h.part));
    h.mix = ctt_calloc(CTT_MIX_TEXT, 1);
    CTT_TRY(h.part && h.mix ? 0 : CTT_ENOMEM);
    shorten(r, &h.o);
    CTT_TRY(measure(&h));
    for (int i = 0; i < h.levels; i++)
        before[i] = ctt_level_harm(r->s, &h.level[i]);
    CTT_TRY(say(&h, before));
    ctt_heal(r->s, h.level, h.levels);
out:
    ctt_free(h.part);
    ctt_free(h.mix);
    return rc;
}
