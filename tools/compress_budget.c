/* SPDX-License-Identifier: Apache-2.0
 * compress_budget.c: convtt-compress --budget: the mix of options that keeps a
 * model within a budget. */
#include "tools/compress_budget.h"
#include "tools/budget_run.h"
#include "tools/compress_check.h"
#include "tools/compress_clips.h"
#include "tools/compress_sense.h"
#include "tools/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the start ---- */

/* The two halves of the validation clips. */
static int split(struct ctt_budget_run *r)
{
    struct ctt_compress_job *j = r->j;
    struct ctt_train_cfg cfg = j->c.train;
    int rc;

    cfg.folds = 2;
    r->whole = j->val;
    rc = ctt_fold_open(r->whole, &cfg, 0, &r->accept, &j->val);
    if (rc < 0)
        j->val = r->whole;
    if (rc == CTT_EINVAL)
        j->status = CTT_EXIT_USAGE;
    CTT_TRY(rc);
    ctt_tool_say("of %d validation clips %d search and %d accept",
                 ctt_data_clips(r->whole), ctt_data_clips(j->val),
                 ctt_data_clips(r->accept));
out:
    return rc;
}

/* Options that no plan has: thinning changes several weights at a time, so that
 * a mix is thinned as a whole; blocks and INT8 save time or memory. */
static void leave_out(struct ctt_budget_run *r)
{
    static const struct { const char *name, *why; int timed; } out[] = {
        { "thin", "of all weights at once", 0 },
        { "prune block", "saves time alone", 1 },
        { "int8", "saves time and memory alone", 1 },
    };

    for (int i = 0; i < r->s->points; i++)
        for (size_t k = 0; k < CTT_LEN(out); k++) {
            struct ctt_sense_point *p = &r->s->point[i];

            if (strcmp(p->ladder->name, out[k].name) != 0 ||
                (out[k].timed && r->timed))
                continue;
            p->done = 1;
            snprintf(p->why, CTT_REASON, "%s", out[k].why);
        }
}

/* Whether plans depend on times or memory, which are measured together: if they
 * are limited, or if what is to be small is not bytes alone. */
static int is_timed(const struct ctt_budget_run *r)
{
    const struct ctt_compress_cfg *c = &r->j->c;

    if (!ctt_compress_may_time(c))
        return 0;
    if (!ctt_budget_has_cost(&r->b))
        return c->recipe.aim != CTT_AIM_BYTES;
    return !isinf(r->b.most[CTT_COST_MS]) || !isinf(r->b.most[CTT_COST_RAM]);
}

static int offer(struct ctt_budget_run *r, const struct ctt_costs *given)
{
    struct ctt_costs of = *given;
    int rc = 0;

    ctt_tool_progress(0, "coding what weights can be");
    if (!r->timed)
        of.cost[CTT_COST_MS] = NAN;
    for (int f = 0; f < CTT_BUDGET_FORMS; f++)
        if (ctt_budget_has_form(r, f))
            CTT_TRY(ctt_offer_new(r->s, r->j->m, &r->j->c.recipe,
                                  ctt_budget_forms[f], &of, r->j->c.out,
                                  &r->offer[f]));
out:
    return rc;
}

static int check_floors(struct ctt_budget_run *r)
{
    static const int share[] = { 25, 50, 100 };
    int rc = 0, status = r->j->status;

    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_ACCURACIES; k++) {
        double is = ctt_metrics_top1(r->was[0], k);

        CTT_CHECK(!(is < r->b.floor[k]), CTT_EINVAL, "--budget: top1@%d=%g "
                  "cannot be met: the model as given has %.1f on the clips of "
                  "the search", share[k], 100 * r->b.floor[k], 100 * is);
    }
    r->j->status = status;
out:
    return rc;
}

/* ---- what is possible ---- */

/* The weight that has most of the least cost. */
static int limits(const struct ctt_menu *m, enum ctt_cost cost)
{
    double most = -1;
    int at = 0;

    for (int i = 0; i < m->weights; i++) {
        double least = INFINITY;

        for (int k = m->first[i]; k < m->first[i + 1]; k++)
            least = fmin(least, m->way[k].cost[cost]);
        if (least > most) {
            most = least;
            at = i;
        }
    }
    return at;
}

/* The least of a cost that anything tried has. */
static double least_tried(const struct ctt_budget_run *r, enum ctt_cost cost)
{
    double least = INFINITY;

    for (int i = 0; i < r->rows.rows; i++)
        if (r->rows.row[i].how == r->how)
            least = fmin(least, r->rows.row[i].costs.cost[cost]);
    return least;
}

/* Tries the mix that is expected to have least of a cost. */
static int try_least(struct ctt_budget_run *r, enum ctt_cost cost, double thin)
{
    struct ctt_aim_at a = { .harm = 1e-12, .most_harm = INFINITY };
    struct ctt_budget_plan *p = NULL;
    int rc;

    for (int k = 0; k < CTT_COSTS; k++)
        a.most[k] = INFINITY;
    a.price[cost] = 1;
    r->style.thin = thin;
    rc = ctt_budget_plan(r, &a, &p);
    r->style.thin = 0;
    ctt_budget_plan_free(&p);
    return thin > 0 && (rc == CTT_EUNSUP || rc == CTT_EINVAL) ? 0 : rc;
}

static int check_least(struct ctt_budget_run *r, enum ctt_cost cost)
{
    double least;
    int rc;

    CTT_TRY(try_least(r, cost, 0));
    if (least_tried(r, cost) > r->b.most[cost])
        CTT_TRY(try_least(r, cost, CTT_BUDGET_THINNEST));
    least = least_tried(r, cost);
    CTT_CHECK(least <= r->b.most[cost], CTT_EINVAL, "--budget: %s=%g cannot be "
              "met: the least is %.6g, most of it of %s",
              ctt_cost_words[cost], r->b.most[cost], least,
              r->s->weight[limits(&r->offer[0]->menu, cost)].name);
out:
    return rc;
}

static int check_possible(struct ctt_budget_run *r)
{
    int rc = 0;

    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_COSTS; k++)
        if (!isinf(r->b.most[k]))
            CTT_TRY(check_least(r, (enum ctt_cost)k));
    r->j->status = CTT_EXIT_FAIL;
out:
    return rc;
}

/* ---- all ---- */

/* Those that --teacher names, or the model as given. */
static int open_teachers(struct ctt_compress_job *j)
{
    int rc;

    CTT_TRY(ctt_teachers_load(j->c.train.teacher, &j->teachers));
    CTT_TRY(ctt_model_copy(j->m, &j->given));
    if (!j->c.train.teacher)
        j->teachers.list[0] = j->given;
    j->c.train.taught_by = j->teachers.list[0] ? j->teachers.list : NULL;
out:
    return rc;
}

/* Of --budget-steps auto: about 30 times as many are made, which then take
 * half as long as one whole retraining.  Fewer than ENOUGH tell little, but are
 * no more than an eighth of it. */
enum { PART = 60, MOST = 8, ENOUGH = 24, LEAST = 8 };
static int choose_steps(const struct ctt_compress_job *j)
{
    const struct ctt_compress_cfg *c = &j->c;
    int64_t batches = (ctt_data_clips(j->data) + c->train.batch - 1) /
                      c->train.batch;
    int64_t all = (c->recipe.epochs + c->recipe.share.epochs) * batches;
    int64_t steps = all / PART > ENOUGH ? all / PART : ENOUGH;

    steps = steps > all / MOST ? all / MOST : steps;
    return (int)(steps > LEAST ? steps : LEAST);
}

static int prepare(struct ctt_budget_run *r, struct ctt_costs *given)
{
    const struct ctt_sense_extra extra = { &r->rows, ctt_budget_row_read };
    struct ctt_compress_job *j = r->j;
    int rc;

    CTT_TRY(ctt_budget_read(j->c.budget, &r->b));
    CTT_TRY(ctt_budget_outputs(j));
    CTT_TRY(ctt_compress_load(j->path, "--budget", &j->m));
    CTT_TRY(ctt_compress_check_dense(j, j->m, j->path));
    CTT_TRY(ctt_train_device(&j->c.train));
    CTT_TRY(open_teachers(j));
    CTT_TRY(ctt_compress_open_clips(j));
    if (j->c.budget_steps == CTT_OPT_WORD)
        j->c.budget_steps = choose_steps(j);
    CTT_TRY(ctt_compress_how(j, &r->how));
    CTT_TRY(split(r));
    CTT_TRY(ctt_sense_new(j->m, &r->s));
    r->timed = is_timed(r);
    leave_out(r);
    CTT_TRY(ctt_budget_far(r));
    CTT_TRY(ctt_budget_test_given(r));
    CTT_TRY(check_floors(r));
    CTT_TRY(ctt_compress_measure(j, &extra, r->timed, r->s, &r->log));
    CTT_TRY(ctt_budget_given(r, given));
    CTT_TRY(ctt_budget_heal(r));
    CTT_TRY(offer(r, given));
    CTT_TRY(check_possible(r));
out:
    return rc;
}

static void close_run(struct ctt_budget_run *r)
{
    for (int f = 0; f < CTT_BUDGET_FORMS; f++)
        ctt_offer_free(&r->offer[f]);
    ctt_sense_log_close(&r->log);
    ctt_budget_rows_free(&r->rows);
    ctt_metrics_free(&r->was[0]);
    ctt_metrics_free(&r->was[1]);
    ctt_sense_free(&r->s);
    if (r->accept) {
        ctt_fold_close(&r->accept);
        ctt_fold_close(&r->j->val);
    }
    if (r->whole)
        r->j->val = r->whole;
}

int ctt_compress_budget(struct ctt_compress_job *j)
{
    struct ctt_budget_run r = { .j = j, .ms = NAN, .shared_left = 1 };
    struct ctt_costs given;
    int rc;

    CTT_TRY(prepare(&r, &given));
    CTT_TRY(ctt_budget_search(&r, &given));
out:
    close_run(&r);
    return rc;
}
