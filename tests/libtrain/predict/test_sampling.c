/* SPDX-License-Identifier: Apache-2.0
 * test_sampling.c: scheduled sampling: which frames are true, when sampling
 * begins, and the decrease of the learning rate. */
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"
#include "tests/lib/check.h"

enum { WIDE = 50, LONG = 40, FROM = 10 };

static void masks_are_drawn(void)
{
    static float a[LONG * WIDE], b[LONG * WIDE];
    int clip[WIDE], back[WIDE], none = 0, same = 1;
    struct ctt_batch batch = { .n = WIDE, .clip = clip };
    struct ctt_turn t = { .batch = &batch, .seed = 4, .step = 7,
                          .truth = 0.3 };

    for (int j = 0; j < WIDE; j++) {
        clip[j] = 3 * j;
        back[j] = 3 * (WIDE - 1 - j);
    }
    CU_ASSERT_EQUAL(ctt_sampling_draw(&t, FROM, LONG, a), FROM);
    for (int k = 0; k < LONG * WIDE; k++) {
        CU_ASSERT(a[k] == 1 || (a[k] == 0 && k / WIDE >= FROM));
        none += a[k] == 0;
    }
    CU_ASSERT_DOUBLE_EQUAL((double)none / ((LONG - FROM) * WIDE), 0.7, 0.04);
    batch.clip = back;    /* independent of the place in the batch */
    ctt_sampling_draw(&t, FROM, LONG, b);
    for (int k = 0; k < LONG * WIDE; k++)
        CU_ASSERT(b[k] == a[k / WIDE * WIDE + WIDE - 1 - k % WIDE]);
    batch.clip = clip;
    t.step++;
    ctt_sampling_draw(&t, FROM, LONG, b);
    for (int k = 0; k < LONG * WIDE; k++)
        same &= b[k] == a[k];
    CU_ASSERT(!same);
    t.truth = 1;
    CU_ASSERT_EQUAL(ctt_sampling_draw(&t, FROM, LONG, a), LONG);
    t.truth = 0;
    clip[2] = -1;
    ctt_sampling_draw(&t, FROM, LONG, a);
    for (int k = 0; k < LONG * WIDE; k++)
        CU_ASSERT(a[k] == (float)(k / WIDE < FROM || k % WIDE == 2));
}

static void sampling_begins(void)
{
    static const char *const bad[] = { "soon", "-1", "", "3x", "nan" };
    struct ctt_train_cfg c = { .sampling_patience = 2, .sampling_decay = 0.1f };
    struct ctt_sampling s;

    ctt_sampling_begin(&c, 20, &s);    /* auto */
    CU_ASSERT(s.start == -1 && ctt_sampling_truth(&c, &s, 900, 20) == 1);
    CU_ASSERT(!ctt_sampling_tested(&c, 0.5, 20, &s));
    CU_ASSERT(!ctt_sampling_tested(&c, 0.6, 40, &s));
    CU_ASSERT(!ctt_sampling_tested(&c, 0.4, 60, &s));
    CU_ASSERT(!ctt_sampling_tested(&c, 0.4, 80, &s));
    CU_ASSERT(ctt_sampling_tested(&c, 0.45, 100, &s) && s.start == 100);
    CU_ASSERT(s.stalled == 0 && s.falls == -1);
    CU_ASSERT(!ctt_sampling_tested(&c, 0.45, 120, &s) && s.start == 100);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 100, 20), 1);
    CU_ASSERT_DOUBLE_EQUAL(ctt_sampling_truth(&c, &s, 130, 20), 0.85, 1e-7);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 1000, 20), 0);
    CU_ASSERT(!ctt_sampling_tested(&c, 0.39, 140, &s));    /* better */
    CU_ASSERT(!ctt_sampling_tested(&c, 0.39, 160, &s) && s.falls == -1);
    CU_ASSERT(ctt_sampling_tested(&c, 0.5, 180, &s));
    CU_ASSERT(s.start == 100 && s.falls == 180);
    for (int k = 10; k < 20; k++)
        CU_ASSERT(!ctt_sampling_tested(&c, 1, 20 * k, &s) && s.falls == 180);
    c.sampling_start = "2.5";
    CHECK_OK(ctt_sampling_check(&c));
    ctt_sampling_begin(&c, 20, &s);
    CU_ASSERT_EQUAL(s.start, 50);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 50, 20), 1);
    CU_ASSERT(ctt_sampling_truth(&c, &s, 51, 20) < 1);
    for (int k = 1; k < 4; k++)    /* only those behind the start count */
        CU_ASSERT(!ctt_sampling_tested(&c, 1, 20 * k, &s));
    CU_ASSERT(ctt_sampling_tested(&c, 1, 80, &s) && s.falls == 80);
    c.sampling_start = "off";
    CHECK_OK(ctt_sampling_check(&c));
    ctt_sampling_begin(&c, 20, &s);
    for (int k = 0; k < 9; k++)
        CU_ASSERT(!ctt_sampling_tested(&c, 1, 20 * k, &s) && s.falls == -1);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 900, 20), 1);
    for (size_t k = 0; k < CTT_LEN(bad); k++) {
        c.sampling_start = bad[k];
        CU_ASSERT_EQUAL(ctt_sampling_check(&c), CTT_EINVAL);
    }
}

/* The rate decreases every few epochs after the loss stalls again. */
static void rate_falls_while_sampling(void)
{
    struct ctt_train_cfg c = { .lr = 1, .schedule = CTT_SAMPLED,
                               .gamma = 0.98f, .step_epochs = 5 };

    CU_ASSERT_EQUAL(ctt_lr(&c, 500, 1000, 10, -1), 1);
    CU_ASSERT_EQUAL(ctt_lr(&c, 149, 1000, 10, 100), 1);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 150, 1000, 10, 100), 0.98, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 200, 1000, 10, 100), 0.98 * 0.98, 1e-6);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "masks are drawn", masks_are_drawn },
        { "sampling begins", sampling_begins },
        { "the rate falls while sampling", rate_falls_while_sampling },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "sampling", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
