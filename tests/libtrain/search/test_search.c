/* SPDX-License-Identifier: Apache-2.0
 * test_search.c: which trials of a search are trained on, and which of them
 * win, by curves that are known. */
#include "tests/lib/toy_search.h"

static void rungs_are_multiples(void)
{
    static const struct { int epochs, first, factor, n, at[6]; } of[] = {
        { 20, 1, 3, 4, { 1, 3, 9, 20 } }, { 10, 1, 3, 3, { 1, 3, 10 } },
        { 1, 1, 3, 1, { 1 } }, { 27, 1, 3, 4, { 1, 3, 9, 27 } },
        { 16, 2, 2, 4, { 2, 4, 8, 16 } }, { 9, 9, 3, 1, { 9 } },
        { 24, CTT_OPT_WORD, 3, 3, { 3, 9, 24 } },
        { 7, CTT_OPT_WORD, 3, 3, { 1, 3, 7 } },
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

/* What is expected is what comes: halving loses nothing to chance.  Three that
 * are to be repeated come to the end together. */
static void work_is_foreseen(void)
{
    static const struct { int trials, repeats; double all; } of[] = {
        { 9, 1, 9 + 3 * 2 + 6 }, { 9, 3, 9 + 3 * 2 + 3 * 6 + 3 * 2 * 9 },
        { 2, 3, 2 * 9 + 2 * 2 * 9 }, { 27, 2, 27 + 9 * 2 + 3 * 6 + 3 * 9 },
    };

    for (size_t i = 0; i < CTT_LEN(of); i++) {
        struct ctt_search_job job;
        double done, all;
        struct toy t;

        open_toy(&t, CTT_SEARCH_HALVING, of[i].trials, 9);
        t.cfg.repeats = of[i].repeats;
        start(&t);
        ctt_search_work(t.s, &done, &all);
        CU_ASSERT(done == 0 && all == of[i].all);
        run(&t, 3, i);
        ctt_search_work(t.s, &done, &all);
        CU_ASSERT(done == of[i].all && all == of[i].all);
        CU_ASSERT_EQUAL(ctt_search_next(t.s, &job), 0);
        close_toy(&t);
    }
}

/* What is expected is never less than what is known to come: while a trial runs
 * there is time left, however many of them go on. */
static void some_is_left(void)
{
    struct ctt_search_job job = { 0, 0, 0 };

    for (int method = 0; ctt_search_methods[method]; method++) {
        struct toy t;

        open_toy(&t, (enum ctt_search_method)method, 27, 27);
        start(&t);
        while (ctt_search_next(t.s, &job) == 1) {
            double done, all;

            ctt_search_at(t.s, job.trial, job.repeat)->running = 1;
            ctt_search_work(t.s, &done, &all);
            CU_ASSERT(all >= done + 1);
            ctt_search_at(t.s, job.trial, job.repeat)->running = 0;
            finish(&t, &job);
        }
        close_toy(&t);
    }
}

/* The three that are to be repeated need not come to the end one after the
 * other. */
static void the_last_go_together(void)
{
    struct ctt_search_job job = { 0, 0, 0 };
    struct toy t;
    int n = 0;

    open_toy(&t, CTT_SEARCH_HALVING, 9, 9);
    t.cfg.repeats = 3;
    start(&t);
    while (ctt_search_next(t.s, &job) == 1 && job.rung < t.s->rungs - 1)
        finish(&t, &job);
    for (; ctt_search_next(t.s, &job) == 1; n++) {
        CU_ASSERT(job.rung == t.s->rungs - 1 && job.repeat == 0);
        ctt_search_at(t.s, job.trial, 0)->running = 1;
    }
    CU_ASSERT_EQUAL(n, 3);
    close_toy(&t);
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

int main(void)
{
    static CU_TestInfo tests[] = {
        { "rungs are multiples", rungs_are_multiples },
        { "methods find the best", methods_find_the_best },
        { "budgets are kept", budgets_are_kept },
        { "ASHA prefers the highest rung", asha_prefers_the_highest_rung },
        { "few trials", few_trials_come_to_the_end },
        { "work is foreseen", work_is_foreseen },
        { "some is left", some_is_left },
        { "the last go together", the_last_go_together },
        { "all may fail", all_may_fail },
        { "luck is not chosen", luck_is_not_chosen },
        { "which epoch counts", which_epoch_counts },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "search", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
