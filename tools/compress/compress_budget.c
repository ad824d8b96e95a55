/* SPDX-License-Identifier: Apache-2.0
 * compress_budget.c: convtt-compress --budget: the mix of options that keeps a
 * model within a budget. */
#include "tools/compress/compress_tool.h"
#include "compress/search/budget_run.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* A floor that the model as given is below on the clips of the search, or that
 * the others refute for it, is no use to search for. */
static int check_floor(const struct ctt_budget_run *r, int k)
{
    static const int share[] = { 25, 50, 100 };
    double is = ctt_metrics_top1(r->was[0], k), p;
    struct ctt_paired t[CTT_ACCURACIES];
    int rc = 0;

    CTT_CHECK(!(is < r->b.floor[k]), CTT_EINVAL, "--budget: top1@%d=%g "
              "cannot be met: the model as given has %.1f on the clips of "
              "the search", share[k], 100 * r->b.floor[k], 100 * is);
    ctt_budget_pair(r->was[1], r->was[1], ctt_data_clips(r->accept), t);
    p = ctt_budget_tail(&r->b, k, &t[k]);
    CTT_CHECK(p > CTT_BUDGET_REFUTED, CTT_EINVAL, "--budget: top1@%d=%g "
              "cannot be met: the model as given has %.1f on the clips that "
              "accept, p = %.3f", share[k], 100 * r->b.floor[k],
              100 * ctt_metrics_top1(r->was[1], k), p);
out:
    return rc;
}

static int check_floors(struct ctt_budget_run *r)
{
    int rc = 0, status = r->j->status;

    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        CTT_TRY(check_floor(r, k));
    r->j->status = status;
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
    j->c.train.wiring.teachers = j->teachers.list[0] ? j->teachers.list : NULL;
out:
    return rc;
}

static int64_t all_steps(const struct ctt_compress_job *j)
{
    return (j->c.recipe.epochs + j->c.recipe.share.epochs) *
           ctt_compress_batches(j);
}

/* Of --budget-steps auto: 30 to 60 times as many are made, which then take
 * about as long as one whole retraining.  Fewer than ENOUGH tell little, but
 * are no more than an eighth of it. */
enum { PART = 60, MOST = 8, ENOUGH = 24, LEAST = 8 };
static int choose_steps(int64_t all)
{
    int64_t steps = all / PART > ENOUGH ? all / PART : ENOUGH;

    steps = steps > all / MOST ? all / MOST : steps;
    return (int)(steps > LEAST ? steps : LEAST);
}

static int read_row(void *arg, const struct ctt_value *line)
{
    struct ctt_budget_run *r = arg;

    return ctt_budget_row_read(&r->rows, line);
}

/* What the log has is known to be possible, and need not be coded again. */
static int is_read(void *arg)
{
    struct ctt_budget_run *r = arg;

    return r->far ? 0 : ctt_budget_far(r);
}

static int prepare(struct ctt_budget_run *r, struct ctt_costs *given)
{
    const struct ctt_sensitivity_extra extra = { r, read_row, is_read };
    struct ctt_compress_job *j = r->j;
    int rc;

    CTT_TRY(ctt_budget_read(j->c.budget, &r->b));
    CTT_TRY(ctt_budget_outputs(j));
    CTT_TRY(ctt_compress_load(j->path, "--budget", &j->m));
    CTT_TRY(ctt_compress_check_dense(j, j->m, j->path));
    CTT_TRY(ctt_train_device(&j->c.train));
    CTT_TRY(open_teachers(j));
    CTT_TRY(ctt_compress_open_clips(j));
    r->steps = all_steps(j);
    if (j->c.budget_steps == CTT_OPT_WORD)
        j->c.budget_steps = choose_steps(r->steps);
    CTT_TRY(ctt_compress_how(j, &r->how));
    CTT_TRY(split(r));
    CTT_TRY(ctt_sensitivity_new(j->m, &r->s));
    r->timed = is_timed(r);
    ctt_budget_leave_out(r);
    if (access(j->c.sense_log, F_OK) != 0)
        CTT_TRY(ctt_budget_far(r));
    CTT_TRY(ctt_budget_test_given(r));
    CTT_TRY(check_floors(r));
    CTT_TRY(ctt_compress_measure(j, &extra, r->timed, r->s, &r->log));
    CTT_TRY(ctt_budget_given(r, given));
    CTT_TRY(ctt_budget_offer(r));
    CTT_TRY(ctt_budget_possible(r));
    CTT_TRY(ctt_budget_recovery(r));
out:
    return rc;
}

static void close_run(struct ctt_budget_run *r)
{
    ctt_budget_offer_free(r);
    ctt_sensitivity_log_close(&r->log);
    ctt_budget_rows_free(&r->rows);
    ctt_metrics_free(&r->was[0]);
    ctt_metrics_free(&r->was[1]);
    ctt_sensitivity_free(&r->s);
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
