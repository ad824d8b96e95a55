/* SPDX-License-Identifier: Apache-2.0
 * test_choose.c: what a recipe chooses by time, by bytes and by rule, and what
 * it is left without choice. */
#include "tests/lib/check.h"
#include "tests/lib/machine.h"
#include "tests/lib/saved.h"
#include "tests/lib/small.h"
#include "compress/stage/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- pattern and type ---- */

static void test_by_time(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 0.8 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_recipe o = machine_recipe(CTT_AIM_MS);
    struct machine_result x = machine_run(machine_net, &o, &calls);
    struct ctt_choice *c = machine_row(&x, CTT_CHOICE_FORM, "block, int8");
    char s[512];

    CU_ASSERT(c->chosen && machine_says(&x, "chosen for speed: block, int8\n"));
    CU_ASSERT_DOUBLE_EQUAL(c->ms, 4 * 0.5 * 0.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_report_gain(x.r, c), 2.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(c->lost, 0, 1e-9);
    CU_ASSERT(c->bytes > 0);
    CU_ASSERT_EQUAL(x.r->choices, 4);
    CU_ASSERT_EQUAL(t.compared, 3);
    CU_ASSERT_DOUBLE_EQUAL(machine_row(&x, CTT_CHOICE_FORM, "any, floats")->ms,
                           4, 1e-9);
    CU_ASSERT(machine_bytes(x.m) > 0 && machine_in_blocks(x.m));
    CU_ASSERT_EQUAL(o.prune.form, CTT_PRUNE_AUTO);
    CHECK_OK(ctt_report_choice_cells(x.r, 4, s, sizeof(s)));
    CU_ASSERT(strstr(s, "block, int8") && strstr(s, "\t2.50x\t+0.0\tchosen"));
    CU_ASSERT_EQUAL(ctt_report_choice_cells(x.r, 5, s, sizeof(s)), 0);
    machine_end(&x);

    /* times that differ too much are measured, but not told */
    t.busy = 1;
    x = machine_run(machine_net, &o, &calls);
    for (int k = 1; k < 5; k++) {
        CHECK_OK(ctt_report_choice_cells(x.r, k, s, sizeof(s)));
        CU_ASSERT(strstr(s, "\tbusy\tbusy\t") != NULL);
    }
    machine_end(&x);

    /* a gain that is not worth it */
    t = (struct machine){ .int8 = 0.5, .blocks = 0.92 };
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT_STRING_EQUAL(machine_chosen(&x), "any, int8");
    machine_end(&x);
    t = (struct machine){ .int8 = 0.98, .blocks = 0.99 };
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT_STRING_EQUAL(machine_chosen(&x), "any, floats");
    CU_ASSERT(!machine_bytes(x.m) && !machine_in_blocks(x.m));
    CU_ASSERT(!machine_says(&x, "int8"));
    machine_end(&x);
}

/* Of the candidates that are measured, the chosen one is the best. */
static void test_by_bytes(void)
{
    struct machine t = { .int8 = 3, .blocks = 3 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_recipe o = machine_recipe(CTT_AIM_BYTES);
    struct machine_result x;
    const struct ctt_choice *best;

    calls.compare = NULL;
    x = machine_run(machine_net, &o, &calls);
    best = ctt_report_form(x.r);
    for (int i = 0; i < x.r->choices; i++) {
        CU_ASSERT(x.r->choice[i].bytes > 0 && isnan(x.r->choice[i].ms));
        CU_ASSERT((double)x.r->choice[i].bytes >=
                  CTT_CHOICE_BLOCK_GAIN * (double)best->bytes);
    }
    CU_ASSERT_EQUAL(machine_in_blocks(x.m), best->form == CTT_PRUNE_BLOCK);
    CU_ASSERT_EQUAL(machine_bytes(x.m) > 0, best->int8);
    machine_end(&x);

    /* much slower and a little smaller is no gain of both */
    calls.compare = machine_calls(&t).compare;
    o.aim = CTT_AIM_BOTH;
    o.prune.form = CTT_PRUNE_BLOCK;
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT_STRING_EQUAL(machine_chosen(&x), "block, floats");
    machine_end(&x);
}

/* What does not fit into the limit of memory is left out, and said. */
static void test_full(void)
{
    static const char says_so[] = " do not fit into the memory limit of ";
    struct machine t = { .int8 = 0.5, .blocks = 0.5, .chain = 1.5,
                         .no_blocks = 1 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_recipe o = machine_recipe(CTT_AIM_MS);
    struct machine_result x = machine_run(machine_net, &o, &calls);

    CU_ASSERT_STRING_EQUAL(machine_chosen(&x), "any, int8");
    CU_ASSERT_STRING_EQUAL("does not fit --memory", machine_row(&x,
                           CTT_CHOICE_FORM, "block, int8")->given_up);
    CU_ASSERT(strstr(t.said, "choices: block, int8 not tried: out of memory")
              && strstr(t.said, says_so));
    machine_end(&x);

    /* weights that may not be measured are what was asked */
    t = (struct machine){ .int8 = 1, .blocks = 1, .chain = 1.5,
                          .no_chains = 1 };
    o.tt = (struct ctt_tt){ .rank = 2, .except = "y" };
    o.int8.method = 0;
    o.prune.share = 0;
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT_EQUAL(machine_chains(x.m), 3);
    CU_ASSERT_EQUAL(x.r->choices, 1);
    CU_ASSERT(strstr(t.said, "choices: weights without tensor trains not tried")
              != NULL);
    machine_end(&x);
}

/* Without timing; what is not there to choose from. */
static void test_by_rule(void)
{
    enum { NO_EPOCHS = 1, NO_CLIPS = 2, NO_TEST = 4, HALF = 8, ANY = 16,
           FLOATS = 32, BYTES = 64, NO_PRUNE = 128, TRAINS = 256, SLOW = 512 };
    static const struct { int without; const char *chosen; } rows[] = {
        { 0, "block, int8" }, { NO_EPOCHS, "any, int8" },
        { NO_CLIPS, "any, floats" }, { NO_TEST, "any, floats" },
        { HALF, "any, floats" }, { ANY, "any, int8" },
        { FLOATS, "any, floats" }, { BYTES, "block, int8" },
        { NO_PRUNE, "floats" }, { TRAINS, "any, int8" },
        { SLOW, "any, floats" }, { SLOW | BYTES, "any, int8" },
    };
    struct machine t = { .int8 = 1 };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_recipe_calls calls = machine_calls(&t);
        struct ctt_recipe o = machine_recipe(CTT_AIM_BOTH);
        int without = rows[i].without;
        struct machine_result x;

        calls.compare = NULL;
        calls.slow_bytes = without & SLOW;
        o.epochs = without & NO_EPOCHS ? 0 : 2;
        if (without & NO_CLIPS)
            calls.sample = NULL;
        if (without & NO_TEST)
            calls.accuracy = NULL;
        o.round.half = without & HALF;
        o.prune.form = without & ANY ? CTT_PRUNE_ANY : CTT_PRUNE_AUTO;
        o.int8.method = without & FLOATS ? 0 : without & BYTES ? 1
                        : CTT_INT8_AUTO;
        o.tt.rank = without & TRAINS ? 2 : 0;
        o.prune.share = without & NO_PRUNE ? 0 : 0.8f;
        x = machine_run(machine_net, &o, &calls);
        if (strcmp(machine_chosen(&x), rows[i].chosen) != 0)
            printf("\n    %zu: %s", i, machine_chosen(&x));
        CU_ASSERT_STRING_EQUAL(machine_chosen(&x), rows[i].chosen);
        CU_ASSERT_EQUAL(machine_bytes(x.m) > 0,
                        strstr(rows[i].chosen, "int8") != NULL);
        CU_ASSERT_EQUAL(machine_in_blocks(x.m),
                        strstr(rows[i].chosen, "block") != NULL);
        CU_ASSERT_EQUAL(machine_says(&x, "chosen by rule"), x.r->choices > 1);
        machine_end(&x);
    }
}

/* ---- tensor trains ---- */

static void check_chains(struct machine *t, int aim, int want)
{
    struct ctt_recipe_calls calls = machine_calls(t);
    struct ctt_recipe o = machine_recipe(aim);
    struct machine_result x;

    o.tt = (struct ctt_tt){ .rank = 2, .except = "y" };
    o.prune.share = 0;
    o.int8.method = 0;
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT_EQUAL(machine_chains(x.m), want);
    CU_ASSERT_DOUBLE_EQUAL(machine_row(&x, "all weights", "whole")->ms, 4,
                           1e-9);
    CU_ASSERT(machine_row(&x, "all weights", "tensor trains")->bytes <
              machine_row(&x, "all weights", "whole")->bytes);
    CU_ASSERT_EQUAL(machine_says(&x, "; no tensor trains of a, h.zx, h.z\n"),
                    want == 0);
    CU_ASSERT_EQUAL(machine_row(&x, "all weights", "tensor trains")->chosen,
                    want > 0);
    CU_ASSERT_EQUAL(machine_row(&x, "all weights", "whole")->chosen, want == 0);
    if (!want) {
        CU_ASSERT(machine_row(&x, "a", "whole")->chosen);
        CU_ASSERT(!machine_row(&x, "a", "tensor trains")->chosen);
        CU_ASSERT(strstr(x.r->weight[0].reason, "whole: 0.67 of the time and ")
                  == x.r->weight[0].reason);
        CU_ASSERT_EQUAL(x.r->weight[0].cores, 1);
    }
    /* only for time, single weights are timed */
    CU_ASSERT_EQUAL(x.r->choices > 3, aim == CTT_AIM_MS);
    machine_end(&x);
}

static void test_chains(void)
{
    struct machine fast = { .chain = 0.5 }, slow = { .chain = 1.5 };

    check_chains(&fast, CTT_AIM_MS, 3);
    check_chains(&slow, CTT_AIM_BYTES, 3);    /* they are smaller */
    check_chains(&slow, CTT_AIM_BOTH, 3);
    check_chains(&slow, CTT_AIM_MS, 0);
}

/* Every step-th allocation fails, or, with 0, some; in comparisons too. */
static void check_alloc(const char *text, struct ctt_recipe o, long step)
{
    struct machine t = { .int8 = 0.5, .blocks = 0.8, .chain = 1.5 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_model *m = small_model(text, 5);
    int rc = CTT_ENOMEM;

    remove(saved_path);
    for (long k = 1; rc < 0; k += step ? step : 1 + k / 8) {
        struct ctt_recipe chosen = o;
        struct ctt_walk w = { .stages = ctt_stages, .o = &chosen,
                              .calls = &calls, .m = &m, .path = saved_path };

        if (!ctt_check_tries())
            continue;
        CHECK_OK(ctt_report_new(m, &w.r));
        t.compared = 0;
        ctt_fail_alloc(k);
        rc = ctt_choose(&w, &chosen);
        ctt_fail_alloc(0);
        CU_ASSERT(rc >= 0 || rc == CTT_ENOMEM || strstr(ctt_errmsg(),
                                                        "memory") != NULL);
        ctt_report_free(&w.r);
        CU_ASSERT_EQUAL(access(saved_path, F_OK), -1);
    }
    CU_ASSERT(t.compared > 0);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_alloc(void)
{
    struct ctt_recipe o = machine_recipe(CTT_AIM_MS);

    o.int8.method = 0;
    check_alloc("input x h=2 w=2 c=4\nconv a in=x out=8\n"
                "pool p in=a kind=avg\nconv y in=p out=2\n", o, 1);
    o = machine_recipe(CTT_AIM_MS);
    o.tt = (struct ctt_tt){ .rank = 2, .except = "y" };
    check_alloc(machine_net, o, 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "pattern and type by time", test_by_time },
        { "by bytes", test_by_bytes },
        { "by rule", test_by_rule },
        { "memory", test_full },
        { "weights that are no tensor trains", test_chains },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "choices", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    if (saved_start() != 0)
        return 99;
    return saved_end(ctt_check_main(suites));
}
