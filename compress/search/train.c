/* SPDX-License-Identifier: Apache-2.0
 * train.c: retrains assignments, for a few steps or whole, and tests them. */
#include "compress/search/search.h"
#include "compress/trial.h"
#include "net/file/decision.h"

#include <math.h>
#include <stdio.h>
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
 * steps of LeNet-5).  Shared values are trained behind the rest, and those of
 * INT8 where nothing else is. */
enum { MANY = 1000 };
static struct ctt_recipe short_recipe(const struct ctt_budget_run *r,
                                      const struct ctt_short *t)
{
    struct ctt_recipe o = r->o;

    o.automatic = 0;
    o.epochs = o.share.epochs = 1;
    o.int8.epochs = 0;
    o.prune.rounds = t->steps < MANY ? 1 : 0;
    return o;
}

/* *m: NULL if training leads to no model. */
static int train_short(struct ctt_budget_run *r, const struct ctt_short *t,
                       const char *path, struct ctt_model **m)
{
    struct ctt_recipe o = short_recipe(r, t);
    struct ctt_assignment_recipe *mix = NULL;
    struct ctt_report *report = NULL;
    char what[128];
    int rc;

    snprintf(what, sizeof(what), "short retraining %d of %d, %s", t->at,
             t->all, t->what);
    CTT_TRY(ctt_model_copy(r->m, m));
    CTT_TRY(ctt_assignment_recipe(r->s, t->a, &o, &mix));
    rc = r->calls->train(r->calls->arg, ctt_assignment_changes(t->a)
                         ? ctt_assignment_settings(mix) : NULL, t->steps, what,
                         path, m, &report);
    if (rc == CTT_ENAN || ctt_budget_thins_none(t->a->thin, rc)) {
        ctt_model_free(m);
        rc = 0;
    }
    CTT_TRY(rc);
    rc = 0;
out:
    ctt_assignment_recipe_free(&mix);
    ctt_report_free(&report);
    return rc;
}

static int add_result(struct ctt_budget_run *r,
                      const struct ctt_budget_row *row)
{
    int rc;

    CTT_TRY(ctt_budget_rows_add(&r->rows, row));
    CTT_TRY(r->calls->log(r->calls->arg, row));
out:
    return rc;
}

/* Trains and tests, and sets the row. */
static int run_short(struct ctt_budget_run *r, const struct ctt_short *t,
                     struct ctt_budget_row *row)
{
    struct ctt_model *m = NULL;
    char path[4200];
    int rc;

    ctt_budget_try_name(r, 0, path, sizeof(path));
    CTT_TRY(train_short(r, t, path, &m));
    if (m) {
        CTT_TRY(ctt_model_costs(m, path, &row->costs));
        CTT_TRY(r->calls->test(r->calls->arg, m, t->race ? 2 : 0, &row->loss,
                               row->seen[0]));
    }
    row->loss = isfinite(row->loss) ? row->loss : NAN;
    CTT_TRY(add_result(r, row));
out:
    unlink(path);
    ctt_model_free(&m);
    return rc;
}

int ctt_budget_short(struct ctt_budget_run *r, struct ctt_short *t)
{
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_SHORT,
        .steps = t->steps, .loss = NAN,
        .costs = { { NAN, NAN, NAN, NAN }, NAN } };
    const struct ctt_budget_row *known;
    char text[CTT_ASSIGNMENT_TEXT];
    int rc = 0;

    ctt_assignment_print(r->s, t->a, text, sizeof(text));
    row.mix = text;
    known = ctt_budget_rows_find(&r->rows, &row);
    if (!known)
        CTT_TRY(run_short(r, t, &row));
    t->loss = known ? known->loss : row.loss;
    t->bytes = (known ? known : &row)->costs.cost[CTT_COST_BYTES];
out:
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

    CTT_TRY(ctt_assignment_recipe(r->s, p->a, &r->o, &o));
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
        CTT_TRY(add_result(r, &row));
        known = &r->rows.row[r->rows.rows - 1];
    }
    *out = *known;
out:
    ctt_model_free(&m);
    return rc;
}

/* 1: the file holds the model of the row. */
static int load_row(const char *path, const struct ctt_budget_row *row,
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

    CTT_TRY(there = load_row(r->out, row, out));
    if (there)
        goto out;
    ctt_budget_try_name(r, n, path, sizeof(path));
    CTT_TRY(load_row(path, row, out));
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
