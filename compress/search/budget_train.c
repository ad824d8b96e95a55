/* SPDX-License-Identifier: Apache-2.0
 * budget_train.c: retrains the mix that a budget asks for, and tests it on
 * clips that chose it and on clips that did not. */
#include "compress/search/budget_run.h"
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"
#include "net/file/decision.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *ctt_budget_try_name(const struct ctt_budget_run *r, int n,
                                char *to, size_t size)
{
    snprintf(to, size, "%s.try%d", r->j->c.out, n);
    return to;
}

/* ---- tests ---- */

int ctt_budget_test(const struct ctt_budget_run *r, const struct ctt_model *m,
                    struct ctt_data *d, struct ctt_metrics **out)
{
    struct ctt_score s;

    return ctt_compress_test(m, &r->j->c.train, d, &r->j->ev, NULL, &s, out);
}

int ctt_budget_test_given(struct ctt_budget_run *r)
{
    int rc;

    CTT_TRY(ctt_budget_test(r, r->j->m, r->j->val, &r->was[0]));
    CTT_TRY(ctt_budget_test(r, r->j->m, r->accept, &r->was[1]));
out:
    return rc;
}

double ctt_budget_loss(const struct ctt_metrics *m)
{
    double sum = 0;

    for (int k = 0; k < CTT_ACCURACIES; k++)
        sum += ctt_metrics_loss(m, k);
    return sum / CTT_ACCURACIES;
}

void ctt_budget_pair(const struct ctt_metrics *was,
                     const struct ctt_metrics *is, int clips,
                     struct ctt_paired out[CTT_ACCURACIES])
{
    memset(out, 0, CTT_ACCURACIES * sizeof(*out));
    for (int i = 0; i < clips * CTT_ACCURACIES; i++) {
        struct ctt_paired *t = &out[i % CTT_ACCURACIES];
        int a = was->verdict[i] == CTT_RIGHT, b = is->verdict[i] == CTT_RIGHT;

        if (was->verdict[i] == CTT_UNREAD || is->verdict[i] == CTT_UNREAD)
            continue;
        t->clips++;
        t->was += a;
        t->is += b;
        t->lost += a && !b;
        t->won += b && !a;
    }
}

static int test_both(const struct ctt_budget_run *r, const struct ctt_model *m,
                     struct ctt_budget_row *row)
{
    struct ctt_data *const of[] = { r->j->val, r->accept };
    struct ctt_metrics *is = NULL;
    int rc = 0;

    for (int k = 0; k < 2; k++) {
        CTT_TRY(ctt_budget_test(r, m, of[k], &is));
        row->loss = k ? row->loss : ctt_budget_loss(is);
        ctt_budget_pair(r->was[k], is, ctt_data_clips(of[k]), row->seen[k]);
        ctt_metrics_free(&is);
    }
out:
    return rc;
}

/* ---- retraining ---- */

/* What a killed run has saved of this recipe; it is left out if it is of
 * another one. */
static int open_from(struct ctt_budget_run *r, struct ctt_recipe_from *from,
                     char **place)
{
    struct ctt_compress_job *j = r->j;
    const char *path = j->c.train.checkpoint;
    struct ctt_model *m = NULL;
    int rc = access(path, F_OK) == 0 ? 0 : CTT_EIO;

    if (rc >= 0)
        rc = ctt_model_load(path, 1, &m);
    if (rc >= 0)
        rc = ctt_pause_open(m, &j->c.train, place);
    if (rc >= 0)
        rc = ctt_pause_end(m, &j->c.train, j->data, j->val);
    if (rc >= 0) {
        *from = (struct ctt_recipe_from){ m, *place };
        m = NULL;
    }
    ctt_model_free(&m);
    return rc == CTT_ENOMEM ? rc : 0;
}

/* From the checkpoint if there is one, else from the start. */
static int run_recipe(struct ctt_budget_run *r, const struct ctt_recipe *o,
                      const char *path, struct ctt_model **m,
                      struct ctt_report **report)
{
    struct ctt_recipe_calls calls = ctt_compress_calls(r->j);
    struct ctt_recipe_from from = { NULL, NULL };
    char *place = NULL;
    int again, rc;

    calls.compare = NULL;    /* the mix is chosen already */
    if (isnan(r->ms))
        calls.time = NULL;
    CTT_TRY(open_from(r, &from, &place));
    CTT_TRY(ctt_model_copy(r->j->m, m));
    rc = from.m ? ctt_recipe_run(o, &calls, path, &from, m, report) : 0;
    again = !from.place || rc == CTT_EINVAL || rc == CTT_EFORMAT;
    if (from.place && again) {
        ctt_model_free(m);
        CTT_TRY(ctt_model_copy(r->j->m, m));
    }
    if (again)
        rc = ctt_recipe_run(o, &calls, path, NULL, m, report);
    CTT_TRY(rc);
    unlink(r->j->c.train.checkpoint);
out:
    ctt_model_free(&from.m);
    ctt_free(place);
    return rc;
}

static int train(struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                 const char *path, struct ctt_budget_row *row,
                 struct ctt_model **out)
{
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_report *report = NULL;
    struct ctt_decision sign = { .weights = 0 };
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_budget_recipe(r, p->thin, p->part, &r->j->c.recipe, &o));
    CTT_TRY(run_recipe(r, ctt_assignment_settings(o), path, &m, &report));
    CTT_TRY(ctt_model_costs(m, path, &row->costs));
    row->costs.faster = report->stage[report->stages - 1].faster;
    if (!isnan(r->ms)) {
        row->costs.cost[CTT_COST_MS] = r->ms / row->costs.faster;
        row->costs.cost[CTT_COST_RAM] =
            (double)report->stage[report->stages - 1].ram;
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

int ctt_budget_train(struct ctt_budget_run *r, const struct ctt_budget_plan *p,
                     int n, struct ctt_budget_row *out)
{
    struct ctt_budget_row row = { .how = r->how, .kind = CTT_BUDGET_TRAINED,
                                  .mix = p->mix };
    const struct ctt_budget_row *known = ctt_budget_row_find(&r->rows, &row);
    struct ctt_model *m = NULL;
    char path[4200];
    int rc = 0;

    if (!known) {
        ctt_budget_try_name(r, n, path, sizeof(path));
        CTT_TRY(train(r, p, path, &row, &m));
        CTT_TRY(test_both(r, m, &row));
        CTT_TRY(ctt_budget_row_add(&r->rows, r->log, &row));
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

    CTT_TRY(there = load(r->j->c.out, row, out));
    if (there)
        goto out;
    ctt_budget_try_name(r, n, path, sizeof(path));
    CTT_TRY(load(path, row, out));
    if (rc)
        goto out;
    ctt_tool_say("the chosen mix is retrained again, as its file is gone");
    CTT_TRY(train(r, p, path, &again, out));
    CTT_CHECK(again.model == row->model, CTT_EINVAL, "%s: the same retraining "
              "made another model than before; remove this log",
              r->j->c.sense_log);
out:
    return rc < 0 ? rc : there;
}
