/* SPDX-License-Identifier: Apache-2.0
 * test_names.c: the table that finds names, with many of them. */
#include "tests/lib/check.h"
#include "video/list/names.h"

#include <stdio.h>

static void test_many(void)
{
    struct ctt_names n = { 0 };
    char name[16];
    int lost = 0;

    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "%d", i * 7);
        lost += ctt_names_add(&n, name) != i;
    }
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "%d", i * 7);
        lost += ctt_names_find(&n, name) != i || ctt_names_add(&n, name) != i;
    }
    CU_ASSERT_EQUAL(lost, 0);
    CU_ASSERT_EQUAL(ctt_names_find(&n, "1"), -1);
    ctt_names_clear(&n);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "many names", test_many }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "names", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return ctt_check_main(suites);
}
