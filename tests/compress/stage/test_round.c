/* SPDX-License-Identifier: Apache-2.0
 * test_round.c: weights rounded to fewer bits. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/compress.h"
#include "base/half.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The kernel of a conv of quantised values becomes whole numbers of steps.  One
 * with a codebook gets fewer significant bits instead: all channels share its
 * values, and each channel's step would make other values of them. */
static void test_whole(void)
{
    static const char text[] = "input x h=1 w=1 c=2\nquant q in=x scale=0.1\n"
                               "conv y in=q out=2\n";

    for (int shared = 0; shared < 2; shared++) {
        struct ctt_model *m = small_model(text, 1);
        float *w = m->w + m->g->node[2].at[0];

        w[0] = 1.00390625f;
        w[1] = w[3] = 0.3f;
        w[2] = 1.5f;
        if (shared)
            CHECK_OK(ctt_constraint_share(&m->constraint, m->g->weights));
        for (int i = 0; i < 4 && shared; i++)
            m->constraint.share[m->g->node[2].at[0] + i] = (uint8_t)(i ? i % 2
                                                                 + 1 : 3);
        ctt_round(m, 8);
        CU_ASSERT_EQUAL(w[0] == 1.0f, shared);
        CU_ASSERT_EQUAL(w[1] == w[3], shared);
        CU_ASSERT_DOUBLE_EQUAL(w[1], 0.3, 0.005);
        ctt_model_free(&m);
    }
}

/* Each number to the nearest of half precision, the smallest and a bias too;
 * what is too large stays. */
static void test_half(void)
{
    struct ctt_model *m = small_model(small_net, 1), *old = NULL;
    const struct ctt_node *n = &m->g->node[1];

    m->w[n->at[0]] = FLT_MAX;
    m->w[n->at[0] + 1] = 1e-6f;
    CHECK_OK(ctt_model_copy(m, &old));
    ctt_round_half(m);
    CU_ASSERT_EQUAL(m->w[n->at[0]], FLT_MAX);
    CU_ASSERT_EQUAL(m->w[n->at[0] + 1], 0x11p-24f);
    CU_ASSERT(m->w[n->at[1]] != old->w[n->at[1]]);
    for (int64_t k = 0; k < m->g->weights; k++) {
        CU_ASSERT(k == n->at[0] || ctt_is_f16(m->w[k]));
        CU_ASSERT(fabs((double)m->w[k] - old->w[k]) <=
                  fabs((double)old->w[k]) / 2048 + 0x1p-25);
    }
    ctt_model_free(&m);
    ctt_model_free(&old);
}

static struct ctt_stored *stored(const struct ctt_model *m, const char *name,
                                 struct ctt_stored *all)
{
    static char path[] = "/tmp/test_round.XXXXXX";
    struct ctt_stored *s = NULL;
    int64_t bytes;
    int count, fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    CHECK_OK(ctt_model_save(path, m));
    CHECK_OK(ctt_model_stored(path, &s, &count, &bytes));
    remove(path);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    for (int i = 0; i < count; i++)
        if (strcmp(s[i].name, name) == 0)
            *all = s[i];
    ctt_free(s);
    return all;
}

/* Biases, gamma and beta lie within half a step of what they were, and a file
 * holds each as a byte; the statistics of a norm and the kernels stay. */
static void test_biases(void)
{
    static const int trained[][2] = { { 1, 1 }, { 2, 0 }, { 2, 1 } };
    static const int others[][2] = { { 1, 0 }, { 2, 2 }, { 2, 3 } };

    for (int bits = 2; bits <= 8; bits++) {
        struct ctt_model *m = small_model(small_net, 1), *old = NULL;
        struct ctt_stored s = { .size = 0 };
        int most = (1 << (bits - 1)) - 1;

        m->w[m->g->node[1].at[1]] = -1e-9f;    /* rounds to 0, not to -0 */
        CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
        m->constraint.keep[0] = 0;    /* so that the file is coded */
        for (int64_t k = 0; k < ctt_volume(&m->g->node[1].w[0]); k += 2)
            m->w[k] = 0;    /* so that weights are no 100 times as many */
        CHECK_OK(ctt_model_copy(m, &old));
        ctt_round_biases(m, bits);
        for (size_t i = 0; i < CTT_LEN(trained); i++) {
            const struct ctt_node *n = &m->g->node[trained[i][0]];
            int64_t at = n->at[trained[i][1]], count = n->out.c;
            double largest = 0;

            for (int64_t k = 0; k < count; k++)
                largest = fmax(largest, fabs((double)old->w[at + k]));
            for (int64_t k = 0; k < count; k++) {
                double q = m->w[at + k] * most / largest;
                CU_ASSERT_DOUBLE_EQUAL(q, rint(q), 1e-4);
                CU_ASSERT(fabs((double)m->w[at + k] - old->w[at + k]) <=
                          0.5001 * largest / most);
            }
        }
        for (size_t i = 0; i < CTT_LEN(others); i++) {
            const struct ctt_node *n = &m->g->node[others[i][0]];
            int64_t at = n->at[others[i][1]];
            CU_ASSERT_EQUAL(memcmp(m->w + at, old->w + at, (size_t)
                                   ctt_volume(&n->w[others[i][1]]) * 4), 0);
        }
        CU_ASSERT_STRING_EQUAL(stored(m, "a.b", &s)->values, "int8");
        ctt_model_free(&m);
        ctt_model_free(&old);
    }
}

/* In a model of many weights all biases do. */
static void test_room(void)
{
    static const char text[] = "input x h=2 w=2 c=400\nconv y in=x out=2\n";
    struct ctt_model *m = small_model(text, 1);
    float *b = m->w + m->g->node[1].at[1];

    b[0] = 0.0123456789f;
    b[1] = 1.00025f;
    ctt_round_biases(m, 8);
    CU_ASSERT_DOUBLE_EQUAL(b[0], 0.0123456789, 0.0123456789 / 256);
    CU_ASSERT_EQUAL(b[1], 1);
    ctt_model_free(&m);
}

/* Numbers of a bias keep significant bits of their own if a channel has far
 * smaller weights than the largest number; else they share a scale. */
static void test_coarse_biases(void)
{
    static const char text[] = "input x h=4 w=4 c=2\nconv y in=x out=3\n";
    static const float row[2] = { 0.01f, 1 };

    for (int k = 0; k < 2; k++) {
        struct ctt_model *m = small_model(text, 1);
        float *w = m->w + m->g->node[1].at[0], *b = m->w + m->g->node[1].at[1];

        for (int i = 0; i < 6; i++)
            w[i] = i < 2 ? row[k] : 1;
        b[0] = 0.0123456789f;
        b[1] = 1.00025f;
        b[2] = -3e-7f;
        ctt_round_biases(m, 8);
        CU_ASSERT_DOUBLE_EQUAL(b[1], 1, k == 0 ? 0 : 0.0003);
        CU_ASSERT_DOUBLE_EQUAL(b[0], k == 0 ? 0.0123456789 : 2 / 127.0,
                               k == 0 ? 0.0123456789 / 256 : 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(b[2], k == 0 ? -3e-7 : 0, 3e-7 / 256);
        ctt_model_free(&m);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "round", test_round }, { "half", test_half },
        { "whole", test_whole },
        { "biases", test_biases },
        { "coarse biases", test_coarse_biases }, { "room", test_room },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "round", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
