/* SPDX-License-Identifier: Apache-2.0
 * cunit.c: the part of CUnit used by tests of kernels: runs a table of tests
 * and counts failures. */
#include "tests/lib/bare/CUnit/Basic.h"

#include <stdlib.h>

static CU_SuiteInfo *all;
static unsigned asserts, failures;

int CU_assertImplementation(int value, unsigned line, const char *condition,
                            const char *file, const char *function, int fatal)
{
    (void)function;
    asserts++;
    if (value)
        return 1;
    failures++;
    printf("\n    %u. %s:%u  - %s", failures, file, line, condition);
    if (fatal) {
        puts("");
        exit(1);
    }
    return 0;
}

int CU_initialize_registry(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    return CUE_SUCCESS;
}

int CU_register_suites(CU_SuiteInfo *suites)
{
    all = suites;
    return CUE_SUCCESS;
}

void CU_basic_set_mode(int mode)
{
    (void)mode;
}

int CU_basic_run_tests(void)
{
    for (CU_SuiteInfo *s = all; s->pName; s++)
        for (CU_TestInfo *t = s->pTests; t->pName; t++) {
            printf("%s: %s ...", s->pName, t->pName);
            t->pTestFunc();
            puts("");
        }
    printf("%u asserts, %u failed\n", asserts, failures);
    return CUE_SUCCESS;
}

unsigned CU_get_number_of_failures(void)
{
    return failures;
}

void CU_cleanup_registry(void)
{
    all = NULL;
}
