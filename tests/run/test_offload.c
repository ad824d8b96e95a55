/* SPDX-License-Identifier: Apache-2.0
 * test_offload.c: windows whose values leave memory and come back: the same
 * bits as kept ones, which of them leave, files without a name, and errors. */
#include "base/unnamed.h"
#include "tests/lib/batch.h"
#include "tests/lib/check.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* To the host's memory, and to a file here. */
static const char *const folders[] = { "", "." };

static struct ctt_memory memory_of(int window, int kept, const char *folder)
{
    struct ctt_memory m = { .window = window, .keep = kept,
                            .rest = CTT_OFFLOADED };

    snprintf(m.folder, sizeof(m.folder), "%s", folder);
    return m;
}

static int left(const struct batch *r)
{
    int n = 0;

    for (int k = 0; k < r->x->back->parts; k++)
        n += r->x->back->lie[k].away >= 0;
    return n;
}

/* ---- the same numbers ---- */

static void check_model(const struct batch_model *m, const char *device,
                        int window)
{
    struct batch all, some;

    CHECK_OK(batch_open(&all, m, device, window, ALL));
    for (int twice = 0; twice < 2; twice++)
        CHECK_OK(batch_run(&all));
    for (int kept = 1; kept < 4; kept++) {
        struct ctt_memory y = memory_of(window, kept, folders[kept % 2]);

        CHECK_OK(batch_open_as(&some, m, device, &y));
        some.poison = kept == 2;
        for (int twice = 0; twice < 2; twice++)
            CHECK_OK(batch_run(&some));
        CU_ASSERT_EQUAL(all.parts, some.parts);
        CU_ASSERT_EQUAL(left(&some), some.x->back->dropped);
        CU_ASSERT(left(&some) > 0 || window > 3 || kept > 1);
        batch_same(&all, &some, device);
        batch_close(&some);
    }
    batch_close(&all);
}

static void test_same(void)
{
    static const int window[] = { 1, 2, 4 };

    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < BATCH_MODELS; i++)
            for (size_t k = 0; k < CTT_LEN(window); k++)
                check_model(&batch_models[i], ctt_check_hosts[d], window[k]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Opens a batch of which `offloaded` windows leave and the others that are not
 * kept are recomputed. */
static void open_mixed(struct batch *r, const struct batch_model *m, int kept,
                       int offloaded)
{
    struct ctt_memory y = memory_of(1, kept, ".");

    y.rest = CTT_CHEAPEST;
    CHECK_OK(batch_open_as(r, m, "ref", &y));
    r->x->back->plan.offloaded = offloaded;
    if (offloaded)
        CHECK_OK(ctt_back_offload(r->x, offloaded));
}

/* Some are kept, some leave, some are recomputed. */
static void test_mixed(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++)
        for (int offloaded = 0; offloaded < STEPS - 1; offloaded += 2) {
            struct batch all, some;

            CHECK_OK(batch_open(&all, &batch_models[i], "ref", 1, ALL));
            open_mixed(&some, &batch_models[i], 2, offloaded);
            for (int twice = 0; twice < 2; twice++) {
                CHECK_OK(batch_run(&all));
                CHECK_OK(batch_run(&some));
            }
            CU_ASSERT_EQUAL(left(&some), offloaded < STEPS - 2 ? offloaded
                                                               : STEPS - 2);
            batch_same(&all, &some, "mixed");
            batch_close(&all);
            batch_close(&some);
        }
}

/* Batches of other lengths between, and one that ends halfway. */
static int stop(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    (void)arg;
    (void)x;
    return p->first > 4 ? ctt_error(CTT_ESTOP, "stopped") : 0;
}

/* A batch of so many steps, after one that ends halfway. */
static void run_shorter(struct batch *r, int steps)
{
    struct ctt_job whole = r->job, cut = r->job;
    int asks = 0;

    cut.take = stop;
    CU_ASSERT_EQUAL(ctt_exec_forward(r->x, &cut), CTT_ESTOP);
    for (int k = 0; k < r->m->asks; k++)
        if (r->ask[k].step < steps)
            r->ask[asks++] = r->ask[k];
    r->job.steps = steps;
    r->job.asks = asks;
    memset(r->y, 0, (size_t)r->answers * sizeof(float));
    CHECK_OK(batch_run(r));
    for (int k = 0; k < r->m->asks; k++)
        r->ask[k] = (struct ctt_ask){ k % r->m->n, (3 + 5 * k) % STEPS };
    r->job = whole;
}

static void test_shorter(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++) {
        struct batch all, some;

        CHECK_OK(batch_open(&all, &batch_models[i], "ref", 1, ALL));
        open_mixed(&some, &batch_models[i], 2, 3);
        for (int steps = STEPS; steps > 0; steps -= 2) {
            run_shorter(&all, steps);
            run_shorter(&some, steps);
            CU_ASSERT(left(&some) > 0 || steps < 3);
            batch_same(&all, &some, "a short clip");
        }
        batch_close(&some);
        batch_close(&all);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- which leave ---- */

static void test_spread(void)
{
    for (int dropped = 1; dropped < 20; dropped++)
        for (int n = 0; n <= dropped; n++) {
            int sum = 0;

            for (int k = 0; k < dropped; k++) {
                sum += ctt_back_leaves(k, dropped, n);
                CU_ASSERT(fabs(sum - (double)(k + 1) * n / dropped) < 1);
            }
            CU_ASSERT_EQUAL(sum, n);
        }
}

/* Ten windows of 1 + 2 s, of which two are kept. */
static void test_seconds(void)
{
    struct ctt_back_cost c = { 10, 2, 1, 2, 0, 0, 0 };

    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 0), 10 * 3 + 8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 8), 30, 1e-9);
    CU_ASSERT_EQUAL(ctt_back_best(&c, 8), 8);
    CU_ASSERT_EQUAL(ctt_back_best(&c, 3), 3);
    c.out = c.in = 1;        /* hidden behind what is computed */
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 8), 30, 1e-9);
    c.busy = 0.1;
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 8), 30 + 1.6, 0.11);
    c = (struct ctt_back_cost){ 10, 4, 1, 2, 3, 3, 0 };
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 0), 36, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 1), 35, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 2), 34, 1e-9);
    CU_ASSERT(ctt_back_seconds(&c, 6) > 40);    /* all wait for copies */
    CU_ASSERT_EQUAL(ctt_back_best(&c, 6), 2);
    c.kept = 2;
    c.out = c.in = 1000;
    CU_ASSERT_EQUAL(ctt_back_best(&c, 8), 0);
    c.kept = 1;              /* nothing to overlap with but itself */
    c.out = c.in = 0.25;
    CU_ASSERT_DOUBLE_EQUAL(ctt_back_seconds(&c, 9), 30 + 9 * 0.5, 1e-9);
}

/* Measuring leaves no trace, and what is chosen is what happens. */
static void test_choose(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++)
        for (size_t d = 0; d < CTT_LEN(folders); d++) {
            struct ctt_memory y = memory_of(1, 2, folders[d]);
            struct ctt_memory_plan p;
            struct batch all, some;

            y.rest = CTT_CHEAPEST;
            CHECK_OK(batch_open(&all, &batch_models[i], "cpu", 1, ALL));
            CHECK_OK(batch_open_as(&some, &batch_models[i], "cpu", &y));
            CHECK_OK(ctt_exec_choose(some.x));
            p = ctt_exec_plan(some.x);
            CU_ASSERT(p.rate > 0 && p.times > 0.9 && p.times < 2);
            CHECK_OK(batch_run(&all));
            CHECK_OK(batch_run(&some));
            CU_ASSERT_EQUAL(left(&some), p.offloaded < some.x->back->dropped
                                         ? p.offloaded
                                         : some.x->back->dropped);
            batch_same(&all, &some, "chosen");
            batch_close(&all);
            batch_close(&some);
        }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_no_allocation(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++) {
        struct ctt_memory y = memory_of(2, 2, ".");
        long calls = 0;
        struct batch r;

        CHECK_OK(batch_open_as(&r, &batch_models[i], "cpu", &y));
        for (int batch = 0; batch < 3; batch++) {
            if (batch == 1)
                calls = ctt_alloc_calls();
            CHECK_OK(batch_run(&r));
        }
        CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
        batch_close(&r);
    }
}

/* ---- files ---- */

static int entries(void)
{
    DIR *d = opendir(".");
    int n = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void test_unnamed(void)
{
    static const char text[] = "values", none[sizeof(text)];
    char got[sizeof(text)];
    int fd = -1, before = entries();

    CHECK_OK(ctt_unnamed_open(".", &fd));
    CU_ASSERT_EQUAL(entries(), before);
    CHECK_OK(ctt_unnamed_reserve(".", fd, 1 << 20));
    CHECK_OK(ctt_unnamed_write(".", fd, 99999, text, sizeof(text)));
    CHECK_OK(ctt_unnamed_flush(".", fd));
    CHECK_OK(ctt_unnamed_read(".", fd, 99999, got, sizeof(got)));
    CU_ASSERT_EQUAL(memcmp(got, text, sizeof(text)), 0);
    CHECK_OK(ctt_unnamed_read(".", fd, 5, got, sizeof(got)));
    CU_ASSERT_EQUAL(memcmp(got, none, sizeof(none)), 0);
    ctt_check_refused(ctt_unnamed_read(".", fd, 1 << 20, got, 1), CTT_EIO,
                      "cannot read");
    CU_ASSERT_EQUAL(entries(), before);
    close(fd);
}

/* Sets what a file may have; 0: without a limit. */
static void limit(rlim_t bytes)
{
    struct rlimit l;

    CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes ? bytes : l.rlim_max;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_refused(void)
{
    static const struct { const char *folder, *why; } cases[] = {
        { "nothere", "--offload: nothere: cannot write a file there: " },
        { "/proc/self/status", "status: no folder" },
        { "/proc/self", "/proc/self: cannot write a file there: " },
        { ".", ".: a file of 1 MB is larger than ulimit -f allows" },
    };
    struct batch r;

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_memory y = memory_of(2, 2, cases[i].folder);

        if (i + 1 == CTT_LEN(cases))
            limit(100);
        ctt_check_refused(batch_open_as(&r, &batch_models[0], "cpu", &y),
                          CTT_EIO, cases[i].why);
        limit(0);
        batch_close(&r);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A copy that fails ends the batch, and all later ones. */
static void test_failing_copies(void)
{
    struct ctt_memory y = memory_of(1, 2, ".");
    struct batch r;

    signal(SIGXFSZ, SIG_IGN);
    CHECK_OK(batch_open_as(&r, &batch_models[0], "cpu", &y));
    CHECK_OK(batch_run(&r));
    limit(100);
    for (int twice = 0; twice < 2; twice++)
        ctt_check_refused(batch_run(&r), CTT_EIO, ".: cannot write: ");
    limit(0);
    batch_close(&r);
    signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static int all_of_it(const char *folder)
{
    struct ctt_memory y = memory_of(3, 1, folder);
    struct batch r;
    int rc;

    CTT_TRY(batch_open_as(&r, &batch_models[1], "cpu", &y));
    CTT_TRY(batch_run(&r));
out:
    batch_close(&r);
    return rc;
}

static void test_failing_allocations(void)
{
    for (size_t i = 0; i < CTT_LEN(folders); i++) {
        int rc = CTT_ENOMEM;

        for (long k = 1; rc == CTT_ENOMEM && k < 5000; k++) {
            ctt_fail_alloc(k);
            rc = all_of_it(folders[i]);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT_EQUAL(rc, 0);
    }
}

static CU_TestInfo tests[] = {
    { "offloaded is kept", test_same },
    { "some are recomputed", test_mixed },
    { "other lengths", test_shorter },
    { "spread", test_spread },
    { "seconds of a step", test_seconds },
    { "choose", test_choose },
    { "no allocation", test_no_allocation },
    { "a file without a name", test_unnamed },
    { "refused", test_refused },
    { "failing copies", test_failing_copies },
    { "failing allocations", test_failing_allocations },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "offload", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
