/* SPDX-License-Identifier: Apache-2.0
 * test_stats.c: intervals and tests of accuracy, and entropy, against known
 * values. */
#include "base/statistics/statistics.h"
#include "compress/report.h"
#include "tests/lib/check.h"

#include <math.h>

/* Newcombe, "Two-sided confidence intervals for the single proportion",
 * Statistics in Medicine 17 (1998), table I, method 3. */
static void test_wilson(void)
{
    static const struct { int right, of; double low, high; } known[] = {
        { 81, 263, 0.2553, 0.3662 },
        { 15, 148, 0.0624, 0.1605 },
        { 0, 20, 0, 0.1611 },
        { 1, 29, 0.0061, 0.1718 },
    };
    double x[2];

    for (size_t i = 0; i < CTT_LEN(known); i++) {
        ctt_wilson((double)known[i].right / known[i].of, known[i].of, x);
        CU_ASSERT_DOUBLE_EQUAL(x[0], known[i].low, 5e-5);
        CU_ASSERT_DOUBLE_EQUAL(x[1], known[i].high, 5e-5);
        ctt_wilson(1 - (double)known[i].right / known[i].of, known[i].of, x);
        CU_ASSERT_DOUBLE_EQUAL(1 - x[1], known[i].low, 5e-5);
    }
    ctt_wilson(0, 0, x);
    CU_ASSERT(x[0] == 0 && x[1] == 1);
}

/* 2 sum C(n, i) / 2^n in whole numbers of any size (Python's fractions). */
static void test_mcnemar(void)
{
    static const struct { int64_t lost, won; double p; } known[] = {
        { 0, 0, 1 }, { 1, 0, 1 }, { 7, 7, 1 }, { 0, 5, 0.0625 },
        { 5, 15, 0.04138946533203125 }, { 10, 3, 0.09228515625 },
        { 1, 9, 0.021484375 }, { 59, 6, 4.964650327128617e-12 },
        { 4900, 5100, 0.04658552770494739 },
        { 5300, 4700, 2.0760336959207247e-09 },
        { 9, 900, 5.2381412010222006e-253 },
    };

    for (size_t i = 0; i < CTT_LEN(known); i++)
        CU_ASSERT_DOUBLE_EQUAL(ctt_mcnemar(known[i].lost, known[i].won) /
                               known[i].p, 1, 1e-9);
    CU_ASSERT(ctt_mcnemar(0, 1000000) == 0);
    for (int lost = 1; lost < 60; lost++)
        CU_ASSERT((ctt_mcnemar(lost, 0) < 0.05) ==
                  (lost / 60.0 > ctt_mcnemar_least(60) - 1e-9));
    CU_ASSERT(ctt_mcnemar_least(3) == 1);
}

/* Two values of one bit, four of two; gaps 0 and 3, half of each. */
static void test_entropy(void)
{
    static float two[] = { 1, -1, 1, -1, 1, -1, 1, -1 };
    static float four[] = { 1, 0, 0, 0, 2, 3, 0, 0, 0, 4 };
    static const uint8_t keep[] = { 1, 0, 0, 0, 1, 1, 0, 0, 0, 1 };
    struct ctt_weight w = { .t = { .n = 1, .d = 1, .h = 1, .w = 1, .c = 8,
                                   .ld = 8, .data = two } };
    struct ctt_entropy e;

    CHECK_OK(ctt_entropy(&w, &e));
    CU_ASSERT_EQUAL(e.values, 2);
    CU_ASSERT_DOUBLE_EQUAL(e.value_bits, 8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(e.gap_bits, 0, 1e-12);
    w.t.c = w.t.ld = 10;
    w.t.data = four;
    w.keep = keep;
    CHECK_OK(ctt_entropy(&w, &e));
    CU_ASSERT_EQUAL(e.values, 4);
    CU_ASSERT_DOUBLE_EQUAL(e.value_bits, 8, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(e.gap_bits, 4, 1e-12);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "confidence intervals", test_wilson },
        { "paired test", test_mcnemar },
        { "entropy", test_entropy },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "statistics", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
