/* SPDX-License-Identifier: Apache-2.0
 * check.h: common part of all test programs: a table of cases for CUnit, and
 * comparisons that print the numbers. */
#ifndef CTT_CHECK_H
#define CTT_CHECK_H

#include "base/ctt.h"

#include <CUnit/Basic.h>

enum { CTT_SKIP = 77 };    /* automake's exit status for a skipped test */

/* For so many seconds a test waits at most for what must happen: many times
 * what it takes on a busy machine. */
enum { CTT_PATIENCE = 600 };

/* The devices whose memory is the program's, as of ctt_dev_names. */
extern const char *const ctt_check_hosts[];

/* Runs the suites; returns the exit status of main. */
int ctt_check_main(CU_SuiteInfo *suites);

/* Whether a test tries the variation at hand of a case: each one, or with the
 * environment variable CTT_CHECK_EVERY=N one in N, by chance: a fixed stride
 * would always meet the same settings. */
int ctt_check_tries(void);

/* Deterministic numbers in -1..1 from the formula the devices share. */
void ctt_check_fill(float *x, int64_t n, uint64_t key);

/* n numbers of ctt_check_fill(), or of zeros for key 0; freed with
 * ctt_free(). */
float *ctt_check_floats(int64_t n, uint64_t key);

/* One failure per array, naming the worst element. */
#define CHECK_CLOSE(a, b, n, tol)                                       \
    CU_assertImplementation(                                            \
        ctt_check_close(a, b, n, tol, __FILE__, __LINE__), __LINE__,    \
        #a " close to " #b, __FILE__, "", CU_FALSE)
int ctt_check_close(const float *a, const float *b, int64_t n, double tol,
                    const char *file, int line);

/* Checks a gradient against the slope of the loss at *w, by central differences
 * of width eps. */
void ctt_check_slope(double (*loss)(void *arg), void *arg, float *w, float eps,
                     float gradient, double tol);

/* An error of that code whose message holds these words. */
void ctt_check_refused(int rc, int code, const char *message);

#define CHECK_OK(expr)                                                  \
    do {                                                                \
        int rc_ = (expr);                                               \
        if (rc_ < 0)                                                    \
            printf("\n    %s: %s", #expr, ctt_errmsg());                \
        CU_ASSERT_FATAL(rc_ >= 0);                                      \
    } while (0)

#endif
