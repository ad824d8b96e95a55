/* SPDX-License-Identifier: Apache-2.0
 * test_search.c: which trials of a search are trained on, by curves that are
 * known; the log, from which any search goes on; and what mattered. */
#include "libtrain/search/search.h"
#include "net/random.h"
#include "tests/lib/allocs.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400 };    /* results of a search */

/* A search whose trials have curves of which we know the end. */
struct toy {
    struct ctt_train_cfg cfg;
    struct ctt_space    *space;
    struct ctt_search   *s;
    int    failing;            /* every so many fail; 0: none */
    char  *line[MOST];         /* of the log */
    struct ctt_search_job job[MOST];    /* of these lines */
    int    lines;
};

static void open_toy(struct toy *t, int method, int trials, int epochs)
{
    static const char text[] = "lr log 1e-4 1\noptimizer choice sgd adamw\n"
                               "momentum range 0 0.9 if optimizer=sgd\n"
                               "gamma range 0 1\n";

    memset(t, 0, sizeof(*t));
    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &t->cfg));
    t->cfg.search = "s.txt";
    t->cfg.search_method = method;
    t->cfg.trials = trials;
    t->cfg.epochs = epochs;
    CHECK_OK(ctt_space_parse("s.txt", text, strlen(text), &t->space));
}

static void start(struct toy *t)
{
    CHECK_OK(ctt_search_new(t->space, &t->cfg, &t->s));
}

static void close_toy(struct toy *t)
{
    ctt_search_free(&t->s);
    ctt_space_free(&t->space);
    for (int i = 0; i < t->lines; i++)
        ctt_free(t->line[i]);
}

/* The learning rate 0.01 is best; the optimizer matters less, gamma not at
 * all.  A repeat is a little worse or better. */
static double score_at(const struct toy *t, const struct ctt_search_job *j,
                       int epoch)
{
    const struct ctt_draw *d = &t->s->draw[j->trial];
    double far = fabs(log10(atof(d->text[0])) + 2);
    double end = 0.9 - 0.3 * far - 0.05 * (strcmp(d->text[1], "sgd") == 0) +
                 0.001 * j->repeat;

    return end * (1 - exp(-epoch / 4.0));
}

static int fails(const struct toy *t, const struct ctt_search_job *j)
{
    return t->failing && j->trial % t->failing == 0;
}

/* What the process of a trial would have written. */
static void write_log(const struct toy *t, const struct ctt_search_job *j)
{
    char text[4000] = "";
    int predicts = t->cfg.task == CTT_PREDICT;

    for (int e = 1; e <= t->s->epochs[j->rung]; e++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "{\"epoch\":%d,\"loss\":1,\"%s\":%.6g,\"%s\":%.6g}\n", e,
                 predicts ? "val_loss" : "val_mean_loss", 2.0 - 0.01 * e,
                 predicts ? "val_mse" : "val_mean_top1",
                 predicts ? 1 - score_at(t, j, e) : score_at(t, j, e));
    clip_text("trial.jsonl", text);
}

static void finish(struct toy *t, const struct ctt_search_job *j)
{
    struct ctt_trial *x = ctt_search_at(t->s, j->trial, j->repeat);

    write_log(t, j);
    x->running = 0;
    CHECK_OK(ctt_search_result(t->s, j, clip_path("trial.jsonl"),
                               fails(t, j) ? "not \"finite\"" : NULL, 1.5));
    CU_ASSERT_FATAL(t->lines < MOST);
    CHECK_OK(ctt_search_line(t->s, j, &t->line[t->lines]));
    t->job[t->lines++] = *j;
}

/* Runs it to its end with so many jobs, which end in an order by chance. */
static void run(struct toy *t, int jobs, uint64_t order)
{
    struct ctt_search_job now[8];
    int n = 0, rc;

    for (uint64_t turn = 0; ; turn++) {
        int at;

        while (n < jobs && (rc = ctt_search_next(t->s, &now[n])) > 0) {
            struct ctt_trial *x = ctt_search_at(t->s, now[n].trial,
                                                now[n].repeat);
            CU_ASSERT_FATAL(!x->running && !x->failed);
            CU_ASSERT_EQUAL(now[n].rung, now[n].repeat ? t->s->rungs - 1
                            : x->rung + 1);
            x->running = 1;
            n++;
        }
        if (!n)
            break;
        at = (int)(ctt_random(order, turn) % (unsigned)n);
        finish(t, &now[at]);
        now[at] = now[--n];
    }
}

/* Trials that reached a rung. */
static int at_rung(const struct toy *t, int rung)
{
    int n = 0;

    for (int i = 0; i < t->cfg.trials; i++)
        n += ctt_search_at(t->s, i, 0)->rung >= rung;
    return n;
}

/* The trial that is best at the end, of those that do not fail. */
static int best_of(const struct toy *t)
{
    int best = -1;
    double most = -INFINITY;

    for (int i = 0; i < t->cfg.trials; i++) {
        struct ctt_search_job j = { i, 0, 0 };
        double score = score_at(t, &j, t->cfg.epochs);

        if (!fails(t, &j) && score > most) {
            most = score;
            best = i;
        }
    }
    return best;
}

static void rungs_are_multiples(void)
{
    static const struct { int epochs, first, factor, n, at[6]; } of[] = {
        { 20, 1, 3, 4, { 1, 3, 9, 20 } }, { 10, 1, 3, 3, { 1, 3, 10 } },
        { 1, 1, 3, 1, { 1 } }, { 27, 1, 3, 4, { 1, 3, 9, 27 } },
        { 16, 2, 2, 4, { 2, 4, 8, 16 } }, { 9, 9, 3, 1, { 9 } },
        { 100000, 1, 16, 5, { 1, 16, 256, 4096, 100000 } },
    };

    for (size_t i = 0; i < CTT_LEN(of); i++) {
        struct toy t;

        open_toy(&t, CTT_SEARCH_ASHA, 1, of[i].epochs);
        t.cfg.search_first = of[i].first;
        t.cfg.search_factor = of[i].factor;
        start(&t);
        CU_ASSERT_EQUAL_FATAL(t.s->rungs, of[i].n);
        for (int k = 0; k < of[i].n; k++)
            CU_ASSERT_EQUAL(t.s->epochs[k], of[i].at[k]);
        close_toy(&t);
    }
}

/* Curves do not cross, so each method finds the best, whatever the order. */
static void methods_find_the_best(void)
{
    for (int method = 0; ctt_search_methods[method]; method++)
        for (int jobs = 1; jobs <= 5; jobs += 2)
            for (int failing = 0; failing <= 4; failing += 4) {
                struct ctt_search_job won = { 0, 0, 0 };
                struct toy t;

                open_toy(&t, method, 30, 20);
                t.cfg.task = jobs == 3 ? CTT_PREDICT : CTT_RECOGNISE;
                t.failing = failing;
                start(&t);
                run(&t, jobs, (uint64_t)jobs);
                CU_ASSERT_EQUAL(at_rung(&t, 0), 30);
                CU_ASSERT_EQUAL(ctt_search_winner(t.s, &won), 1);
                CU_ASSERT_EQUAL(won.trial, best_of(&t));
                close_toy(&t);
            }
}

/* How many trials each method trains how far. */
static void budgets_are_kept(void)
{
    struct toy t;

    open_toy(&t, CTT_SEARCH_HALVING, 27, 20);
    start(&t);
    run(&t, 4, 1);
    CU_ASSERT(at_rung(&t, 1) == 9 && at_rung(&t, 2) == 3 &&
              at_rung(&t, 3) == 1);
    close_toy(&t);
    for (int jobs = 1; jobs <= 8; jobs += 7) {
        open_toy(&t, CTT_SEARCH_ASHA, 81, 20);
        start(&t);
        run(&t, jobs, 2);
        for (int i = 0; i < 81; i++)
            CU_ASSERT_EQUAL(t.s->trial[i].seconds,
                            1.5 * (t.s->trial[i].rung + 1));
        for (int k = 1; k < 4; k++)    /* more than a third only by chance */
            CU_ASSERT(at_rung(&t, k) >= at_rung(&t, k - 1) / 3 &&
                      at_rung(&t, k) <= at_rung(&t, k - 1) * 2 / 3);
        close_toy(&t);
    }
    open_toy(&t, CTT_SEARCH_RANDOM, 9, 20);
    start(&t);
    CU_ASSERT_EQUAL(t.s->rungs, 1);
    run(&t, 2, 1);
    CU_ASSERT_EQUAL(t.lines, 9);
    close_toy(&t);
    open_toy(&t, CTT_SEARCH_MEDIAN, 60, 20);
    start(&t);
    run(&t, 1, 1);
    CU_ASSERT(at_rung(&t, 3) >= 3 && at_rung(&t, 3) < 40);
    close_toy(&t);
}

/* A new trial begins only if none waits that is in the best third; of a rung
 * the best goes on first. */
static void asha_prefers_the_highest_rung(void)
{
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 40, 9);
    start(&t);
    run(&t, 1, 1);
    for (int i = 1; i < t.lines; i++)
        if (t.job[i].rung == 0) {
            int n = 0, up = 0;

            for (int k = 0; k < i; k++) {
                n += t.job[k].rung == 0;
                up += t.job[k].rung == 1;
            }
            CU_ASSERT(up >= n / 3 - 1);
        }
    close_toy(&t);
}

/* Few trials: one comes to the end all the same, or three to be repeated. */
static void few_trials_come_to_the_end(void)
{
    for (int method = 0; ctt_search_methods[method]; method++)
        for (int trials = 1; trials <= 5; trials++)
            for (int repeats = 1; repeats <= 3; repeats += 2) {
                struct ctt_search_job won;
                int least = repeats > 1 ? trials < 3 ? trials : 3 : 1;
                struct toy t;

                open_toy(&t, method, trials, 10);
                t.cfg.repeats = repeats;
                start(&t);
                run(&t, 2, 1);
                CU_ASSERT(at_rung(&t, t.s->rungs - 1) >= least);
                CU_ASSERT_EQUAL(ctt_search_winner(t.s, &won), 1);
                CU_ASSERT_EQUAL(won.repeat, repeats - 1);
                for (int i = 0, n = 0; i < trials; i++) {
                    n += ctt_search_at(t.s, i, repeats - 1)->rung >= 0;
                    CU_ASSERT(repeats == 1 || n <= 3);
                }
                close_toy(&t);
            }
}

static void all_may_fail(void)
{
    struct ctt_search_job won;
    struct ctt_weighed w;
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 9, 10);
    t.failing = 1;
    start(&t);
    run(&t, 2, 1);
    CU_ASSERT_EQUAL(t.lines, 9);
    CU_ASSERT_EQUAL(ctt_search_winner(t.s, &won), 0);
    CHECK_OK(ctt_search_weigh(t.s, &w));
    CU_ASSERT(isnan(w.share[0]));
    close_toy(&t);
}

/* A repeat that fails shows that the trial was lucky. */
static void luck_is_not_chosen(void)
{
    struct ctt_search_job won = { 0, 0, 0 };
    struct ctt_trial *x;
    double mean, deviation;
    int top[3];
    struct toy t;

    open_toy(&t, CTT_SEARCH_RANDOM, 8, 2);
    t.cfg.repeats = 3;
    start(&t);
    run(&t, 1, 1);
    CU_ASSERT_EQUAL(ctt_search_ranks(t.s, top, 3), 3);
    CU_ASSERT_EQUAL(ctt_search_mean(t.s, top[0], &mean, &deviation), 3);
    CU_ASSERT(deviation > 0 && deviation < 0.001);
    x = ctt_search_at(t.s, top[0], 2);
    x->score[0] = x->score[1] = 0.01;    /* the best one is not always good */
    CU_ASSERT_EQUAL(ctt_search_winner(t.s, &won), 1);
    CU_ASSERT_EQUAL(won.trial, top[1]);
    ctt_search_at(t.s, top[1], 1)->failed = ctt_strdup("x");
    CU_ASSERT_EQUAL(ctt_search_winner(t.s, &won), 1);
    CU_ASSERT_EQUAL(won.trial, top[2]);
    close_toy(&t);
}

/* With --pick last the last epoch counts, else the best. */
static void which_epoch_counts(void)
{
    double score[3] = { 0.2, 0.5, 0.4 }, loss[3] = { 3, 2, 1 }, beside;
    struct ctt_trial x = { .epochs = 3, .score = score, .loss = loss };
    struct toy t;

    open_toy(&t, CTT_SEARCH_RANDOM, 1, 3);
    start(&t);
    CU_ASSERT_EQUAL(ctt_trial_score(t.s, &x, 3, &beside), 0.5);
    CU_ASSERT(beside == 2 && ctt_trial_best(t.s, &x, 3) == 2);
    CU_ASSERT_EQUAL(ctt_trial_score(t.s, &x, 1, NULL), 0.2);
    t.cfg.pick = CTT_PICK_LAST;
    CU_ASSERT_EQUAL(ctt_trial_score(t.s, &x, 3, &beside), 0.4);
    t.cfg.pick = CTT_PICK_AUTO;
    t.cfg.task = CTT_PREDICT;
    CU_ASSERT_EQUAL(ctt_trial_score(t.s, &x, 3, NULL), 0.2);
    score[0] = NAN;
    CU_ASSERT_EQUAL(ctt_trial_best(t.s, &x, 3), 3);
    CU_ASSERT(isnan(ctt_trial_score(t.s, &x, 1, NULL)));
    CU_ASSERT(ctt_search_better(t.s, 1, 2, 1, 3) &&
              !ctt_search_better(t.s, NAN, 0, NAN, 1));
    close_toy(&t);
}

/* ---- the log ---- */

/* After any number of lines a search does next what the first one did. */
static void any_search_goes_on(void)
{
    for (int method = 0; ctt_search_methods[method]; method++) {
        struct toy t;

        open_toy(&t, method, 12, 9);
        t.cfg.repeats = 2;
        t.failing = 5;
        start(&t);
        run(&t, 1, 1);
        for (int n = 0; n <= t.lines; n++) {
            struct ctt_search_job job;
            struct ctt_search *s = NULL;
            int rc;

            CHECK_OK(ctt_search_new(t.space, &t.cfg, &s));
            for (int i = 0; i < n; i++) {
                char line[4000];

                snprintf(line, sizeof(line), "%.*s",
                         (int)strcspn(t.line[i], "\n"), t.line[i]);
                CU_ASSERT_EQUAL_FATAL(ctt_search_take(s, line), 1);
            }
            rc = ctt_search_next(s, &job);
            CU_ASSERT_EQUAL(rc, n < t.lines);
            CU_ASSERT(rc != 1 || memcmp(&job, &t.job[n], sizeof(job)) == 0);
            ctt_search_free(&s);
        }
        close_toy(&t);
    }
}

/* A line that is cut, changed or out of order is none. */
static void damaged_lines_are_none(void)
{
    static const char *const bad[] = {
        "", "{}", "{\"trial\":1}", "{\"won\":1,\"seed\":1}", "x",
        "{\"won\":1,\"seed\":1}x", "{\"trial\":-1,\"seed\":1,\"settings\":{},"
        "\"epochs\":1,", "{\"trial\":99999999999,\"seed\":1,",
    };
    char line[4000];
    struct toy t;
    size_t n;

    open_toy(&t, CTT_SEARCH_ASHA, 3, 9);
    start(&t);
    run(&t, 1, 1);
    n = strcspn(t.line[0], "\n");
    ctt_search_free(&t.s);
    start(&t);
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(ctt_search_take(t.s, bad[i]), 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(line, sizeof(line), "%.*s", (int)i, t.line[0]);
        CU_ASSERT_EQUAL(ctt_search_take(t.s, line), 0);
    }
    for (size_t i = 0; i < n; i++) {    /* numbers may be others */
        snprintf(line, sizeof(line), "%.*s", (int)n, t.line[0]);
        line[i] ^= 0x40;
        if (line[i] && line[i] != '\n')
            CU_ASSERT_EQUAL(ctt_search_take(t.s, line), 0);
    }
    snprintf(line, sizeof(line), "%.*s", (int)n, t.line[0]);
    CU_ASSERT_EQUAL(ctt_search_take(t.s, line), 1);
    CU_ASSERT_EQUAL(ctt_search_take(t.s, line), 0);    /* twice */
    CU_ASSERT_EQUAL(t.s->results, 1);
    close_toy(&t);
}

/* The head names what differs. */
static void heads_are_compared(void)
{
    struct ctt_search_key key = { 1, 2, 3, 4 };
    static const struct { const char *from, *to, *words; } of[] = {
        { "\"asha\"", "\"random\"", "another --search-method" },
        { "\"trials\":32", "\"trials\":33", "another --trials (33, now 32)" },
        { "00000001", "00000009", "another search space" },
        { "00000002", "00000009", "another model" },
        { "00000003", "00000009", "another set of training clips" },
        { "00000004", "00000009", "another set of validation clips" },
        { " batch=8", " batch=4", "another list of settings (\" batch=4" },
        { "\"seed\":1", "\"sead\":1", "is no log of --search" },
    };
    char *head = NULL, line[1000];
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 32, 20);
    t.cfg.batch = 8;
    start(&t);
    CHECK_OK(ctt_search_head(t.s, &key, &head));
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(head, "\n"), head);
    CHECK_OK(ctt_search_same("l", line, head));
    for (size_t i = 0; i < CTT_LEN(of); i++) {
        const char *p = strstr(head, of[i].from);

        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        snprintf(line, sizeof(line), "%.*s%s%.*s", (int)(p - head), head,
                 of[i].to, (int)strcspn(p + strlen(of[i].from), "\n"),
                 p + strlen(of[i].from));
        ctt_check_refused(ctt_search_same("l", line, head), CTT_EINVAL,
                          of[i].words);
    }
    ctt_free(head);
    close_toy(&t);
}

/* The log of a training must have the epochs from 1 on. */
static void curves_are_whole(void)
{
    static const char *const bad[] = {
        "", "{\"epoch\":2,\"val_mean_top1\":1}\n", "x\n",
        "{\"epoch\":1}\n{\"epoch\":1}\n", "{\"epoch\":1}",
        "{\"epoch\":1}\n{\"epoch\":2}\n",
    };
    struct ctt_search_job j = { 0, 0, 0 };
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 3, 9);
    start(&t);
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        clip_text("bad.jsonl", bad[i]);
        ctt_check_refused(ctt_search_result(t.s, &j, clip_path("bad.jsonl"),
                                            NULL, 1), CTT_EFORMAT, "trial 1");
    }
    clip_text("bad.jsonl", "{\"epoch\":1,\"val_mean_loss\":null,"
              "\"val_mean_top1\":0.5}\n");
    CHECK_OK(ctt_search_result(t.s, &j, clip_path("bad.jsonl"), NULL, 1));
    CU_ASSERT(t.s->trial[0].score[0] == 0.5 && isinf(t.s->trial[0].loss[0]));
    close_toy(&t);
}

/* ---- what mattered ---- */

static void what_mattered_is_found(void)
{
    struct ctt_weighed w;
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 60, 20);
    t.failing = 20;
    start(&t);
    run(&t, 1, 1);
    CHECK_OK(ctt_search_weigh(t.s, &w));
    CU_ASSERT_EQUAL(w.epochs, 1);
    CU_ASSERT(w.trials[0] == 60 && w.trials[2] < 45 && w.trials[2] > 15);
    CU_ASSERT(w.share[0] > 0.7 && w.share[0] < 1);
    CU_ASSERT(w.share[1] < 0.2);
    CU_ASSERT(w.share[3] < 0.15);
    close_toy(&t);
    open_toy(&t, CTT_SEARCH_RANDOM, 5, 20);    /* too few */
    start(&t);
    run(&t, 1, 1);
    CHECK_OK(ctt_search_weigh(t.s, &w));
    CU_ASSERT(w.epochs == 20 && isnan(w.share[0]));
    close_toy(&t);
}

static int one_search(void *arg)
{
    struct toy *t = arg;
    struct ctt_search *s = NULL;
    struct ctt_search_job job = { 0, 0, 0 };
    char *line = NULL;
    struct ctt_weighed w;
    int rc;

    CTT_TRY(ctt_search_new(t->space, &t->cfg, &s));
    CTT_TRY(ctt_search_next(s, &job));
    CTT_TRY(ctt_search_result(s, &job, clip_path("trial.jsonl"), NULL, 1));
    CTT_TRY(ctt_search_line(s, &job, &line));
    CTT_TRY(ctt_search_weigh(s, &w));
    rc = 0;
out:
    ctt_free(line);
    ctt_search_free(&s);
    return rc;
}

static void allocations_fail(void)
{
    struct ctt_search_job job = { 0, 0, 0 };
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 3, 9);
    start(&t);
    write_log(&t, &job);
    fail_allocs(one_search, &t, 6);
    close_toy(&t);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "rungs are multiples", rungs_are_multiples },
        { "methods find the best", methods_find_the_best },
        { "budgets are kept", budgets_are_kept },
        { "ASHA prefers the highest rung", asha_prefers_the_highest_rung },
        { "few trials", few_trials_come_to_the_end },
        { "all may fail", all_may_fail },
        { "luck is not chosen", luck_is_not_chosen },
        { "which epoch counts", which_epoch_counts },
        { "any search goes on", any_search_goes_on },
        { "damaged lines are none", damaged_lines_are_none },
        { "heads are compared", heads_are_compared },
        { "curves are whole", curves_are_whole },
        { "what mattered is found", what_mattered_is_found },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "search", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
