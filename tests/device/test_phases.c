/* SPDX-License-Identifier: Apache-2.0
 * test_phases.c: deconvs of the runtime as a conv for each phase: the results
 * of direct sums in plain C, into views too, and the same bits for any number
 * of threads. */
#include "device/cpu/features.h"
#include "tests/lib/check.h"
#include "tests/lib/rig.h"

#include <stdio.h>
#include <string.h>

/* taken: by the provider "phases". */
static const struct { struct ctt_case of; int taken; } cases[] = {
    { { "c=32 h=8 w=8", NULL, "deconv y in=a out=16 kernel=4 stride=2 pad=1",
        1 }, 1 },
    { { "c=3 h=5 w=7", NULL, "deconv y in=a out=2 kernel=2 stride=2", 1 }, 1 },
    { { "c=17 h=9 w=4", NULL, "deconv y in=a out=70 kernel=3 stride=1 pad=1 "
        "bias=0", 1 }, 1 },
    { { "c=5 h=3 w=33", NULL, "deconv y in=a out=33 kernel=1,5,7 "
        "stride=1,1,3 pad=0,2,2", 1 }, 1 },
    { { "c=8 h=6 w=6", NULL, "deconv y in=a out=24 kernel=1,4,8 "
        "stride=1,2,4 pad=0,1,2", 1 }, 1 },
    { { "c=40 h=40 w=40", NULL, "deconv y in=a out=20 kernel=6 stride=2 pad=2",
        1 }, 1 },
    { { "c=8 h=6 w=6", NULL, "deconv y in=a out=4 kernel=3 stride=2", 1 }, 0 },
    { { "c=8 h=6 w=6", NULL, "deconv y in=a out=4 kernel=1 stride=1 pad=1",
        1 }, 0 },
    { { "c=4 d=3 h=4 w=4", NULL, "deconv y in=a out=4 kernel=2 stride=2", 1 },
      0 },
};

static const int threads[] = { 1, 2, 3 };
static struct ctt_dev *dev[CTT_LEN(threads)], *plain;

static void run(struct ctt_dev *d, struct ctt_rig *r, const struct ctt_case *cs,
                int n, int flags, int act)
{
    ctt_rig_open(r, cs, n, flags, act);
    r->call.stamp = 1;
    for (int again = 0; again < 2; again++) {    /* packed; kept */
        ctt_rig_reset(r, flags);
        CHECK_OK(ctt_dev_run(d, &r->call, CTT_FWD));
    }
}

static void check(const struct ctt_case *cs, int taken, int n, int flags,
                  int act)
{
    struct ctt_rig want, one, many;
    int phases;

    run(plain, &want, cs, n, flags, act);
    run(dev[0], &one, cs, n, flags, act);
    phases = strncmp(ctt_dev_impl(dev[0], one.cache, CTT_FWD), "phases", 6);
    CU_ASSERT_EQUAL(phases == 0, taken);
    CU_ASSERT(ctt_rig_close_to(&one.call.out, &want.call.out, 2e-5, "out", cs));
    for (size_t i = 1; i < CTT_LEN(threads); i++) {
        run(dev[i], &many, cs, n, flags, act);
        CU_ASSERT(!taken || ctt_rig_close_to(&many.call.out, &one.call.out, 0,
                                             "out", cs));
        ctt_rig_close(&many, dev[i]);
    }
    ctt_rig_close(&want, plain);
    ctt_rig_close(&one, dev[0]);
}

static void test_all(void)
{
    static const int acts[] = { 0, CTT_ACT_RELU + 1, CTT_ACT_TANH + 1 };

    for (size_t i = 0; i < CTT_LEN(cases); i++)
        for (size_t k = 0; k < CTT_LEN(acts); k++) {
            check(&cases[i].of, cases[i].taken, 1, 0, acts[k]);
            check(&cases[i].of, cases[i].taken, 3, RIG_VIEW, acts[k]);
        }
}

static CU_TestInfo tests[] = { { "all", test_all }, CU_TEST_INFO_NULL };

static int open_all(void)
{
    int rc = ctt_dev_open("ref", 1, &plain);

    for (size_t i = 0; i < CTT_LEN(threads) && rc >= 0; i++)
        rc = ctt_dev_open("cpu", threads[i], &dev[i]);
    return rc;
}

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "phases", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (!ctt_has_avx2())
        return CTT_SKIP;
    rc = open_all() < 0 ? 99 : ctt_check_main(suites);
    for (size_t i = 0; i < CTT_LEN(threads); i++)
        ctt_dev_close(&dev[i]);
    ctt_dev_close(&plain);
    return rc;
}
