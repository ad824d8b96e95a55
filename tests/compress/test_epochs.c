/* SPDX-License-Identifier: Apache-2.0
 * test_epochs.c: the epochs of the rounds of a recipe, and what is left of
 * them. */
#include "tests/lib/check.h"
#include "compress/stage.h"

static void test_epochs(void)
{
    for (int k = 0; k < 30 * 2 * 6; k++) {
        struct ctt_recipe o = { .tt = { .rank = k / 6 % 2 * 8 },
                                .prune = { .share = k % 6 ? 0.5f : 0,
                                           .rounds = k % 6 - 1 },
                                .epochs = k / 12 };
        int mine = !(k % 6) ? 0 : k % 6 > 1 ? k % 6 - 1 : 1;
        int stages = (o.tt.rank > 0) + mine, sum = 0;

        for (int i = 0; i < stages; i++) {
            int e = ctt_recipe_epochs(&o, i);
            CU_ASSERT(e >= 0);
            sum += e;
        }
        CU_ASSERT_EQUAL(sum, stages ? o.epochs : 0);
        if (o.prune.rounds > 1)
            CU_ASSERT(ctt_recipe_epochs(&o, stages - 1) >= o.epochs / 3);
        /* what is shipped is retrained, however few epochs there are */
        if (stages && o.epochs)
            CU_ASSERT(ctt_recipe_epochs(&o, stages - 1) > 0);
    }
}

/* Of four rounds, and of the last that is repeated until 40 epochs. */
static void test_spans(void)
{
    struct ctt_recipe o = { .tt = { .rank = 8 }, .epochs = 12, .limit = 40,
                            .prune = { .share = 0.5f, .rounds = 3 } };
    static const int64_t done[] = { 12, 24 }, now[] = { 12, 16 };
    struct ctt_epochs s, last = { .done = 0 };

    for (int i = 0; i < 4; i++) {
        s = ctt_epochs_at(&o, i, 1);
        CU_ASSERT_EQUAL(s.done, last.done + last.now);
        CU_ASSERT_EQUAL(s.done + s.now + s.later, 12);
        CU_ASSERT_EQUAL(s.now, ctt_recipe_epochs(&o, i));
        CU_ASSERT_EQUAL(s.most, 0);
        last = s;
    }
    CU_ASSERT_EQUAL(s.later, 0);
    o.automatic = 1;
    for (int n = 2; n < 4; n++) {
        s = ctt_epochs_at(&o, 3, n);
        CU_ASSERT_EQUAL(s.done, done[n - 2]);
        CU_ASSERT_EQUAL(s.now, now[n - 2]);
        CU_ASSERT_EQUAL(s.later, 0);
        CU_ASSERT_EQUAL(s.most, 40);
    }
}

/* One retraining is repeated: the last one before sharing, which has epochs of
 * its own, or that of sharing if there is no other. */
static void test_last(void)
{
    struct ctt_recipe o = { .prune = { .share = 0.5f, .rounds = 2 },
                            .share = { .bits = "3", .epochs = 2 },
                            .epochs = 12, .automatic = 1, .limit = 40 };
    int prune, share = ctt_recipe_rounds(&o) - 1;

    prune = share - 1;
    CU_ASSERT_EQUAL(ctt_recipe_epochs(&o, share), 2);
    CU_ASSERT_EQUAL(ctt_recipe_last(&o), prune);
    CU_ASSERT_EQUAL(ctt_epochs_at(&o, prune, 1).most, 42);
    CU_ASSERT_EQUAL(ctt_epochs_at(&o, share, 1).most, 0);
    o.prune.share = 0;
    CU_ASSERT_EQUAL(ctt_recipe_last(&o), 0);
    o.share.bits = "";
    CU_ASSERT_EQUAL(ctt_recipe_last(&o), -1);
}

static void test_text(void)
{
    static const struct { struct ctt_epochs s; double part; const char *is; }
    texts[] = {
        { { .done = 0 }, 0, "" },
        { { .now = 4, .later = 8 }, 0, "; epoch 1 of 12 in all" },
        { { .done = 2, .now = 4, .later = 6, .each = 10 }, 1.5,
          "; epoch 4 of 12 in all" },
        { { .done = 2, .now = 10, .each = 10, .most = 96 }, 10,
          "; epoch 12 of 12 in all (at most 96)" },
        { { .done = 90, .now = 6, .most = 96 }, 3,
          "; epoch 94 of 96 in all" },
    };
    char text[128];

    for (size_t i = 0; i < CTT_LEN(texts); i++)
        CU_ASSERT_STRING_EQUAL(
            ctt_epochs_text(&texts[i].s, texts[i].part, text, sizeof(text)),
            texts[i].is);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "epochs", test_epochs },
        { "what is left", test_spans },
        { "the last retraining", test_last },
        { "in words", test_text },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "span", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
