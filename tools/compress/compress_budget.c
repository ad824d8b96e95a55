/* SPDX-License-Identifier: Apache-2.0
 * compress_budget.c: convtt-compress --budget: its clips, tests, log and
 * messages. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"

#include <math.h>
#include <string.h>

/* ---- tests ---- */

int ctt_budget_test(const struct ctt_budget_job *r, const struct ctt_model *m,
                    struct ctt_data *d, struct ctt_metrics **out)
{
    struct ctt_score s;

    return ctt_compress_test(m, &r->j->c.train, d, NULL, &s, out);
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

static double mean_loss(const struct ctt_metrics *m)
{
    double sum = 0;

    for (int k = 0; k < CTT_ACCURACIES; k++)
        sum += ctt_metrics_loss(m, k);
    return sum / CTT_ACCURACIES;
}

/* half: 2: the mean loss is that of training clips, too. */
static int test_half(void *arg, const struct ctt_model *m, int half,
                     double *loss, struct ctt_paired seen[CTT_ACCURACIES])
{
    struct ctt_budget_job *r = arg;
    struct ctt_metrics *is = NULL, *more = NULL;
    int at = half % 2, rc;

    CTT_TRY(ctt_budget_test(r, m, r->half[at], &is));
    ctt_budget_pair(r->was[at], is, ctt_data_clips(r->half[at]), seen);
    if (loss)
        *loss = mean_loss(is);
    if (half == 2) {
        CTT_TRY(ctt_budget_test(r, m, r->trained ? r->trained : r->j->data,
                                &more));
        *loss += (mean_loss(more) - *loss) * more->clips /
                 (more->clips + is->clips);
    }
out:
    ctt_metrics_free(&is);
    ctt_metrics_free(&more);
    return rc;
}

/* ---- other calls of the search ---- */

static int log_row(void *arg, const struct ctt_budget_row *row)
{
    const struct ctt_budget_job *r = arg;

    return ctt_budget_row_log(r->log, row);
}

static int progress(void *arg, const char *line)
{
    const struct ctt_budget_job *r = arg;
    int rc = 0;

    CTT_CHECK(!ctt_tool_stop() || r->log, CTT_ESTOP, "stopped; nothing is "
              "written");
    CTT_CHECK(!ctt_tool_stop(), CTT_ESTOP, "--budget: stopped; the same "
              "command goes on from %s", r->j->c.sense_log);
    ctt_tool_progress(NULL, "%s", line);
out:
    return rc;
}

static void print_line(void *arg, const char *line)
{
    (void)arg;
    ctt_tool_say(line[0] == '\n' ? "\n%s" : "%s", line + (line[0] == '\n'));
}

static int print_table(void *arg, const char *title, const char *rows)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int rc;

    (void)arg;
    for (const char *p = rows; *p; p += strcspn(p, "\n") + 1)
        ctt_table_row(&t, "%.*s", (int)strcspn(p, "\n"), p);
    ctt_tool_say("\n%s", title);
    rc = ctt_table_print(&t);
    ctt_table_free(&t);
    return rc;
}

static void refused(void *arg)
{
    const struct ctt_budget_job *r = arg;

    r->j->status = CTT_EXIT_USAGE;
}

/* ---- the start ---- */

/* The two halves of the validation clips: the first validates retraining. */
static int split_clips(struct ctt_budget_job *r)
{
    struct ctt_compress_job *j = r->j;
    struct ctt_train_cfg cfg = j->c.train;
    int rc;

    cfg.folds = 2;
    rc = ctt_fold_open(j->val, &cfg, 0, &r->half[1], &r->half[0]);
    if (rc == CTT_EINVAL)
        j->status = CTT_EXIT_USAGE;
    CTT_TRY(rc);
    r->whole = j->val;
    j->val = r->half[0];
    ctt_tool_say("of %d validation clips %d search and %d accept",
                 ctt_data_clips(r->whole), ctt_data_clips(r->half[0]),
                 ctt_data_clips(r->half[1]));
out:
    return rc;
}

/* The training clips by which assignments are compared: all, or at least so
 * many. */
enum { COMPARED = 1000 };
static int take_trained(struct ctt_budget_job *r)
{
    struct ctt_compress_job *j = r->j;
    struct ctt_train_cfg cfg = j->c.train;
    int rc;

    cfg.folds = ctt_data_clips(j->data) / COMPARED;
    if (cfg.folds < 2)
        return 0;
    rc = ctt_fold_open(j->data, &cfg, 0, &r->untested, &r->trained);
    return rc == CTT_EINVAL ? 0 : rc;    /* they cannot be divided */
}

/* Whether plans depend on times or memory, which are measured together: if they
 * are limited, or if the aim is not bytes alone. */
static int is_timed(const struct ctt_budget_job *r)
{
    const struct ctt_compress_cfg *c = &r->j->c;

    if (!ctt_compress_may_time(c))
        return 0;
    return ctt_budget_has_cost(&r->s.b) ? ctt_budget_has_time(&r->s.b)
                                        : c->recipe.aim != CTT_AIM_BYTES;
}

/* A floor that the original is below on the clips of the search, or that
 * the others refute for it, is no use to search for. */
static int check_floor(const struct ctt_budget_job *r, int k)
{
    static const int share[] = { 25, 50, 100 };
    const struct ctt_budget *b = &r->s.b;
    double is = ctt_metrics_top1(r->was[0], k), p;
    struct ctt_paired t[CTT_ACCURACIES];
    int rc = 0;

    CTT_CHECK(!(is < b->floor[k]), CTT_EINVAL, "--budget: top1@%d=%g "
              "cannot be met: the original has %.1f on the clips of "
              "the search", share[k], 100 * b->floor[k], 100 * is);
    ctt_budget_pair(r->was[1], r->was[1], ctt_data_clips(r->half[1]), t);
    p = ctt_budget_tail(b, k, &t[k]);
    CTT_CHECK(p > CTT_BUDGET_REFUTED, CTT_EINVAL, "--budget: top1@%d=%g "
              "cannot be met: the original has %.1f on the clips that "
              "accept, p = %.3f", share[k], 100 * b->floor[k],
              100 * ctt_metrics_top1(r->was[1], k), p);
out:
    return rc;
}

static int test_given(struct ctt_budget_job *r)
{
    int rc, status = r->j->status;

    CTT_TRY(ctt_budget_test(r, r->j->m, r->half[0], &r->was[0]));
    CTT_TRY(ctt_budget_test(r, r->j->m, r->half[1], &r->was[1]));
    r->s.classes = r->was[0]->classes;
    r->j->status = CTT_EXIT_USAGE;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        CTT_TRY(check_floor(r, k));
    r->j->status = status;
out:
    return rc;
}

/* ---- all ---- */

/* The teachers that --teacher names, or the original. */
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

/* Of --budget-steps auto, of the steps of a whole retraining: a dozen options
 * are retrained so long, which takes a quarter of its time.  Fewer than ENOUGH
 * tell little, but are no more than an eighth of it. */
enum { PART = 60, MOST = 8, ENOUGH = 24, LEAST = 8 };
static int choose_steps(int whole)
{
    int steps = whole / PART > ENOUGH ? whole / PART : ENOUGH;

    steps = steps > whole / MOST ? whole / MOST : steps;
    return steps > LEAST ? steps : LEAST;
}

static int read_row(void *arg, const struct ctt_value *line)
{
    struct ctt_budget_job *r = arg;

    return ctt_budget_row_read(&r->s.rows, line);
}

static int open_inputs(struct ctt_budget_job *r)
{
    struct ctt_compress_job *j = r->j;
    int rc;

    CTT_TRY(ctt_budget_read(j->c.budget, &r->s.b));
    CTT_TRY(ctt_budget_outputs(j));
    CTT_TRY(ctt_compress_load(j->path, "--budget", &j->m));
    if (j->m->g->several) {
        j->status = CTT_EXIT_USAGE;
        CTT_TRY(ctt_error(CTT_EINVAL, "%s: --budget counts right and wrong "
                          "clips, and these have several labels each: without "
                          "it the stages and their options are yours to choose",
                          j->path));
    }
    CTT_TRY(ctt_compress_check_dense(j, j->m, j->path));
    CTT_TRY(ctt_train_device(&j->c.train));
    CTT_TRY(open_teachers(j));
    CTT_TRY(ctt_compress_open_clips(j));
    CTT_TRY(split_clips(r));
    CTT_TRY(take_trained(r));
out:
    return rc;
}

/* Sets what the search needs of the job. */
static int set_search(struct ctt_budget_job *r)
{
    struct ctt_compress_job *j = r->j;
    struct ctt_budget_run *s = &r->s;
    int rc;

    r->times = ctt_compress_calls(j);
    r->calls = (struct ctt_budget_calls){ r, &r->times, ctt_budget_train,
        test_half, log_row, progress, print_line, print_table, refused,
        ctt_budget_prove };
    s->calls = &r->calls;
    s->m = j->m;
    s->path = j->path;
    s->out = j->c.out;
    s->o = j->c.recipe;
    s->timed = is_timed(r);
    s->dry_run = j->c.dry_run;
    s->whole = (int)fmin(1 << 30, (double)ctt_compress_batches(j) *
                         (j->c.recipe.epochs + j->c.recipe.share.epochs));
    if (j->c.budget_steps == CTT_OPT_WORD)
        j->c.budget_steps = choose_steps(s->whole);
    s->steps = j->c.budget_steps;
    CTT_TRY(ctt_compress_how(j, &s->how));
    CTT_TRY(ctt_sensitivity_new(j->m, &s->s));
out:
    return rc;
}

static int run_search(struct ctt_budget_job *r)
{
    const struct ctt_sensitivity_extra extra = { r, read_row };
    const char *csv = r->j->c.budget_csv;
    int rc;

    CTT_TRY(open_inputs(r));
    CTT_TRY(set_search(r));
    CTT_TRY(ctt_budget_begin(&r->s));
    CTT_TRY(test_given(r));
    CTT_TRY(ctt_compress_measure(r->j, &extra, r->s.timed, r->s.s, &r->log));
    rc = ctt_budget_search(&r->s);
    if (csv && (rc >= 0 || rc == CTT_EUNSUP) && ctt_budget_csv(r, csv) < 0)
        rc = CTT_EIO;
    if (rc >= 0 || rc == CTT_EUNSUP)
        ctt_budget_page(r);
out:
    return rc;
}

int ctt_compress_budget(struct ctt_compress_job *j)
{
    struct ctt_budget_job r = { .j = j };
    int rc = run_search(&r);

    ctt_sensitivity_log_close(&r.log);
    ctt_budget_rows_free(&r.s.rows);
    ctt_metrics_free(&r.was[0]);
    ctt_metrics_free(&r.was[1]);
    ctt_sensitivity_free(&r.s.s);
    if (r.whole) {
        ctt_fold_close(&r.half[1]);
        ctt_fold_close(&r.half[0]);
        ctt_fold_close(&r.trained);
        ctt_fold_close(&r.untested);
        j->val = r.whole;
    }
    return rc;
}
