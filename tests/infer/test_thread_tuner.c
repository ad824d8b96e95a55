/* SPDX-License-Identifier: Apache-2.0
 * test_thread_tuner.c: how many threads share frames whose times are known. */
#include "infer/thread_tuner.h"
#include "tests/lib/check.h"

/* Times of frames in seconds; of every `late`th frame with more than one
 * thread 4 ms more, as if a thread lost its processor; 0: of none. */
struct times {
    double one, two, four;
    int    late;
};

/* What became of frames. */
struct seen {
    int by[5];    /* frames with so many threads */
    int late;
};

static void run(struct ctt_thread_tuner *g, const struct times *t, int frames,
                struct seen *out)
{
    *out = (struct seen){ .late = 0 };
    for (int i = 0; i < frames; i++) {
        int threads = ctt_thread_tuner_threads(g), late;

        CU_ASSERT_FATAL(threads > 0 && threads <= 4);
        late = threads > 1 && t->late && ++out->by[0] % t->late == 0;
        out->by[threads]++;
        out->late += late;
        ctt_thread_tuner_frame(g, (threads > 2   ? t->four
                                   : threads > 1 ? t->two
                                                 : t->one) +
                                      (late ? 4e-3 : 0));
    }
}

static void test_one(void)
{
    struct times t = { .one = 1e-3 };
    struct ctt_thread_tuner g;
    struct seen n;

    ctt_thread_tuner_begin(&g, 1);
    run(&g, &t, 1000, &n);
    CU_ASSERT_EQUAL(n.by[1], 1000);
}

/* The second thread gains more than 15%, or less. */
static void test_pays(void)
{
    static const struct { struct times t; int threads; } rows[] = {
        { { .one = 1e-4, .two = 0.6e-4 }, 2 },
        { { .one = 1e-4, .two = 0.86e-4 }, 2 },
        { { .one = 1e-4, .two = 0.88e-4 }, 1 },
        { { .one = 1e-4, .two = 1.5e-4 }, 1 },
        { { .one = 8e-3, .two = 4.5e-3 }, 2 },
        { { .one = 8e-3, .two = 7.8e-3 }, 1 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        int other = 3 - rows[i].threads;
        struct ctt_thread_tuner g;
        struct seen n;

        ctt_thread_tuner_begin(&g, 2);
        run(&g, &rows[i].t, 300, &n);
        CU_ASSERT(n.by[1] > 0 && n.by[2] > 0);
        run(&g, &rows[i].t, 20000, &n);
        CU_ASSERT(n.by[other] <= (other == 1 ? 0 : 1300));
    }
}

static void test_four(void)
{
    static const struct { struct times t; int threads; } rows[] = {
        { { .one = 4e-4, .two = 2e-4, .four = 1e-4 }, 4 },
        { { .one = 4e-4, .two = 2e-4, .four = 1.9e-4 }, 2 },
        { { .one = 4e-4, .two = 3.9e-4, .four = 3.9e-4 }, 1 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_thread_tuner g;
        struct seen n;

        ctt_thread_tuner_begin(&g, 4);
        run(&g, &rows[i].t, 300, &n);
        run(&g, &rows[i].t, 20000, &n);
        CU_ASSERT(n.by[rows[i].threads] > 19000);
    }
}

/* Beside a busy thread few frames are late, and the threads come back. */
static void test_busy(void)
{
    static const struct times rows[] = {
        { .one = 1e-4, .two = 0.6e-4 }, { .one = 1.4e-3, .two = 0.7e-3 },
        { .one = 8e-3, .two = 6.5e-3 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct times idle = rows[i], busy = rows[i];
        struct ctt_thread_tuner g;
        struct seen n;

        ctt_thread_tuner_begin(&g, 2);
        run(&g, &idle, 1000, &n);
        CU_ASSERT(n.by[2] > 900);
        busy.late = i == 0 ? 40 : i == 1 ? 5 : 2;
        run(&g, &busy, 10000, &n);
        CU_ASSERT(n.late > 0 && n.late <= 60);
        run(&g, &idle, 4200, &n);
        run(&g, &idle, 1000, &n);
        CU_ASSERT(n.by[2] > 900);
    }
}

/* A late frame now and then changes nothing. */
static void test_seldom(void)
{
    struct times t = { .one = 1e-4, .two = 0.6e-4, .late = 500 };
    struct ctt_thread_tuner g;
    struct seen n;

    ctt_thread_tuner_begin(&g, 2);
    run(&g, &t, 300, &n);
    run(&g, &t, 20000, &n);
    CU_ASSERT_EQUAL(n.by[1], 0);
    CU_ASSERT_EQUAL(n.late, 40);
}

/* Threads that make frames slow, but never late, are let go. */
static void test_slow(void)
{
    struct times fast = { .one = 1e-3, .two = 0.6e-3 };
    struct times slow = { .one = 1e-3, .two = 1.1e-3 };
    struct ctt_thread_tuner g;
    struct seen n;

    ctt_thread_tuner_begin(&g, 2);
    run(&g, &fast, 300, &n);
    run(&g, &slow, 10000, &n);
    CU_ASSERT(n.by[2] < 600);
}

/* Trials of no use take fewer than one frame of a hundred, so that the slowest
 * hundredth of the frames is not theirs: of short and long frames, which more
 * threads make slower, late or hardly faster. */
static void test_share(void)
{
    static const struct times rows[] = {
        { .one = 1e-4, .two = 1.2e-4 }, { .one = 1e-4, .two = 0.95e-4 },
        { .one = 79e-3, .two = 90e-3 }, { .one = 79e-3, .two = 110e-3 },
        { .one = 8e-3, .two = 7.5e-3, .late = 1 },
        { .one = 79e-3, .two = 79.1e-3 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_thread_tuner g;
        struct seen n;

        ctt_thread_tuner_begin(&g, 2);
        run(&g, &rows[i], 300, &n);
        CU_ASSERT(n.by[2] > 0);
        run(&g, &rows[i], 20000, &n);
        CU_ASSERT(n.by[2] > 0 && n.by[2] <= 120);
    }
}

/* A trial of long frames ends with the second that is slower. */
static void test_long(void)
{
    struct times t = { .one = 79e-3, .two = 90e-3 };
    struct ctt_thread_tuner g;
    struct seen n;

    ctt_thread_tuner_begin(&g, 2);
    run(&g, &t, 400, &n);
    CU_ASSERT(n.by[2] <= 4 + 2);
}

static CU_TestInfo tests[] = {
    { "one thread", test_one },
    { "whether two pay", test_pays },
    { "four threads", test_four },
    { "beside a busy thread", test_busy },
    { "seldom late", test_seldom },
    { "slow", test_slow },
    { "the share of trials", test_share },
    { "trials of long frames", test_long },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gain", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
