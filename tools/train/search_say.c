/* SPDX-License-Identifier: Apache-2.0
 * search_say.c: output of a search: progress, results, tables, CSV. */
#include "tools/train/train_tool.h"
#include "base/clock.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 10, TEXT = 1024 };

/* "top-1 81.2%" or "MSE 3.21e-3"; returns text. */
static char *score_text(const struct ctt_search *s, double score, char text[32])
{
    if (isnan(score))
        snprintf(text, 32, "no score");
    else if (s->cfg->task == CTT_PREDICT)
        snprintf(text, 32, "MSE %.2fe-3", 1e3 * score);
    else
        snprintf(text, 32, "top-1 %.1f%%", 100 * score);
    return text;
}

static double score_of(const struct ctt_search *s, int trial, double *loss)
{
    const struct ctt_trial *t = ctt_search_at(s, trial, 0);

    return ctt_trial_score(s, t, t->epochs, loss);
}

/* The trial with the best score so far, after any number of epochs; -1: none
 * has one. */
static int best_of(const struct ctt_search *s)
{
    double best = NAN, its = INFINITY, loss;
    int at = -1;

    for (int i = 0; i < s->cfg->trials; i++) {
        double score = score_of(s, i, &loss);

        if (ctt_search_better(s, score, loss, best, its)) {
            best = score;
            its = loss;
            at = i;
        }
    }
    return at;
}

/* "; best so far: trial 3, top-1 81.2%". */
static void put_best(const struct ctt_search *s, char *text, size_t size)
{
    int best = best_of(s);
    char score[32];

    text[0] = '\0';
    if (best >= 0)
        snprintf(text, size, "; best so far: trial %d, %s", best + 1,
                 score_text(s, score_of(s, best, NULL), score));
}

void ctt_search_say_result(const struct ctt_search_run *r,
                           const struct ctt_search_job *job)
{
    const struct ctt_search *s = r->s;
    const struct ctt_trial *t = ctt_search_at(s, job->trial, job->repeat);
    char text[TEXT], why[TEXT], score[32], best[96], seed[32] = "";

    ctt_draw_text(r->space, &s->draw[job->trial], text, sizeof(text));
    put_best(s, best, sizeof(best));
    if (job->repeat)
        snprintf(seed, sizeof(seed), ", seed %d", s->cfg->seed + job->repeat);
    if (t->failed)
        ctt_tool_say("trial %d%s failed: %s (%s)", job->trial + 1, seed,
                     ctt_visible(t->failed, 0, why, sizeof(why)), text);
    else
        ctt_tool_say("trial %d%s: %s after %d of %d epochs (%s)%s",
                     job->trial + 1, seed, score_text(s,
                     ctt_trial_score(s, t, t->epochs, NULL), score), t->epochs,
                     s->cfg->epochs, text, best);
}

void ctt_search_say_plan(const struct ctt_search_run *r)
{
    const struct ctt_train_cfg *c = r->s->cfg;
    int top = c->trials < CTT_SEARCH_TOP ? c->trials : CTT_SEARCH_TOP;
    char again[96] = "";
    double done, all;

    ctt_search_work(r->s, &done, &all);
    if (c->repeats > 1)
        snprintf(again, sizeof(again), ", %d of them for the best %d with %d "
                 "seeds each (--repeats)",
                 top * (c->repeats - 1) * c->epochs, top, c->repeats);
    ctt_tool_say("%d trials, %d at a time, of about %.0f epochs in all%s",
                 c->trials, r->places, all, again);
}

void ctt_search_progress(const struct ctt_search_run *r)
{
    char best[96];
    double done, all, each;
    struct ctt_work w;

    ctt_search_work(r->s, &done, &all);
    each = done > r->done ? (ctt_seconds() - r->began) / (done - r->done) : 0;
    put_best(r->s, best, sizeof(best));
    w = (struct ctt_work){ done, all, each > 0 ? each * (all - done) : NAN };
    ctt_tool_progress(&w, "%.0f of about %.0f epochs, %d trial%s at a time%s",
                      done, all, ctt_search_running(r),
                      ctt_search_running(r) == 1 ? "" : "s", best);
}

/* ---- tables ---- */

static int say_best(const struct ctt_search_run *r)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    const struct ctt_search *s = r->s;
    int top[SHOWN], n = ctt_search_ranks(s, top, SHOWN), rc = n;
    char text[TEXT], score[32];
    double loss;

    CTT_TRY(rc);
    ctt_table_row(&t, "trial\tepoch\tvalidation\tloss\tsettings");
    for (int i = 0; i < n; i++) {
        const struct ctt_trial *x = ctt_search_at(s, top[i], 0);

        ctt_draw_text(r->space, &s->draw[top[i]], text, sizeof(text));
        score_text(s, score_of(s, top[i], &loss), score);
        ctt_table_row(&t, "%d\t%d\t%s\t%.3f\t%s", top[i] + 1,
                      ctt_trial_best(s, x, x->epochs), score, loss, text);
    }
    ctt_tool_say("\nthe best of the trials that were trained to the end:");
    rc = ctt_table_print(&t);
out:
    return rc;
}

static int say_repeats(const struct ctt_search_run *r)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    const struct ctt_search *s = r->s;
    int top[CTT_SEARCH_TOP], n = ctt_search_ranks(s, top, CTT_SEARCH_TOP);
    char text[32], spread[32];
    double mean, deviation;
    int rc = n;

    CTT_TRY(rc);
    ctt_table_row(&t, "trial\tseeds\tmean\tdeviation");
    for (int i = 0; i < n; i++) {
        int seeds = ctt_search_mean(s, top[i], &mean, &deviation);

        if (seeds)
            ctt_table_row(&t, "%d\t%d\t%s\t%s", top[i] + 1, seeds,
                          score_text(s, mean, text),
                          score_text(s, deviation, spread));
        else
            ctt_table_row(&t, "%d\t-\ta seed failed\t-", top[i] + 1);
    }
    ctt_tool_say("\nthe best trials with other seeds:");
    rc = ctt_table_print(&t);
out:
    return rc;
}

static int say_weights(const struct ctt_search_run *r)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    struct ctt_weighed w;
    int rc;

    CTT_TRY(ctt_search_weigh(r->s, &w));
    ctt_table_row(&t, "setting\ttrials\texplains");
    for (int k = 0; k < r->space->count; k++) {
        const char *name = r->space->setting[k].opt->name;

        if (isnan(w.share[k]))
            ctt_table_row(&t, "%s\t%d\t-", name, w.trials[k]);
        else
            ctt_table_row(&t, "%s\t%d\t%.0f%%", name, w.trials[k],
                          100 * w.share[k]);
    }
    ctt_tool_say("\nwhat each setting alone explains of the trials' ranks "
                 "after %d epoch%s (variance, adjusted; -: too few trials):",
                 w.epochs, ctt_s(w.epochs));
    rc = ctt_table_print(&t);
out:
    return rc;
}

int ctt_search_say(const struct ctt_search_run *r)
{
    int rc;

    CTT_TRY(say_best(r));
    if (r->s->cfg->repeats > 1)
        CTT_TRY(say_repeats(r));
    CTT_TRY(say_weights(r));
out:
    return rc;
}

/* ---- CSV ---- */

static void put_cell(FILE *f, double x)
{
    if (isfinite(x))
        fprintf(f, "%.6g", x);
    fputc(',', f);
}

static void put_trial(FILE *f, const struct ctt_search *s, int trial,
                      int repeat)
{
    const struct ctt_trial *t = ctt_search_at(s, trial, repeat);
    double loss, score = ctt_trial_score(s, t, t->epochs, &loss);

    fprintf(f, "%d,%d,%d,", trial + 1, s->cfg->seed + repeat, t->epochs);
    put_cell(f, score);
    put_cell(f, loss);
    fprintf(f, "%d,%d,%.3f", ctt_trial_best(s, t, t->epochs),
            t->failed != NULL, t->seconds);
    for (int k = 0; k < s->space->count; k++) {
        const char *text = s->draw[trial].text[k];

        fprintf(f, text && strchr(text, ',') ? ",\"%s\"" : ",%s",
                text ? text : "");
    }
    fputc('\n', f);
}

static int print_search_csv(FILE *f, const void *arg)
{
    const struct ctt_search *s = arg;

    fprintf(f, CTT_SEARCH_CSV_BEGIN "loss,best,failed,seconds");
    for (int k = 0; k < s->space->count; k++)
        fprintf(f, ",%s", s->space->setting[k].opt->name);
    fputc('\n', f);
    for (int i = 0; i < s->cfg->trials; i++)
        for (int k = 0; k < s->cfg->repeats; k++)
            if (ctt_search_at(s, i, k)->rung >= 0)
                put_trial(f, s, i, k);
    return 0;
}

int ctt_search_csv(const struct ctt_search_run *r, const char *path)
{
    return ctt_file_print(path, print_search_csv, r->s);
}
