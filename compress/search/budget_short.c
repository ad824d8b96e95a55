/* SPDX-License-Identifier: Apache-2.0
 * budget_short.c: retrains a mix for a few steps, which shows more of what the
 * whole retraining comes to than the mix without any. */
#include "compress/search/budget_run.h"
#include "tools/shared/tool.h"

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
    cfg.max_steps = j->short_steps;
    cfg.epochs = (int)(j->short_steps / ctt_compress_batches(j)) + 1;
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

/* A third of what is enough elsewhere, as retraining follows, and sampling
 * would take longer than that. */
enum { FRAMES = 1000 };
static int sample(void *arg, const struct ctt_model *m, int clips,
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

/* Of a recipe of which nothing but its model is wanted. */
static struct ctt_recipe_calls calls_of(struct ctt_compress_job *j)
{
    struct ctt_recipe_calls all = ctt_compress_calls(j);

    return (struct ctt_recipe_calls){ .arg = j, .retrain = retrain,
        .norms = all.norms, .sample = all.sample ? sample : NULL,
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

/* Pruned at once: in a few steps a share that grows leaves none to retrain with
 * what it ends at.  In MANY it does not, and leads to less loss: 0.04 in place
 * of 0.07 after 1,548 steps of LeNet-5.  Each mix has as many steps, after
 * everything that is retrained, so what is shared or quantised is only if
 * nothing else is. */
enum { MANY = 1000 };
static void shorten(const struct ctt_budget_run *r,
                    const struct ctt_budget_short *t, struct ctt_recipe *o)
{
    *o = r->j->c.recipe;
    o->automatic = 0;
    o->epochs = 1;
    o->share.epochs = o->int8.epochs = retrains(r, t) ? 0 : o->epochs;
    o->prune.rounds = t->steps < MANY ? 1 : 0;
}

static int make(struct ctt_budget_run *r, const struct ctt_budget_short *t,
                struct ctt_model **m)
{
    struct ctt_recipe_calls calls = calls_of(r->j);
    struct ctt_assignment_recipe *mix = NULL;
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
    CTT_TRY(ctt_recipe_run(ctt_assignment_settings(mix), &calls, path, NULL, m,
                           &report));
    unlink(path);
out:
    ctt_assignment_recipe_free(&mix);
    ctt_report_free(&report);
    return rc;
}

/* Sets what retraining is called in lines of progress. */
static void begin(struct ctt_compress_job *j, const struct ctt_budget_short *t)
{
    snprintf(j->busy, sizeof(j->busy), "short retraining %d of %d, %s", t->at,
             t->all, t->what);
    j->watch.stage = j->busy;
    j->watch.span = (struct ctt_epochs){ .done = 0 };
    j->short_steps = t->steps;
}

/* ---- what follows at once ---- */

/* Bytes of a mix of which m is retrained before its last stages; *is: the
 * model, or NULL. */
static int rest(const struct ctt_budget_run *r, double thin,
                const struct ctt_part *part, const struct ctt_model *m,
                double *bytes, struct ctt_model **is)
{
    struct ctt_assignment_recipe *mix = NULL;
    char path[4200];
    int rc;

    CTT_TRY(ctt_budget_recipe(r, thin, part, &r->j->c.recipe, &mix));
    ctt_budget_try_name(r, 0, path, sizeof(path));
    CTT_TRY(
        ctt_assignment_rest(m, ctt_assignment_settings(mix), path, bytes, is));
out:
    ctt_assignment_recipe_free(&mix);
    return rc;
}

/* The same without INT8; NULL: there is none. */
static struct ctt_part *without_int8(const struct ctt_budget_run *r,
                                     const struct ctt_part *part, int *rc)
{
    size_t n = (size_t)r->s->weights, some = 0;
    struct ctt_part *to = ctt_calloc(n, sizeof(*to));

    *rc = to ? 0 : CTT_ENOMEM;
    for (size_t i = 0; to && i < n; i++) {
        some += part[i].int8 != NULL;
        to[i] = part[i];
        to[i].int8 = NULL;
    }
    if (!some) {
        ctt_free(to);
        to = NULL;
    }
    return to;
}

static int measure_then(const struct ctt_budget_run *r, double thin,
                        const struct ctt_model *m, struct ctt_budget_then *t)
{
    struct ctt_metrics *score = NULL;
    struct ctt_model *is = NULL;
    struct ctt_part *bare;
    double bytes;
    int rc;

    bare = without_int8(r, t->part, &rc);
    CTT_TRY(rc);
    CTT_TRY(rest(r, thin, t->part, m, &t->bytes, bare ? NULL : &is));
    if (bare)
        CTT_TRY(rest(r, thin, bare, m, &bytes, &is));
    CTT_TRY(ctt_budget_test(r, is, r->j->val, &score));
    t->loss = ctt_budget_loss(score);
    t->loss = isfinite(t->loss) ? t->loss : NAN;
    ctt_budget_pair(r->was[0], score, ctt_data_clips(r->j->val), t->seen);
out:
    ctt_free(bare);
    ctt_model_free(&is);
    ctt_metrics_free(&score);
    return rc;
}

/* ---- rows of the log ---- */

/* Text: of the caller, CTT_ASSIGNMENT_TEXT. */
static struct ctt_budget_row row_of(const struct ctt_budget_run *r,
                                    const struct ctt_budget_short *t,
                                    const struct ctt_budget_then *then,
                                    char *text)
{
    static const char word[] = CTT_BUDGET_AT_ONCE;
    size_t n = then ? sizeof(word) - 1 : 0;

    memcpy(text, word, n);
    if (then || t->part)
        ctt_assignment_print(r->s, t->thin, then ? then->part : t->part,
                             text + n, CTT_ASSIGNMENT_TEXT - n);
    else
        snprintf(text, CTT_ASSIGNMENT_TEXT, CTT_ASSIGNMENT_NONE);
    return (struct ctt_budget_row){ .how = r->how, .kind = CTT_BUDGET_SHORT,
        .mix = text, .steps = t->steps, .loss = NAN,
        .costs = { { NAN, NAN, NAN, NAN }, NAN } };
}

/* Whether the log has all of it, and not only what a run that was killed has
 * written. */
static int is_known(const struct ctt_budget_run *r, struct ctt_budget_short *t,
                    double *loss, char *text)
{
    struct ctt_budget_row like = row_of(r, t, NULL, text);
    const struct ctt_budget_row *row = ctt_budget_row_find(&r->rows, &like);
    int known = row != NULL;

    *loss = row ? row->loss : NAN;
    for (int i = 0; known && i < t->thens; i++) {
        like = row_of(r, t, &t->then[i], text);
        row = ctt_budget_row_find(&r->rows, &like);
        t->then[i].loss = row ? row->loss : NAN;
        t->then[i].bytes = row ? row->costs.cost[CTT_COST_BYTES] : NAN;
        known = row != NULL;
    }
    return known;
}

/* is: of the clips of the search; NULL: of `then`, or there is no model. */
static int add_row(struct ctt_budget_run *r, const struct ctt_budget_short *t,
                   const struct ctt_budget_then *then,
                   const struct ctt_metrics *is, double loss, char *text)
{
    struct ctt_budget_row row = row_of(r, t, then, text);

    if (ctt_budget_row_find(&r->rows, &row))
        return 0;
    row.loss = loss;
    if (is)
        ctt_budget_pair(r->was[0], is, ctt_data_clips(r->j->val), row.seen[0]);
    if (then) {
        row.costs.cost[CTT_COST_BYTES] = then->bytes;
        memcpy(row.seen[0], then->seen, sizeof(then->seen));
    }
    return ctt_budget_row_add(&r->rows, r->log, &row);
}

/* ---- all ---- */

/* m: NULL if retraining has led to none. */
static int measure(struct ctt_budget_run *r, struct ctt_budget_short *t,
                   const struct ctt_model *m, double *loss, char *text)
{
    struct ctt_metrics *is = NULL;
    int rc = 0;

    if (m)
        CTT_TRY(ctt_budget_test(r, m, r->j->val, &is));
    *loss = is ? ctt_budget_loss(is) : NAN;
    *loss = isfinite(*loss) ? *loss : NAN;
    CTT_TRY(add_row(r, t, NULL, is, *loss, text));
    for (int i = 0; i < t->thens; i++) {
        t->then[i].loss = t->then[i].bytes = NAN;
        memset(t->then[i].seen, 0, sizeof(t->then[i].seen));
        if (!isnan(*loss))
            CTT_TRY(measure_then(r, t->thin, m, &t->then[i]));
        CTT_TRY(add_row(r, t, &t->then[i], NULL, t->then[i].loss, text));
    }
out:
    ctt_metrics_free(&is);
    return rc;
}

int ctt_budget_shortly(struct ctt_budget_run *r, struct ctt_budget_short *t,
                       double *loss)
{
    char *text = ctt_calloc(CTT_ASSIGNMENT_TEXT, 1);
    struct ctt_model *m = NULL;
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (is_known(r, t, loss, text))
        goto out;
    begin(r->j, t);
    rc = make(r, t, &m);
    CTT_TRY(rc == CTT_ENAN ? 0 : rc);
    if (rc < 0)
        ctt_model_free(&m);
    rc = 0;
    CTT_TRY(measure(r, t, m, loss, text));
out:
    r->j->busy[0] = '\0';
    ctt_free(text);
    ctt_model_free(&m);
    return rc;
}
