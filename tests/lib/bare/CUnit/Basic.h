/* SPDX-License-Identifier: Apache-2.0
 * Basic.h: the part of CUnit used by tests of kernels, for processors without a
 * CUnit package (tests/device/test_arm.sh). */
#ifndef CTT_BARE_CUNIT_H
#define CTT_BARE_CUNIT_H

#include <stdio.h>

struct ctt_bare_test {
    const char *pName;
    void      (*pTestFunc)(void);
};
struct ctt_bare_suite {
    const char           *pName;
    struct ctt_bare_test *pTests;
};
#define CU_TestInfo struct ctt_bare_test
#define CU_SuiteInfo struct ctt_bare_suite
#define CU_TEST_INFO_NULL { NULL, NULL }
#define CU_SUITE_INFO_NULL { NULL, NULL }

enum { CUE_SUCCESS, CU_BRM_VERBOSE, CU_FALSE = 0, CU_TRUE = 1 };

/* Notes a failure and returns 0 if value is 0; a fatal one ends the program. */
int CU_assertImplementation(int value, unsigned line, const char *condition,
                            const char *file, const char *function, int fatal);

#define CU_CHECK(x, fatal) \
    CU_assertImplementation(!!(x), __LINE__, #x, __FILE__, "", fatal)
#define CU_ASSERT(x)                   CU_CHECK(x, CU_FALSE)
#define CU_ASSERT_FATAL(x)             CU_CHECK(x, CU_TRUE)
#define CU_ASSERT_EQUAL(a, b)          CU_CHECK((a) == (b), CU_FALSE)
#define CU_ASSERT_PTR_EQUAL(a, b)      CU_CHECK((a) == (b), CU_FALSE)
#define CU_ASSERT_PTR_NOT_NULL_FATAL(p) CU_CHECK((p) != NULL, CU_TRUE)

int      CU_initialize_registry(void);
int      CU_register_suites(CU_SuiteInfo *suites);
void     CU_basic_set_mode(int mode);
int      CU_basic_run_tests(void);
unsigned CU_get_number_of_failures(void);
void     CU_cleanup_registry(void);

#endif
