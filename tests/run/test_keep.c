/* SPDX-License-Identifier: Apache-2.0
 * test_keep.c: clips cut into windows: recomputed values equal kept ones,
 * values that are not kept are not read, and the memory plan. */
#include "libtrain/cfg_memory.h"
#include "tests/lib/batch.h"
#include "tests/lib/check.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same numbers ---- */

static void check_keep(const struct batch_model *m, const char *device,
                       int window)
{
    struct batch all, some;

    CHECK_OK(batch_open(&all, m, device, window, ALL));
    for (int twice = 0; twice < 2; twice++)
        CHECK_OK(batch_run(&all));
    for (int keep = 0; keep < 4; keep++) {
        CHECK_OK(batch_open(&some, m, device, window, keep));
        some.poison = keep % 2;
        for (int twice = 0; twice < 2; twice++)
            CHECK_OK(batch_run(&some));
        CU_ASSERT_EQUAL(all.parts, some.parts);
        batch_same(&all, &some, device);
        batch_close(&some);
    }
    batch_close(&all);
}

/* Dropout, delays, asks, running statistics: a recomputed window gives the same
 * bits and does not update statistics. */
static void test_recomputed(void)
{
    static const int window[] = { 1, 2, 3, 5, STEPS };

    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < BATCH_MODELS; i++)
            for (size_t k = 0; k < CTT_LEN(window); k++)
                check_keep(&batch_models[i], ctt_check_hosts[d], window[k]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_windows(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++) {
        struct batch one, many;

        if (batch_models[i].batch)
            continue;
        CHECK_OK(batch_open(&one, &batch_models[i], "ref", 0, ALL));
        CHECK_OK(batch_run(&one));
        CU_ASSERT_EQUAL(one.parts, batch_models[i].feedback ? 2 : 1);
        for (int window = 1; window < STEPS; window++) {
            CHECK_OK(batch_open(&many, &batch_models[i], "ref", window, 1));
            CHECK_OK(batch_run(&many));
            CHECK_CLOSE(many.y, one.y, one.answers, 1e-6);
            CHECK_CLOSE(many.x->dw, one.x->dw, one.g->weights, 1e-5);
            batch_close(&many);
        }
        batch_close(&one);
    }
}

/* If all windows are kept, too, the backward pass reads no transient value. */
static void test_poison(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < BATCH_MODELS; i++) {
            struct batch clean, dirty;

            CHECK_OK(batch_open(&clean, &batch_models[i], ctt_check_hosts[d], 0,
                                ALL));
            CHECK_OK(batch_open(&dirty, &batch_models[i], ctt_check_hosts[d], 0,
                                2));
            CU_ASSERT(dirty.x->r->extent[CTT_TRANSIENT].step +
                      dirty.x->r->extent[CTT_TRANSIENT].ask > 0);
            dirty.poison = 1;
            CHECK_OK(batch_run(&clean));
            CHECK_OK(batch_run(&dirty));
            batch_same(&clean, &dirty, "poisoned");
            batch_close(&clean);
            batch_close(&dirty);
        }
}

/* Other numbers of steps and asks in the same memory. */
static void test_shorter(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++)
        for (int steps = 1; steps < STEPS; steps += 2) {
            struct batch a, b;
            int asks = 0;

            CHECK_OK(batch_open(&a, &batch_models[i], "ref", 2, ALL));
            CHECK_OK(batch_open(&b, &batch_models[i], "ref", 2, 1));
            CHECK_OK(batch_run(&b));    /* leaves old numbers */
            for (int k = 0; k < batch_models[i].asks; k++)
                if (a.ask[k].step < steps)
                    a.ask[asks++] = a.ask[k];
            memcpy(b.ask, a.ask, sizeof(a.ask));
            memcpy(b.w, a.w, (size_t)a.g->weights * sizeof(float));
            a.job.steps = b.job.steps = steps;
            a.job.asks = b.job.asks = asks;
            memset(b.y, 0, (size_t)b.answers * sizeof(float));
            CHECK_OK(batch_run(&a));
            CHECK_OK(batch_run(&b));
            batch_same(&a, &b, "a short clip");
            batch_close(&a);
            batch_close(&b);
        }
}

/* ---- memory ---- */

/* Per step of a Conv-TT-LSTM the backward pass reads the input, the gates, both
 * states and one tensor per core; gates and their plus input share memory. */
static void test_channels(void)
{
    static const struct batch_model m = {
        "input x h=8 w=8 c=1\n"
        "convttlstm l in=x hidden=32 kernel=5 order=3 steps=3 rank=8\n"
        "conv y in=l out=1\n", 2 };
    const struct ctt_extent *e;
    struct batch r;

    CHECK_OK(batch_open(&r, &m, "ref", 3, ALL));
    e = r.x->r->extent;
    CU_ASSERT_EQUAL(e[CTT_SAVED].step, 4 * 2 * 64 * (1 + 6 * 32 + 3 * 8));
    CU_ASSERT_EQUAL(e[CTT_TRANSIENT].step, 4 * 2 * 64 * (24 + 1));
    CU_ASSERT_EQUAL(e[CTT_SAVED].fixed, 4 * 2 * 64 * 32);    /* cell state */
    CU_ASSERT_EQUAL(e[CTT_TRANSIENT].fixed, 4 * 2 * 64 * 3 * 24);
    batch_close(&r);
}

static int64_t usable(const struct ctt_back *y)
{
    return (int64_t)(malloc_usable_size(y->value) +
                     malloc_usable_size(y->transient_at) +
                     malloc_usable_size(y->grad) +
                     malloc_usable_size(y->store) +
                     malloc_usable_size(y->carry));
}

static void open_auto(const struct batch_model *m, int64_t bytes, int window,
                      struct batch *r, int *rc)
{
    struct ctt_memory memory = { .window = window, .keep = AUTO,
                                 .bytes = bytes };
    struct ctt_exec *x = NULL;

    CHECK_OK(batch_open(r, m, "ref", 1, 1));
    *rc = ctt_exec_open(&(struct ctt_run_spec){
        .g = r->g, .dev = r->dev, .w = r->w, .samples = m->n, .steps = STEPS,
        .asks = m->asks }, &memory, &x);
    if (*rc < 0)
        return;
    ctt_exec_close(&r->x);
    r->x = x;
    r->x->r->key = 77;
}

/* Steps of the current batch that are recomputed. */
static int run_twice(const struct ctt_back *y)
{
    const struct ctt_window *next = &y->part[y->dropped];

    return y->dropped ? next[-1].first + next[-1].steps : 0;
}

/* No plan exceeds its budget; more memory never means more recomputed steps;
 * with enough memory there is one window. */
static void check_auto(const struct batch_model *m)
{
    int64_t least = INT64_MAX;
    int again = STEPS, rc;
    struct batch r;

    open_auto(m, INT64_C(1) << 40, 0, &r, &rc);
    CHECK_OK(rc);
    CU_ASSERT_EQUAL(ctt_exec_plan(r.x).windows, m->feedback ? 2 : 1);
    CU_ASSERT_EQUAL(ctt_exec_plan(r.x).window, STEPS);
    least = ctt_exec_plan(r.x).bytes;
    batch_close(&r);
    for (int64_t bytes = least / 16; bytes <= least; bytes += least / 16) {
        struct ctt_memory_plan p;

        open_auto(m, bytes, 0, &r, &rc);
        if (rc < 0) {
            CU_ASSERT_EQUAL(rc, CTT_ENOMEM);
            CU_ASSERT(strstr(ctt_errmsg(), m->batch ? "because"
                                         : "need at least") != NULL);
            CU_ASSERT_EQUAL(again, STEPS);    /* nothing fitted so far */
            batch_close(&r);
            continue;
        }
        p = ctt_exec_plan(r.x);
        CU_ASSERT(p.bytes <= bytes && p.kept >= 1 && p.kept <= p.windows);
        CU_ASSERT(usable(r.x->back) <= p.bytes + 5 * 128);
        CU_ASSERT(usable(r.x->back) >= p.bytes);
        CHECK_OK(batch_run(&r));
        rc = run_twice(r.x->back);
        CU_ASSERT(rc <= again || m->feedback);
        again = rc;
        batch_close(&r);
    }
    CU_ASSERT(again < STEPS);
}

static void test_auto(void)
{
    struct batch r;
    int rc;

    for (size_t i = 0; i < BATCH_MODELS; i++)
        check_auto(&batch_models[i]);
    open_auto(&batch_models[1], INT64_C(1) << 40, 2, &r, &rc);
    CHECK_OK(rc);
    CU_ASSERT_EQUAL(ctt_exec_plan(r.x).window, 2);
    CU_ASSERT_EQUAL(ctt_exec_plan(r.x).windows, 5);
    CU_ASSERT_EQUAL(ctt_exec_plan(r.x).kept, 5);
    batch_close(&r);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A norm over a whole clip: auto uses one window or fails; --window overrides
 * it, and the plan says so. */
static void test_auto_norms(void)
{
    const struct batch_model *m = &batch_models[FEEDBACK - 1];
    struct batch r;
    int64_t whole;
    int rc;

    CU_ASSERT_FATAL(m->batch);
    open_auto(m, INT64_C(1) << 40, 0, &r, &rc);
    CHECK_OK(rc);
    whole = ctt_exec_plan(r.x).bytes;
    CU_ASSERT(!ctt_exec_plan(r.x).parts);
    batch_close(&r);
    open_auto(m, whole - 1, 0, &r, &rc);    /* nodes, not windows */
    CHECK_OK(rc);
    CU_ASSERT(ctt_exec_plan(r.x).calls && !ctt_exec_plan(r.x).parts);
    batch_close(&r);
    open_auto(m, 64, 0, &r, &rc);
    ctt_check_refused(rc, CTT_ENOMEM, "b.");
    ctt_check_refused(rc, CTT_ENOMEM, "kind=batch takes the statistics of the "
                      "whole clip; ");
    batch_close(&r);
    open_auto(m, whole - 1, 2, &r, &rc);
    CHECK_OK(rc);
    CU_ASSERT(ctt_exec_plan(r.x).parts && ctt_exec_plan(r.x).windows > 1);
    batch_close(&r);
    open_auto(m, 64, 2, &r, &rc);
    ctt_check_refused(rc, CTT_ENOMEM, "need at least");
    batch_close(&r);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_no_allocation(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < BATCH_MODELS; i++) {
            long calls = 0;
            struct batch r;

            CHECK_OK(batch_open(&r, &batch_models[i], ctt_check_hosts[d], 2,
                                2));
            for (int batch = 0; batch < 3; batch++) {
                if (batch == 1)
                    calls = ctt_alloc_calls();
                r.x->r->stamp++;
                CHECK_OK(batch_run(&r));
            }
            CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
            batch_close(&r);
        }
}

static int all_of_it(const struct batch_model *m, int keep)
{
    struct batch r;
    int rc;

    CTT_TRY(batch_open(&r, m, "cpu", keep == AUTO ? 0 : 3, keep));
    CTT_TRY(batch_run(&r));
out:
    batch_close(&r);
    return rc;
}

static void test_failing_allocations(void)
{
    static const size_t some[] = { 1, 2, FEEDBACK - 1, FEEDBACK };

    for (size_t i = 0; i < CTT_LEN(some); i++) {
        int rc = CTT_ENOMEM;

        for (long k = 1; rc == CTT_ENOMEM && k < 5000; k++) {
            ctt_fail_alloc(k);
            rc = all_of_it(&batch_models[some[i]], i % 2 ? AUTO : 1);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT_EQUAL(rc, 0);
    }
}

/* ---- errors ---- */

static void test_refused(void)
{
    static const struct batch_model norm = {
        "input x c=3\nlstm l in=x hidden=3\nclip\nwindow v in=l steps=2\n"
        "conv a in=v out=3 kernel=2,1,1\nnorm y in=a kind=batch\n", 2, 4 };
    static const struct batch_model feedback = {
        "input x c=3\ninput seen c=1\nstate b of=y like=x c=3\n"
        "mix u in=x,b,seen\nconv a in=u out=3\nnorm y in=a kind=batch\n",
        2, .feedback = 4 };
    struct batch r;

    ctt_check_refused(batch_open(&r, &norm, "ref", 2, ALL), CTT_EUNSUP,
                      "y: with several windows");
    batch_close(&r);
    CHECK_OK(batch_open(&r, &norm, "ref", 0, ALL));
    CHECK_OK(batch_run(&r));
    r.ask[1].step = STEPS;
    ctt_check_refused(ctt_exec_forward(r.x, &r.job), CTT_EINVAL,
                      "no step 9 of sample");
    r.job.steps = STEPS + 1;
    ctt_check_refused(ctt_exec_forward(r.x, &r.job), CTT_EINVAL,
                      "no room for 10 steps");
    r.job.steps = STEPS;
    r.job.asks = 5;
    ctt_check_refused(ctt_exec_forward(r.x, &r.job), CTT_EINVAL,
                      "5 asks, but there is room");
    batch_close(&r);
    /* only with feedback */
    CHECK_OK(batch_open(&r, &feedback, "ref", 0, ALL));
    ctt_check_refused(ctt_exec_forward(r.x, &r.job), CTT_EUNSUP,
                      "y: in a loop");
    r.job.feedback = STEPS;
    CHECK_OK(batch_run(&r));
    batch_close(&r);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Values of --keep, and the limit that comes with it. */
static void test_settings(void)
{
    static const struct {
        const char *keep;
        int code, kept;
        const char *say;
    } cases[] = {
        { "all", 0, ALL, "" },
        { "", 0, ALL, "" },
        { NULL, 0, ALL, "" },
        { "auto", 0, AUTO, "" },
        { "0", 0, 0, "" },
        { "12", 0, 12, "" },
        { "depth", 0, CTT_KEEP_DEPTH, "" },
        { "offload", 0, 2, "" },
        { "offload=1", 0, 1, "" },
        { "offload=", CTT_EINVAL, 0, "--keep: bad value 'offload='" },
        { "offload=0", CTT_EINVAL, 0, "--keep: bad value 'offload=0'" },
        { "offload=2x", CTT_EINVAL, 0, "--keep: bad value 'offload=2x'" },
        { "offloaded", CTT_EINVAL, 0, "--keep: bad value 'offloaded'" },
        { "some", CTT_EINVAL, 0, "--keep: bad value 'some'" },
        { "-1", CTT_EINVAL, 0, "--keep: bad value '-1'" },
        { "3x", CTT_EINVAL, 0, "--keep: bad value '3x'" },
        { "99999999999999999999", CTT_EINVAL, 0, "--keep: bad value" },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_train_cfg cfg = { .keep = cases[i].keep, .window = 3,
                                     .limits.memory = 4096 };
        struct ctt_memory m = { 0 };
        int rc = ctt_memory_parse(&cfg, &m);

        if (cases[i].code < 0) {
            ctt_check_refused(rc, cases[i].code, cases[i].say);
            continue;
        }
        CHECK_OK(rc);
        CU_ASSERT_EQUAL(m.keep, cases[i].kept);
        CU_ASSERT_EQUAL(m.bytes, 4096);
        CU_ASSERT_EQUAL(m.window, 3);
    }
}

/* What happens to windows that are not kept, and where they go. */
static void test_offload(void)
{
    static const struct {
        const char *keep, *device, *offload, *tmpdir, *out;
        enum ctt_rest rest;
        const char *folder;
    } cases[] = {
        { "2", "cpu", NULL, "/t", "o/m.h5", CTT_RECOMPUTED, "" },
        { "auto", "cpu", NULL, "/t", "o/m.h5", CTT_RECOMPUTED, "" },
        { "auto", "cpu", "d", "/t", "o/m.h5", CTT_CHEAPEST, "d" },
        { "auto", "cuda", NULL, "/t", "o/m.h5", CTT_CHEAPEST, "" },
        { "auto", "cuda", "d", "/t", "o/m.h5", CTT_CHEAPEST, "d" },
        { "offload", "cpu", "d", "/t", "o/m.h5", CTT_OFFLOADED, "d" },
        { "offload", "cpu", NULL, "/t", "o/m.h5", CTT_OFFLOADED, "/t" },
        { "offload", "cpu", NULL, "", "o/m.h5", CTT_OFFLOADED, "o" },
        { "offload", "cpu", NULL, NULL, "/o/p/m.h5", CTT_OFFLOADED, "/o/p" },
        { "offload", "cpu", NULL, NULL, "/m.h5", CTT_OFFLOADED, "/" },
        { "offload", "cpu", NULL, NULL, "m.h5", CTT_OFFLOADED, "." },
        { "offload", "cpu", NULL, NULL, NULL, CTT_OFFLOADED, "." },
        { "offload=3", "cuda", NULL, "/t", "o/m.h5", CTT_OFFLOADED, "" },
        { "offload", "cuda", "d", "/t", "o/m.h5", CTT_OFFLOADED, "d" },
    };
    const char *was = getenv("TMPDIR");
    char old[4096], wide[CTT_FOLDER + 1];
    struct ctt_train_cfg cfg = { .window = 2, .keep = "offload",
                                 .offload = wide };
    struct ctt_memory m = { 0 };

    snprintf(old, sizeof(old), "%s", was ? was : "");
    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_train_cfg c = { .window = 2, .keep = cases[i].keep,
            .device = cases[i].device, .offload = cases[i].offload,
            .out = cases[i].out };

        if (cases[i].tmpdir)
            setenv("TMPDIR", cases[i].tmpdir, 1);
        else
            unsetenv("TMPDIR");
        CHECK_OK(ctt_memory_parse(&c, &m));
        CU_ASSERT_EQUAL(m.rest, cases[i].rest);
        CU_ASSERT_STRING_EQUAL(m.folder, cases[i].folder);
    }
    setenv("TMPDIR", old, 1);
    memset(wide, 'x', CTT_FOLDER);
    wide[CTT_FOLDER] = '\0';
    ctt_check_refused(ctt_memory_parse(&cfg, &m), CTT_EINVAL,
                      "--offload: the name of the folder is too long");
}

/* Windows by default, without --window. */
static void test_default_window(void)
{
    struct ctt_train_cfg cfg = { .keep = "2" };
    struct ctt_memory m = { 0 };

    ctt_check_refused(ctt_memory_parse(&cfg, &m), CTT_EINVAL,
                      "--keep=2 requires --window");
    cfg.task = CTT_PREDICT;
    CHECK_OK(ctt_memory_parse(&cfg, &m));
    CU_ASSERT(m.keep == 2 && m.window == 4);
    cfg.keep = "all";
    CHECK_OK(ctt_memory_parse(&cfg, &m));
    CU_ASSERT_EQUAL(m.window, 4);
    cfg.keep = "auto";
    CHECK_OK(ctt_memory_parse(&cfg, &m));
    CU_ASSERT_EQUAL(m.window, 0);
    cfg.task = CTT_RECOGNISE;
    cfg.keep = "all";
    CHECK_OK(ctt_memory_parse(&cfg, &m));
    CU_ASSERT_EQUAL(m.window, 0);
}

static CU_TestInfo tests[] = {
    { "recomputed is kept", test_recomputed },
    { "windows are one clip", test_windows },
    { "poison", test_poison },
    { "shorter clips", test_shorter },
    { "channels kept", test_channels },
    { "auto", test_auto },
    { "auto and norms", test_auto_norms },
    { "no allocation", test_no_allocation },
    { "failing allocations", test_failing_allocations },
    { "refused", test_refused },
    { "settings", test_settings },
    { "where windows go", test_offload },
    { "default window", test_default_window },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "keep", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
