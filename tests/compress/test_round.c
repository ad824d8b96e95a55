/* SPDX-License-Identifier: Apache-2.0
 * test_round.c: weights rounded to fewer bits. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/compress.h"

#include <float.h>
#include <math.h>

static void test_round(void)
{
    static const struct { float x; int bits; float y; } cases[] = {
        { 1.0f, 1, 1.0f }, { 1.75f, 1, 2.0f }, { 1.5f, 1, 2.0f },
        { 2.5f, 2, 2.0f }, { 3.5f, 2, 4.0f }, { -2.75f, 3, -3.0f },
        { 0.1f, 24, 0.1f }, { 0.0f, 4, 0.0f },
        { 1.00390625f, 8, 1.0f }, { 1.01171875f, 8, 1.015625f },
    };
    static const char text[] = "input x h=1 w=1 c=10\nconv y in=x out=1\n";
    struct ctt_model *m = small_model(text, 1), *old = NULL;
    const struct ctt_node *n = &m->g->node[1];

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        m->w[n->at[0]] = cases[i].x;
        ctt_round(m, cases[i].bits);
        CU_ASSERT_EQUAL(m->w[n->at[0]], cases[i].y);
    }
    m->w[n->at[0]] = FLT_MAX;
    ctt_round(m, 3);
    CU_ASSERT_EQUAL(m->w[n->at[0]], FLT_MAX);
    ctt_model_free(&m);
    m = small_model(small_net, 1);
    n = &m->g->node[1];
    CHECK_OK(ctt_model_copy(m, &old));
    ctt_round(m, 8);
    for (int64_t k = 0; k < m->g->weights; k++)
        CU_ASSERT(fabs((double)m->w[k] - old->w[k]) <=
                  fabs((double)old->w[k]) / 256);
    CU_ASSERT_EQUAL(m->w[n->at[1]], old->w[n->at[1]]);    /* a bias */
    ctt_model_free(&m);
    ctt_model_free(&old);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "round", test_round },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "round", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
