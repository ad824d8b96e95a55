/* SPDX-License-Identifier: Apache-2.0
 * test_retrain.c: how long convtt-compress retrains, and at which learning
 * rates: what is asked, and what the history of a model tells. */
#include "tests/lib/check.h"
#include "tools/compress/compress_tool.h"

#include <string.h>

/* ---- epochs ---- */

static void test_epochs(void)
{
    static const struct { const char *text; int data, epochs, automatic; }
    good[] = {
        { NULL, 1, 12, 1 }, { "", 1, 12, 1 }, { NULL, 0, 0, 0 },
        { "0", 1, 0, 0 }, { "0", 0, 0, 0 }, { "100000", 1, 100000, 0 },
        { "auto", 1, 12, 1 },
    };
    static const struct { const char *text; int data, limit; const char *says; }
    bad[] = {
        { "auto", 0, 96, "auto requires --data" },
        { "3", 0, 96, "3 requires --data" },
        { "auto", 1, 11, "auto begins with 12" },
        { "100001", 1, 96, "bad value" }, { "-1", 1, 96, "bad value" },
        { "99999999999999999999", 1, 96, "bad value" },
        { "nan", 1, 96, "bad value" }, { "3x", 1, 96, "bad value" },
        { "autos", 1, 96, "bad value" },
    };
    struct ctt_recipe o = { .limit = 96 };

    for (size_t i = 0; i < CTT_LEN(good); i++) {
        CHECK_OK(ctt_retrain_epochs(good[i].text, good[i].data, &o));
        CU_ASSERT_EQUAL(o.epochs, good[i].epochs);
        CU_ASSERT_EQUAL(o.automatic, good[i].automatic);
    }
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        o.limit = bad[i].limit;
        CU_ASSERT_EQUAL(ctt_retrain_epochs(bad[i].text, bad[i].data, &o),
                        CTT_EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), bad[i].says));
    }
}

/* ---- learning rates ---- */

static struct ctt_train_cfg defaults(void)
{
    struct ctt_train_cfg c;

    memset(&c, 0, sizeof(c));
    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &c));
    return c;
}

static int rewind_to(const char *history, struct ctt_train_cfg *c)
{
    char text[512];
    struct ctt_model m = { .history = NULL };

    if (history) {
        snprintf(text, sizeof(text), "%s", history);
        m.history = text;
    }
    *c = defaults();
    return ctt_retrain_rewind(&m, c);
}

static void test_history(void)
{
    struct ctt_train_cfg c;

    CHECK_OK(rewind_to("train clips=5 epochs=3 lr=0.5\n"
                       "pruned: epochs=99\n"
                       "train clips=5 steps=9 epochs=40 lr=0.01 warmup=2 "
                       "schedule=step step-epochs=7 val_top1=0.5\n"
                       "rounded: 8 significant bits\n", &c));
    CU_ASSERT_EQUAL(c.wiring.last_of, 40);
    CU_ASSERT_DOUBLE_EQUAL(c.lr, 0.01, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(c.warmup, 2, 1e-7);
    CU_ASSERT_EQUAL(c.schedule, CTT_STEPS);
    CU_ASSERT_EQUAL(c.step_epochs, 7);
    CHECK_OK(rewind_to("train epochs=1", &c));
    CU_ASSERT_EQUAL(c.wiring.last_of, 1);
    CU_ASSERT_DOUBLE_EQUAL(c.lr, 0.001, 1e-7);
}

/* A history is a text of a file. */
static void test_bad_history(void)
{
    static const char *const none[] = {
        NULL, "", "\n\n", "trained for epochs=3\n", "train\n", "train \n",
        "train clips=3\n", "train epochs=\n", "train epochs=0\n",
        "train epochs=-3\n", "train epochs=x\n", "train epochs=100001\n",
        "train epochs=3000000000\n", "train epochs=9999999999999999999999\n",
        "train clips=3\nepochs=5\n", "train epochs=5x lr=1\n",
    };
    struct ctt_train_cfg c;

    for (size_t i = 0; i < CTT_LEN(none); i++) {
        CU_ASSERT_EQUAL(rewind_to(none[i], &c), CTT_EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(),
                                      "the model's history has no training"));
    }
    CU_ASSERT_EQUAL(rewind_to("train epochs=3 lr=nan\n", &c), CTT_EINVAL);
    CU_ASSERT_EQUAL(rewind_to("train epochs=3 schedule=none\n", &c),
                    CTT_EINVAL);
}

/* What the user asks for and the history tells cannot both hold. */
static void test_given(void)
{
    char history[] = "train epochs=3 lr=0.01\n";
    struct ctt_model m = { .history = history };
    struct ctt_train_cfg c = defaults();

    c.gamma = 0.5f;
    CU_ASSERT_EQUAL(ctt_retrain_rewind(&m, &c), CTT_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "--gamma: "));
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "epochs", test_epochs },
        { "rates of a history", test_history },
        { "bad histories", test_bad_history },
        { "rates that are given", test_given },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "retraining", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
