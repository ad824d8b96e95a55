/* SPDX-License-Identifier: Apache-2.0
 * test_baseline.c: predictions by linear motion. */
#include "tests/lib/check.h"
#include "video/baseline.h"

/* A square moves on; a still picture stays; what leaves is gone. */
static void what_moves_goes_on(void)
{
    enum { H = 21, W = 30, C = 2, ALL = H * W * C };
    static float a[ALL], b[ALL], to[ALL], out[ALL];
    const struct { float *p; int t; } pic[] = { { a, 0 }, { b, 1 }, { to, 4 } };

    for (size_t k = 0; k < CTT_LEN(pic); k++)
        for (int i = 0; i < ALL; i++) {
            int y = i / C / W - 12 + 2 * pic[k].t;
            int x = i / C % W - 3 - 3 * pic[k].t;
            pic[k].p[i] = y >= 0 && y < 5 && x >= 0 && x < 5 ? 0.9f : 0.2f;
        }
    CHECK_OK(ctt_baseline_linear(a, b, H, W, C, 3, out));
    CHECK_CLOSE(out, to, ALL, 0);
    CHECK_OK(ctt_baseline_linear(b, b, H, W, C, 9, out));
    CHECK_CLOSE(out, b, ALL, 0);
    CHECK_OK(ctt_baseline_linear(a, b, H, W, C, 1000000, out));
    for (int i = 0; i < ALL; i++)
        CU_ASSERT(out[i] == 0.2f);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "what moves goes on", what_moves_goes_on },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "baseline", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
