/* SPDX-License-Identifier: Apache-2.0
 * test_ratios.c: ratios of times that agree, and those of a busy machine. */
#include "tests/lib/check.h"
#include "tools/bench/bench_tool.h"

static int steady(const double *x, int n)
{
    struct ctt_times t = { NULL, 0, 0 };
    int is;

    for (int i = 0; i < n; i++)
        CHECK_OK(ctt_times_add(&t, x[i]));
    is = ctt_ratios_steady(&t);
    ctt_free(t.ms);
    return is;
}

static void test_steady(void)
{
    static const double calm[] = { 2, 2.1, 2, 1.9, 2, 2.1, 2, 1.9 };
    static const double peak[] = { 2, 2.1, 40, 1.9, 2, 2.1, 0.1, 1.9 };
    static const double wide[] = { 2, 3, 2, 3, 2, 3, 2, 3 };
    static const double half[] = { 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 2 };
    static const double drift[] = { 70, 71, 72, 73, 88, 89, 90, 91 };

    CU_ASSERT_EQUAL(steady(calm, CTT_LEN(calm)), 1);
    CU_ASSERT_EQUAL(steady(peak, CTT_LEN(peak)), 1);    /* medians hold */
    CU_ASSERT_EQUAL(steady(wide, CTT_LEN(wide)), 0);
    CU_ASSERT_EQUAL(steady(half, CTT_LEN(half)), 0);
    CU_ASSERT_EQUAL(steady(drift, CTT_LEN(drift)), 0);
    CU_ASSERT_EQUAL(steady(calm, 1), 1);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "steady", test_steady }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "ratios", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return ctt_check_main(suites);
}
