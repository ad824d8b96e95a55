/* SPDX-License-Identifier: Apache-2.0
 * test_depth.c: recomputation across nodes: the same bits as with all values
 * kept, within the memory that was planned. */
#include "run/back/depth.h"
#include "run/back/pack.h"
#include "tests/lib/batch.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same numbers ---- */

/* A residual net with batch norms and dropout, as one frame or several. */
#define RESIDUAL "input x h=12 w=12 c=3\n" \
    "conv e in=x out=8 kernel=3 pad=1\nresblock a in=e out=8\n" \
    "dropout p in=a rate=0.3\nresblock b in=p out=8\n" \
    "resblock c in=b out=12 stride=2\ndropout q in=c rate=0.2\n" \
    "resblock d in=q out=12\nresblock f in=d out=12\n" \
    "pool g in=f kind=avg\nconv y in=g out=4\n"

/* A skip over many nodes, as in a U-net, and a state at its deepest. */
#define SKIPS "input x h=8 w=8 c=2\n" \
    "conv a in=x out=4 kernel=3 pad=1\nact a1 in=a kind=relu\n" \
    "conv b in=a1 out=6 kernel=3 pad=1 stride=2\nact b1 in=b kind=tanh\n" \
    "convlstm l in=b1 hidden=4\nconv c in=l out=6 kernel=3 pad=1\n" \
    "norm n in=c kind=layer\nact n1 in=n kind=relu\nadd s in=n1,b1\n" \
    "upsample u in=s by=2\nconcat k in=u,a1\n" \
    "conv d in=k out=4 kernel=3 pad=1\nact d1 in=d kind=relu\n" \
    "dropout o in=d1 rate=0.4\nconv y in=o out=1\n"

static const struct batch_model deep[] = {
    { RESIDUAL, 4, .batch = 1 }, { SKIPS, 2 },
};

/* Each value and gradient has memory of its own. */
enum { APART = 1 };

static void check_bits(const struct batch_model *m, const char *device,
                       int window, int keep)
{
    struct batch all, some;

    CHECK_OK(batch_open(&all, m, device, window, window ? 0 : APART));
    CHECK_OK(batch_open(&some, m, device, window, keep));
    CU_ASSERT_FATAL(some.x && some.x->back->depth && !all.x->back->depth);
    CU_ASSERT(ctt_exec_plan(some.x).bytes < ctt_exec_plan(all.x).bytes);
    memset(some.x->back->value, 0xff, (size_t)some.x->back->values);
    for (int twice = 0; twice < 2; twice++) {
        CHECK_OK(batch_run(&all));
        CHECK_OK(batch_run(&some));
        batch_same(&all, &some, device);
    }
    batch_close(&some);
    batch_close(&all);
}

static void test_bits(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++) {
        for (size_t i = 0; i < FEEDBACK; i++)
            for (int window = 0; window < 5; window += 2)
                check_bits(&batch_models[i], ctt_check_hosts[d], window,
                           CTT_KEEP_DEPTH);
        for (size_t i = 0; i < FEEDBACK; i++)
            check_bits(&batch_models[i], ctt_check_hosts[d], 0, ALL);
        for (size_t i = 0; i < CTT_LEN(deep); i++) {
            check_bits(&deep[i], ctt_check_hosts[d], 0, CTT_KEEP_DEPTH);
            check_bits(&deep[i], ctt_check_hosts[d], 0, ALL);
        }
        check_bits(&deep[1], ctt_check_hosts[d], 3, CTT_KEEP_DEPTH);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Other numbers of steps and asks in the same memory. */
static void test_shorter(void)
{
    for (int steps = 1; steps < STEPS; steps += 3) {
        struct batch a, b;

        CHECK_OK(batch_open(&a, &deep[1], "cpu", 0, APART));
        CHECK_OK(batch_open(&b, &deep[1], "cpu", 0,
                            steps % 2 ? CTT_KEEP_DEPTH : ALL));
        CHECK_OK(batch_run(&b));
        memcpy(b.w, a.w, (size_t)a.g->weights * sizeof(float));
        memset(b.y, 0, (size_t)b.answers * sizeof(float));
        a.job.steps = b.job.steps = steps;
        CHECK_OK(batch_run(&a));
        CHECK_OK(batch_run(&b));
        batch_same(&a, &b, "a short clip");
        batch_close(&a);
        batch_close(&b);
    }
}

/* ---- memory ---- */

static void open_within(const struct batch_model *m, int64_t bytes,
                        struct batch *r, int *rc)
{
    *rc = batch_open_as(r, m, "cpu", &(struct ctt_memory){
        .keep = AUTO, .window = STEPS, .bytes = bytes });
}

/* From all values down to what no plan can do with: each plan has the bytes
 * that it says, within the limit, and has the bits of the first one. */
static void test_limits(void)
{
    struct batch all, some;
    int again = 0, rc = 0, plans = 0;
    int64_t bytes;

    CHECK_OK(batch_open(&all, &deep[0], "cpu", 0, ALL));
    bytes = ctt_exec_plan(all.x).bytes;
    CHECK_OK(batch_run(&all));
    for (int part = 15; part > 0 && rc == 0; part--) {
        struct ctt_memory_plan p;

        open_within(&deep[0], bytes * part / 16, &some, &rc);
        if (rc == 0) {
            p = ctt_exec_plan(some.x);
            CU_ASSERT(p.calls && p.bytes <= bytes * part / 16);
            CU_ASSERT(some.x->back->values <= p.bytes &&
                      some.x->back->transient + some.x->back->grads == 0);
            again = p.again;
            CHECK_OK(batch_run(&some));
            batch_same(&all, &some, "within a limit");
            plans++;
        } else {
            ctt_check_refused(rc, CTT_ENOMEM, "kind=batch takes");
        }
        batch_close(&some);
    }
    CU_ASSERT(rc == CTT_ENOMEM && again > 0 && plans >= 8);
    batch_close(&all);
}

/* 24 equal convs: what is there are about 2 * sqrt(24) of 48 values and
 * gradients, for a part of the time that was measured. */
static void test_chain_of_convs(void)
{
    char text[4096] = "input x h=8 w=8 c=4\nconv c0 in=x out=4 kernel=3 pad=1\n"
        "act a0 in=c0 kind=relu\n";
    const struct batch_model m = { text, 1 };
    struct batch all, some;

    for (int i = 1; i < 24; i++)
        sprintf(text + strlen(text), "conv c%d in=a%d out=4 kernel=3 pad=1\n"
                "act a%d in=c%d kind=relu\n", i, i - 1, i, i);
    CHECK_OK(batch_open(&all, &m, "cpu", 0, APART));
    CHECK_OK(batch_open(&some, &m, "cpu", 0, CTT_KEEP_DEPTH));
    CHECK_OK(ctt_exec_choose(some.x));
    CU_ASSERT(ctt_exec_plan(some.x).times <= 1.5);
    CU_ASSERT(4 * ctt_exec_plan(some.x).bytes < ctt_exec_plan(all.x).bytes);
    CHECK_OK(batch_run(&all));
    CHECK_OK(batch_run(&some));
    batch_same(&all, &some, "24 convs");
    batch_close(&all);
    batch_close(&some);
}

/* After measured times, too; a step allocates nothing. */
static void test_measured(void)
{
    struct batch all, some;
    int64_t bytes;
    long calls = 0;
    int rc;

    CHECK_OK(batch_open(&all, &deep[0], "cpu", 0, APART));
    bytes = ctt_exec_plan(all.x).bytes / 3;
    CHECK_OK(batch_run(&all));
    open_within(&deep[0], bytes, &some, &rc);
    CHECK_OK(rc);
    CHECK_OK(ctt_exec_choose(some.x));
    CU_ASSERT(ctt_exec_plan(some.x).bytes <= bytes);
    CU_ASSERT(ctt_exec_plan(some.x).times > 1 &&
              ctt_exec_plan(some.x).times < 3);
    CHECK_OK(batch_run(&some));
    batch_same(&all, &some, "measured");
    calls = ctt_alloc_calls();
    CHECK_OK(batch_run(&some));
    CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
    batch_close(&some);
    batch_close(&all);
}

static int all_of_it(int keep, int64_t bytes)
{
    struct batch r;
    int rc;

    CTT_TRY(batch_open_as(&r, &deep[1], "cpu", &(struct ctt_memory){
        .keep = keep, .window = STEPS, .bytes = bytes }));
    CTT_TRY(ctt_exec_choose(r.x));
    CTT_TRY(batch_run(&r));
out:
    batch_close(&r);
    return rc;
}

static void test_failing_allocations(void)
{
    static const int keep[] = { AUTO, CTT_KEEP_DEPTH };
    struct batch all;
    int64_t bytes;

    CHECK_OK(batch_open(&all, &deep[1], "cpu", 0, APART));
    bytes = ctt_exec_plan(all.x).bytes / 2;
    batch_close(&all);

    for (size_t i = 0; i < CTT_LEN(keep); i++) {
        int rc = CTT_ENOMEM;

        for (long k = 1; rc == CTT_ENOMEM && k < 5000; k++) {
            ctt_fail_alloc(k);
            rc = all_of_it(keep[i], bytes);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT_EQUAL(rc, 0);
    }
}

static void test_refused(void)
{
    struct batch r;

    ctt_check_refused(batch_open(&r, &batch_models[FEEDBACK], "cpu", 0,
                                 CTT_KEEP_DEPTH), CTT_EUNSUP, "--keep=depth");
    batch_close(&r);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_pack(void)
{
    struct ctt_packed item[40];
    int64_t most, load = 0;

    for (int i = 0; i < 40; i++) {
        int from = rand() % 30;

        item[i] = (struct ctt_packed){ 1 + rand() % 50, -1, from,
                                       from + rand() % 9 };
    }
    most = ctt_pack(item, 40);
    for (int i = 0; i < 40; i++) {
        CU_ASSERT(item[i].at >= 0 && item[i].at + item[i].bytes <= most);
        for (int k = 0; k < i; k++)
            CU_ASSERT(item[k].to < item[i].from || item[i].to < item[k].from ||
                      item[k].at + item[k].bytes <= item[i].at ||
                      item[i].at + item[i].bytes <= item[k].at);
    }
    for (int t = 0; t < 40; t++) {
        int64_t sum = 0;

        for (int i = 0; i < 40; i++)
            sum += item[i].from <= t && t <= item[i].to ? item[i].bytes : 0;
        load = sum > load ? sum : load;
    }
    CU_ASSERT(most >= load && most <= load * 3 / 2);
}

static CU_TestInfo tests[] = {
    { "the same bits", test_bits },
    { "shorter clips", test_shorter },
    { "limits", test_limits },
    { "a chain of convs", test_chain_of_convs },
    { "measured", test_measured },
    { "failing allocations", test_failing_allocations },
    { "refused", test_refused },
    { "pack", test_pack },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "depth", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
