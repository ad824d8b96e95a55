/* SPDX-License-Identifier: Apache-2.0
 * test_search_log.c: the log, from which any search goes on, and what mattered
 * in it. */
#include "tests/lib/allocs.h"
#include "tests/lib/toy_search.h"

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

/* A line is none whose numbers cannot be: the first behind a member is
 * another. */
static void impossible_numbers_are_none(void)
{
    static const struct { const char *member, *is; } wrong[] = {
        { "\"score\":", "9.5" }, { "\"score\":", "-0.5" },
        { "\"score\":", "null" }, { "\"score\":", "0.123" },
        { "\"curve\":[", "9.5" }, { "\"curve\":[", "-0.25" },
        { "\"loss\":[", "-1" }, { "\"seconds\":", "-1" },
        { "\"seconds\":", "null" },
    };
    char line[4000], *was;
    struct toy t;

    open_toy(&t, CTT_SEARCH_ASHA, 3, 9);
    start(&t);
    run(&t, 1, 1);
    was = t.line[0];
    ctt_search_free(&t.s);
    start(&t);
    for (size_t i = 0; i < CTT_LEN(wrong); i++) {
        const char *p = strstr(was, wrong[i].member);

        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        p += strlen(wrong[i].member);
        snprintf(line, sizeof(line), "%.*s%s%s", (int)(p - was), was,
                 wrong[i].is, p + strcspn(p, ",]}"));
        CU_ASSERT_EQUAL(ctt_search_take(t.s, line), 0);
    }
    CU_ASSERT_EQUAL(ctt_search_take(t.s, was), 1);
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
        { "any search goes on", any_search_goes_on },
        { "damaged lines are none", damaged_lines_are_none },
        { "impossible numbers are none", impossible_numbers_are_none },
        { "heads are compared", heads_are_compared },
        { "curves are whole", curves_are_whole },
        { "what mattered is found", what_mattered_is_found },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "log of a search", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
