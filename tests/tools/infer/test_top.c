/* SPDX-License-Identifier: Apache-2.0
 * test_top.c: the largest of many numbers, against sorting; a million in
 * order, for which sorting by insertion takes hours. */
#include "tools/shared/measure.h"
#include "base/random.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdlib.h>

enum { MANY = 1 << 20 };

static const float *sorted_by;

static int compare(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    float x = sorted_by[i], y = sorted_by[j];

    if (isnan(x) != isnan(y))
        return isnan(x) ? 1 : -1;
    if (x != y && !isnan(x))
        return x > y ? -1 : 1;
    return i - j;
}

static void test_sorting(void)
{
    for (int n = 1; n <= 40; n++) {
        float x[40];
        int want[40], got[40];
        for (int i = 0; i < n; i++) {
            uint32_t r = ctt_random((uint64_t)n, (uint64_t)i);
            x[i] = r % 7 == 0 ? NAN : (float)(r % 11);    /* many are equal */
            want[i] = i;
        }
        sorted_by = x;
        qsort(want, (size_t)n, sizeof(*want), compare);
        for (int k = 0; k <= n; k++) {
            ctt_top(x, n, got, k);
            for (int i = 0; i < k; i++)
                CU_ASSERT_EQUAL(got[i], want[i]);
        }
    }
}

static void test_many(void)
{
    float *x = ctt_calloc(MANY, sizeof(*x));
    int *order = ctt_calloc(MANY, sizeof(*order));
    int wrong = 0;

    CU_ASSERT_FATAL(x && order);
    for (int rising = 0; rising < 2; rising++) {
        for (int i = 0; i < MANY; i++)
            x[i] = (float)(rising ? i : MANY - i);
        ctt_top(x, MANY, order, MANY);
        for (int i = 0; i < MANY; i++)
            wrong += order[i] != (rising ? MANY - 1 - i : i);
        ctt_top(x, MANY, order, 5);
        for (int i = 0; i < 5; i++)
            wrong += order[i] != (rising ? MANY - 1 - i : i);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    ctt_free(x);
    ctt_free(order);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "sorting", test_sorting }, { "many", test_many },
        CU_TEST_INFO_NULL };
    static CU_SuiteInfo suites[] = {
        { "top", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL };

    return ctt_check_main(suites);
}
