/* SPDX-License-Identifier: Apache-2.0
 * check.c: the harness. */
#include "tests/lib/check.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ctt_check_main(CU_SuiteInfo *suites)
{
    unsigned failed = 1;

    if (CU_initialize_registry() != CUE_SUCCESS)
        return 99;
    if (CU_register_suites(suites) == CUE_SUCCESS) {
        CU_basic_set_mode(CU_BRM_VERBOSE);
        CU_basic_run_tests();
        failed = CU_get_number_of_failures();
    }
    CU_cleanup_registry();
    return failed != 0;
}

const char *const ctt_check_hosts[] = { "cpu", "ref", NULL };

int ctt_check_tries(void)
{
    static long every, asked;
    const char *s = getenv("CTT_CHECK_EVERY");

    if (every == 0) {
        every = s ? atol(s) : 1;
        every = every > 1 ? every : 1;
    }
    return ctt_random(99, (uint64_t)asked++) % (uint64_t)every == 0;
}

void ctt_check_fill(float *x, int64_t n, uint64_t key)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)ctt_random(key, (uint64_t)i) * 0x1p-31f - 1;
}

float *ctt_check_floats(int64_t n, uint64_t key)
{
    float *p = ctt_calloc((size_t)n, sizeof(float));

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    if (key)
        ctt_check_fill(p, n, key);
    return p;
}

int ctt_check_close(const float *a, const float *b, int64_t n, double tol,
                    const char *file, int line)
{
    double worst = 0;
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++) {
        double e = fabs((double)a[i] - b[i]) / (1 + fabs((double)b[i]));
        if (isnan(e))
            e = INFINITY;    /* a NaN counts as the largest error */
        if (e > worst) {
            worst = e;
            at = i;
        }
    }
    if (worst <= tol)
        return 1;
    printf("\n    %s:%d: element %lld: %.9g, expected %.9g, error %.3g > %.3g",
           file, line, (long long)at, (double)a[at], (double)b[at], worst,
           tol);
    return 0;
}

void ctt_check_refused(int rc, int code, const char *message)
{
    CU_ASSERT_EQUAL(rc, code);
    if (!strstr(ctt_errmsg(), message))
        printf("\n    '%s', expected '%s'", ctt_errmsg(), message);
    CU_ASSERT(strstr(ctt_errmsg(), message) != NULL);
}

void ctt_check_slope(double (*loss)(void *arg), void *arg, float *w, float eps,
                     float gradient, double tol)
{
    float old = *w, slope;
    double up;

    *w = old + eps;
    up = loss(arg);
    *w = old - eps;
    slope = (float)((up - loss(arg)) / (2 * (double)eps));
    *w = old;
    CHECK_CLOSE(&gradient, &slope, 1, tol);
}
