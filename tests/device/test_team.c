/* SPDX-License-Identifier: Apache-2.0
 * test_team.c: threads that share tasks: each is done once, by whatever threads
 * there are. */
#define _GNU_SOURCE    /* RTLD_NEXT */
#include "device/team.h"
#include "device/dev.h"
#include "tests/lib/check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 3000, THREADS = 8 };

/* ---- threads that the system refuses ---- */

typedef int creates(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                    void *);
static atomic_int refused_from = -1;    /* so many more are started */

int pthread_create(pthread_t *id, const pthread_attr_t *attr,
                   void *(*f)(void *), void *arg)
{
    creates *real = (creates *)dlsym(RTLD_NEXT, "pthread_create");

    if (atomic_load(&refused_from) >= 0 &&
        atomic_fetch_sub(&refused_from, 1) <= 0) {
        atomic_store(&refused_from, 0);
        return 11;    /* EAGAIN */
    }
    return real(id, attr, f, arg);
}

/* ---- tasks ---- */

/* done: how often each was; busy: whether a thread runs one. */
struct tally {
    struct ctt_team *team;
    int              size, inner, bad;
    int              done[MOST];
    atomic_int       busy[THREADS], wrong;
    int              slow;    /* of so many tasks one waits */
};

static void count_inner(void *arg, int64_t task, int who)
{
    int *sum = arg;

    (void)who;
    *sum = *sum * 3 + (int)task;    /* only in order it is the same */
}

static void count_task(void *arg, int64_t task, int who)
{
    struct tally *t = arg;
    int sum = 0;

    if (who < 0 || who >= t->size || atomic_exchange(&t->busy[who], 1))
        atomic_store(&t->wrong, 1);
    t->done[task]++;
    if (t->slow && task % t->slow == 0)
        sched_yield();
    if (t->inner) {
        ctt_team_run(t->team, t->size, 4, count_inner, &sum);
        if (sum != ((0 * 3 + 1) * 3 + 2) * 3 + 3)
            atomic_store(&t->wrong, 1);
    }
    atomic_store(&t->busy[who], 0);
}

/* Every task of `rounds` calls must be done once; close_tally() asserts that,
 * as CUnit is not for threads. */
static void do_rounds(struct tally *t, int64_t tasks, int rounds)
{
    memset(t->done, 0, sizeof(t->done));
    for (int i = 0; i < rounds; i++) {
        ctt_team_run(t->team, t->size, tasks, count_task, t);
        for (int64_t k = 0; k < MOST; k++)
            t->bad += t->done[k] != (k < tasks ? i + 1 : 0);
    }
}

static struct tally *open_tally(int threads)
{
    struct tally *t = calloc(1, sizeof(*t));

    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CHECK_OK(ctt_team_open(threads, &t->team));
    t->size = ctt_team_size(t->team);
    return t;
}

static void close_tally(struct tally *t)
{
    CU_ASSERT_EQUAL(t->bad, 0);
    CU_ASSERT_EQUAL(atomic_load(&t->wrong), 0);
    ctt_team_close(&t->team);
    CU_ASSERT_PTR_NULL(t->team);
    free(t);
}

static void test_once(void)
{
    static const int64_t tasks[] = { 0, 1, 2, 3, 7, 64, 1000, MOST };

    for (int threads = 1; threads <= THREADS; threads++) {
        struct tally *t = open_tally(threads);

        CU_ASSERT_EQUAL(t->size, threads);
        for (size_t i = 0; i < CTT_LEN(tasks); i++) {
            /* a yield takes long where others are busy */
            t->slow = tasks[i] > 64 ? 0 : (int)i % 3 * 5;
            do_rounds(t, tasks[i], 20);
        }
        close_tally(t);
    }
}

/* The others sleep before each call. */
static void test_sleep(void)
{
    struct tally *t = open_tally(3);

    for (int i = 0; i < 20; i++) {
        usleep(1000);
        do_rounds(t, 50, 3);
    }
    close_tally(t);
}

static void test_nested(void)
{
    struct tally *t = open_tally(4);

    t->inner = 1;
    do_rounds(t, 200, 20);
    close_tally(t);
}

/* ---- teams at once ---- */

/* A caller's tasks run those of a team of its own. */
static void run_own(void *arg, int64_t task, int who)
{
    struct tally **t = arg;

    (void)who;
    do_rounds(t[task], 100, 20);
}

static void *use_team(void *arg)
{
    do_rounds(arg, 200, 50);
    return NULL;
}

static void test_many(void)
{
    struct tally *t[4], *outer = open_tally(2);
    pthread_t id[4];

    for (int i = 0; i < 4; i++)
        t[i] = open_tally(1 + i);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&id[i], NULL, use_team, t[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
    ctt_team_run(outer->team, 2, 4, run_own, t);
    for (int i = 0; i < 4; i++)
        close_tally(t[i]);
    close_tally(outer);
}

/* ---- fewer threads than a team has ---- */

static void note_who(void *arg, int64_t task, int who)
{
    (void)task;
    atomic_fetch_or((atomic_int *)arg, 1 << who);
}

/* Those that are not needed take no task, though they are about; the caller may
 * find none left when it lost its processor. */
static void test_fewer(void)
{
    struct tally *t = open_tally(4);

    for (int i = 0; i < 400; i++) {
        int threads = 1 + i % 4;
        atomic_int who = 0;

        ctt_team_run(t->team, threads, 100, note_who, &who);
        CU_ASSERT(atomic_load(&who) > 0);
        CU_ASSERT(atomic_load(&who) < 1 << threads);
    }
    do_rounds(t, 100, 20);
    close_tally(t);
}

/* ---- what fails ---- */

static void test_refused(void)
{
    for (int k = 0; k < 4; k++) {
        struct tally *t;

        atomic_store(&refused_from, k);
        t = open_tally(4);
        atomic_store(&refused_from, -1);
        CU_ASSERT_EQUAL(t->size, k < 3 ? k + 1 : 4);
        do_rounds(t, 100, 20);
        close_tally(t);
    }
}

static void test_memory(void)
{
    struct ctt_team *t = NULL;
    struct ctt_dev *d = NULL;
    long live = ctt_live_blocks();

    ctt_fail_alloc(1);
    CU_ASSERT_EQUAL(ctt_team_open(4, &t), CTT_ENOMEM);
    ctt_fail_alloc(0);
    CU_ASSERT_PTR_NULL(t);
    CU_ASSERT_EQUAL(ctt_team_size(t), 1);
    ctt_team_close(&t);
    CHECK_OK(ctt_dev_open("ref", 2, &d));
    ctt_fail_alloc(1);
    CU_ASSERT_EQUAL(ctt_dev_own_threads(d), CTT_ENOMEM);
    ctt_fail_alloc(0);
    CU_ASSERT_PTR_NULL(d->team);
    CHECK_OK(ctt_dev_own_threads(d));
    CU_ASSERT_EQUAL(ctt_team_size(d->team), 2);
    ctt_dev_close(&d);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

/* ---- rows ---- */

static void mark_rows(const void *arg, int64_t from, int64_t to)
{
    int *const *row = arg;

    for (int64_t r = from; r < to; r++)
        (*row)[r]++;
}

static void test_rows(void)
{
    static const int64_t many[] = { 0, 1, 2, 7, 9, 1000 };
    int *row = calloc(1000, sizeof(*row)), wrong = 0;
    struct ctt_dev *d = NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(row);
    CHECK_OK(ctt_dev_open("ref", 3, &d));
    for (int own = 0; own < 2; own++) {
        for (size_t i = 0; i < CTT_LEN(many); i++) {
            memset(row, 0, 1000 * sizeof(*row));
            ctt_dev_rows(d, 1e9, many[i], mark_rows, &row);
            for (int64_t r = 0; r < 1000; r++)
                wrong += row[r] != (r < many[i]);
        }
        CHECK_OK(ctt_dev_own_threads(d));
    }
    CU_ASSERT_EQUAL(wrong, 0);
    ctt_dev_close(&d);
    free(row);
}

static CU_TestInfo tests[] = {
    { "each task once", test_once },
    { "threads that sleep", test_sleep },
    { "tasks within tasks", test_nested },
    { "teams at once", test_many },
    { "some of the threads", test_fewer },
    { "fewer threads", test_refused },
    { "out of memory", test_memory },
    { "rows", test_rows },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "team", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
