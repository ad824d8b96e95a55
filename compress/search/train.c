/* SPDX-License-Identifier: Apache-2.0
 * train.c: retrains assignments, for a few steps or whole, and tests them. */
#include "compress/search/search.h"
#include "compress/trial.h"
#include "base/newfile.h"
#include "net/file/decision.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *ctt_budget_try_name(const struct ctt_budget_run *r, int n, char *to,
                                size_t size)
{
    snprintf(to, size, "%s.try%d", r->out, n);
    return to;
}

/* ---- short retrainings ---- */

/* Pruned at once: in a few steps a share that grows leaves none to retrain with
 * the last one; in MANY it loses less (0.04 in place of 0.07 nat after 1,548
 * steps of LeNet-5).  All options are there before the steps begin; shared or
 * quantised values alone are kept so while they are retrained. */
enum { MANY = 1000 };
static struct ctt_recipe shortened(const struct ctt_budget_run *r,
                                   const struct ctt_short *t)
{
    struct ctt_recipe o = r->o;

    o.automatic = 0;
    o.epochs = 1;
    o.share.epochs = o.int8.epochs = !ctt_assignment_retrains(t->a);
    o.prune.rounds = t->steps < MANY ? 1 : 0;
    return o;
}

static int train_short(struct ctt_budget_run *r, const struct ctt_short *t,
                       struct ctt_model **m)
{
    struct ctt_assignment_recipe *mix = NULL;
    struct ctt_report *report = NULL;
    char path[4200], what[128];
    int rc;

    snprintf(what, sizeof(what), "short retraining %d of %d, %s", t->at,
             t->all, t->what);
    ctt_budget_try_name(r, 0, path, sizeof(path));
    CTT_TRY(ctt_model_copy(r->m, m));
    if (t->a && ctt_assignment_changes(t->a)) {
        struct ctt_recipe o = shortened(r, t);

        CTT_TRY(ctt_assignment_recipe(r->s, t->a, &o, &mix));
    }
    CTT_TRY(r->calls->train(r->calls->arg, mix ? ctt_assignment_settings(mix)
                            : NULL, t->steps, what, path, m, &report));
    unlink(path);
out:
    ctt_assignment_recipe_free(&mix);
    ctt_report_free(&report);
    return rc;
}

/* ---- stages that follow at once ---- */

/* The stages behind pruning, without clips: bytes, and the model. */
static int follow(struct ctt_budget_run *r, const struct ctt_assignment *a,
                  const struct ctt_model *m, double *bytes,
                  struct ctt_model **out)
{
    struct ctt_assignment_recipe *mix = NULL;
    struct ctt_trial t = { .file = NULL };
    int rc;

    CTT_TRY(ctt_budget_plan_recipe(r, a, &mix));
    CTT_TRY(ctt_trial_recipe(m, ctt_stages, &ctt_stage_prune,
                             ctt_assignment_settings(mix), r->out, &t));
    *bytes = (double)t.bytes;
    if (out)
        CTT_TRY(ctt_model_load(ctt_newfile_temp(t.file), 0, out));
out:
    ctt_trial_drop(&t);
    ctt_assignment_recipe_free(&mix);
    return rc;
}

/* Loss and seen are those without INT8, whose ranges are not known. */
static int measure_then(struct ctt_budget_run *r, const struct ctt_model *m,
                        const struct ctt_assignment *a, double *bytes,
                        double *loss, struct ctt_paired *seen)
{
    struct ctt_assignment *bare = NULL;
    struct ctt_model *is = NULL;
    double ignored;
    int rc;

    CTT_TRY(ctt_assignment_copy(a, &bare));
    for (int i = 0; i < bare->weights; i++)
        bare->weight[i].int8 = 0;
    CTT_TRY(follow(r, a, m, bytes, NULL));
    CTT_TRY(follow(r, bare, m, &ignored, &is));
    CTT_TRY(r->calls->test(r->calls->arg, is, 0, loss, seen));
    *loss = isfinite(*loss) ? *loss : NAN;
out:
    ctt_model_free(&is);
    ctt_free(bare);
    return rc;
}

/* ---- rows ---- */

/* Of the retraining (k < 0), or of t->then[k]; text: CTT_ASSIGNMENT_TEXT. */
static struct ctt_budget_row row_of(const struct ctt_budget_run *r,
                                    const struct ctt_short *t, int k,
                                    char *text)
{
    static const char word[] = CTT_BUDGET_AT_ONCE;
    const struct ctt_assignment *a = k < 0 ? t->a : t->then[k];
    size_t n = k < 0 ? 0 : sizeof(word) - 1;

    memcpy(text, word, n);
    if (a)
        ctt_assignment_print(r->s, a, text + n, CTT_ASSIGNMENT_TEXT - n);
    else
        snprintf(text, CTT_ASSIGNMENT_TEXT, CTT_ASSIGNMENT_NONE);
    return (struct ctt_budget_row){ .how = r->how, .kind = CTT_BUDGET_SHORT,
        .mix = text, .steps = t->steps, .loss = NAN,
        .costs = { { NAN, NAN, NAN, NAN }, NAN } };
}

/* Whether all rows are known: a run that was killed may have written some. */
static int is_known(const struct ctt_budget_run *r, struct ctt_short *t,
                    char *text)
{
    int known = 1;

    for (int k = -1; k < t->thens; k++) {
        struct ctt_budget_row like = row_of(r, t, k, text);
        const struct ctt_budget_row *row =
            ctt_budget_rows_find(&r->rows, &like);

        known &= row != NULL;
        if (k < 0) {
            t->loss = row ? row->loss : NAN;
        } else {
            t->then_loss[k] = row ? row->loss : NAN;
            t->then_bytes[k] = row ? row->costs.cost[CTT_COST_BYTES] : NAN;
        }
    }
    return known;
}

static int add_row(struct ctt_budget_run *r, const struct ctt_budget_row *row)
{
    int rc;

    if (row->kind == CTT_BUDGET_SHORT && ctt_budget_rows_find(&r->rows, row))
        return 0;
    CTT_TRY(ctt_budget_rows_add(&r->rows, row));
    CTT_TRY(r->calls->log(r->calls->arg, row));
out:
    return rc;
}

/* m: NULL if training has led to none. */
static int measure(struct ctt_budget_run *r, struct ctt_short *t,
                   const struct ctt_model *m, char *text)
{
    struct ctt_budget_row row = row_of(r, t, -1, text);
    int rc = 0;

    if (m)
        CTT_TRY(r->calls->test(r->calls->arg, m, 0, &row.loss, row.seen[0]));
    t->loss = row.loss = isfinite(row.loss) ? row.loss : NAN;
    CTT_TRY(add_row(r, &row));
    for (int k = 0; k < t->thens; k++) {
        double *bytes = &row.costs.cost[CTT_COST_BYTES];

        row = row_of(r, t, k, text);
        if (!isnan(t->loss))
            CTT_TRY(measure_then(r, m, t->then[k], bytes, &row.loss,
                                 row.seen[0]));
        t->then_loss[k] = row.loss;
        t->then_bytes[k] = *bytes;
        CTT_TRY(add_row(r, &row));
    }
out:
    return rc;
}

int ctt_budget_short(struct ctt_budget_run *r, struct ctt_short *t)
{
    char *text = ctt_calloc(CTT_ASSIGNMENT_TEXT, 1);
    struct ctt_model *m = NULL;
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (is_known(r, t, text))
        goto out;
    rc = train_short(r, t, &m);
    CTT_TRY(rc == CTT_ENAN ? 0 : rc);
    if (rc < 0)
        ctt_model_free(&m);
    rc = 0;
    CTT_TRY(measure(r, t, m, text));
out:
    ctt_free(text);
    ctt_model_free(&m);
    return rc;
}

/* ---- whole retrainings ---- */

static int train_whole(struct ctt_budget_run *r,
                       const struct ctt_budget_plan *p, const char *path,
                       struct ctt_budget_row *row, struct ctt_model **out)
{
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_report *report = NULL;
    struct ctt_decision sign = { .weights = 0 };
    const struct ctt_stage_row *last;
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_budget_plan_recipe(r, p->a, &o));
    CTT_TRY(ctt_model_copy(r->m, &m));
    CTT_TRY(r->calls->train(r->calls->arg, ctt_assignment_settings(o), 0, "",
                            path, &m, &report));
    CTT_TRY(ctt_model_costs(m, path, &row->costs));
    last = &report->stage[report->stages - 1];
    if (!isnan(r->given.cost[CTT_COST_MS])) {
        row->costs.faster = last->faster;
        row->costs.cost[CTT_COST_MS] = r->given.cost[CTT_COST_MS] /
                                       last->faster;
        row->costs.cost[CTT_COST_RAM] = (double)last->ram;
    }
    CTT_TRY(ctt_decision_sign(m, &sign));
    row->model = sign.crc;
    *out = m;
    m = NULL;
out:
    ctt_model_free(&m);
    ctt_report_free(&report);
    ctt_assignment_recipe_free(&o);
    return rc;
}

int ctt_budget_whole(struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                     int n, struct ctt_budget_row *out)
{
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_TRAINED,
        .mix = p->mix, .costs = { { NAN, NAN, NAN, NAN }, NAN } };
    const struct ctt_budget_row *known = ctt_budget_rows_find(&r->rows, &row);
    struct ctt_model *m = NULL;
    char path[4200];
    int rc = 0;

    if (!known) {
        ctt_budget_try_name(r, n, path, sizeof(path));
        CTT_TRY(train_whole(r, p, path, &row, &m));
        CTT_TRY(r->calls->test(r->calls->arg, m, 0, &row.loss, row.seen[0]));
        CTT_TRY(r->calls->test(r->calls->arg, m, 1, NULL, row.seen[1]));
        CTT_TRY(add_row(r, &row));
        known = &r->rows.row[r->rows.rows - 1];
    }
    *out = *known;
out:
    ctt_model_free(&m);
    return rc;
}

/* 1: the file holds the model of the row. */
static int load(const char *path, const struct ctt_budget_row *row,
                struct ctt_model **out)
{
    struct ctt_decision sign = { .weights = 0 };
    int rc = access(path, F_OK) == 0 ? ctt_model_load(path, 0, out) : 0;

    if (rc >= 0 && *out && ctt_decision_sign(*out, &sign) >= 0 &&
        sign.crc == row->model)
        return 1;
    ctt_model_free(out);
    return rc == CTT_ENOMEM ? rc : 0;
}

int ctt_budget_model(struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                     int n, const struct ctt_budget_row *row,
                     struct ctt_model **out)
{
    struct ctt_budget_row again = { .how = r->how };
    char path[4200];
    int there = 0, rc = 0;

    CTT_TRY(there = load(r->out, row, out));
    if (there)
        goto out;
    ctt_budget_try_name(r, n, path, sizeof(path));
    CTT_TRY(load(path, row, out));
    if (rc)
        goto out;
    ctt_budget_say(r, "the chosen assignment is retrained again, as its file "
                   "is gone");
    CTT_TRY(train_whole(r, p, path, &again, out));
    CTT_CHECK(again.model == row->model, CTT_EINVAL, "--budget: the same "
              "retraining made another model than before; remove the log");
out:
    return rc < 0 ? rc : there;
}
