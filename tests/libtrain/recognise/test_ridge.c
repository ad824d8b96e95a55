/* SPDX-License-Identifier: Apache-2.0
 * test_ridge.c: the fit solves its equations, and the penalty is the one whose
 * fits without one example each err least on that example. */
#include "libtrain/recognise/ridge.h"
#include "base/limits.h"
#include "base/random.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

enum { N = 24, D = 5, K = 3, M = D + 1 };

static const double penalties[] = { 1e-3, 1e-2, 1e-1, 1, 10, 100 };

/* Examples of which `noise` decides how much of the label x says. */
static void draw(uint64_t seed, double noise, float x[N][D], int label[N])
{
    for (int i = 0; i < N; i++) {
        label[i] = i % K;
        for (int j = 0; j < D; j++)
            x[i][j] = (float)(3 + 2 * (j == label[i]) +
                              noise * (ctt_random(seed, (uint64_t)(i * D + j)) /
                                       4294967296.0 - 0.5));
    }
}

/* a * w = b by elimination; a is positive definite. */
static void eliminate(double a[M][M], double b[M][K])
{
    for (int i = 0; i < M; i++)
        for (int k = 0; k < M; k++) {
            double f = k == i ? 0 : a[k][i] / a[i][i];

            for (int j = 0; j < M; j++)
                a[k][j] -= f * a[i][j];
            for (int c = 0; c < K; c++)
                b[k][c] -= f * b[i][c];
        }
    for (int i = 0; i < M; i++)
        for (int c = 0; c < K; c++)
            b[i][c] /= a[i][i];
}

static double input(const struct ctt_ridge *r, const float *x, int j)
{
    return j == D ? 1 : ((double)x[j] - r->mean[j]) * r->scale[j];
}

/* The squared error on example `out` of the fit to all others, whose constant
 * has no penalty. */
static double left_out(const struct ctt_ridge *r, float x[N][D],
                       const int *label, int out, double penalty)
{
    double a[M][M] = { { 0 } }, b[M][K] = { { 0 } }, sum = 0;

    for (int j = 0; j < D; j++)
        a[j][j] = penalty * N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M && i != out; j++) {
            for (int k = 0; k < M; k++)
                a[j][k] += input(r, x[i], j) * input(r, x[i], k);
            b[j][label[i]] += input(r, x[i], j);
        }
    eliminate(a, b);
    for (int c = 0; c < K; c++) {
        double e = label[out] == c;

        for (int j = 0; j < M; j++)
            e -= input(r, x[out], j) * b[j][c];
        sum += e * e;
    }
    return sum;
}

static double best_penalty(const struct ctt_ridge *r, float x[N][D],
                           const int *label)
{
    double best = 0, least = INFINITY;

    for (size_t p = 0; p < CTT_LEN(penalties); p++) {
        double sum = 0;

        for (int i = 0; i < N; i++)
            sum += left_out(r, x, label, i, penalties[p]);
        if (sum < least) {
            least = sum;
            best = penalties[p];
        }
    }
    return best;
}

/* The gradient of the squared error and penalty. */
static double slope(const struct ctt_ridge *r, float x[N][D], const int *label,
                    int j, int c)
{
    double sum = r->penalty * N * r->w[j * K + c];

    for (int i = 0; i < N; i++) {
        float z[K];

        ctt_ridge_answer(r, x[i], z);
        sum += input(r, x[i], j) * ((double)z[c] - (label[i] == c));
    }
    return sum;
}

static void test_fit(void)
{
    static const double noises[] = { 0.1, 1, 4, 16, 1000 };
    int label[N], seen[CTT_LEN(penalties)] = { 0 }, kinds = 0;
    float x[N][D];

    for (int k = 0; k < 40; k++) {
        struct ctt_ridge r = { .inputs = 0 };

        draw((uint64_t)k, noises[k % 5], x, label);
        CHECK_OK(ctt_ridge_fit(x[0], label, NULL, N, D, K, &r));
        for (int j = 0; j < D; j++)
            for (int c = 0; c < K; c++)
                CU_ASSERT(fabs(slope(&r, x, label, j, c)) < 1e-4);
        CU_ASSERT(r.penalty == best_penalty(&r, x, label));
        for (size_t p = 0; p < CTT_LEN(penalties); p++)
            seen[p] |= r.penalty == penalties[p];
        ctt_ridge_free(&r);
    }
    for (size_t p = 0; p < CTT_LEN(penalties); p++)
        kinds += seen[p];
    CU_ASSERT(kinds >= 3);    /* the examples need different ones */
}

/* Answers to the examples of a group by the fit to all others with this
 * penalty; their errors are added, right ones counted. */
static double group_out(const struct ctt_ridge *r, float x[N][D],
                        const int *label, const int *group, int out,
                        double penalty, int *right)
{
    double a[M][M] = { { 0 } }, b[M][K] = { { 0 } }, sum = 0;

    for (int j = 0; j < D; j++)
        a[j][j] = penalty * N;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M && group[i] != out; j++) {
            for (int k = 0; k < M; k++)
                a[j][k] += input(r, x[i], j) * input(r, x[i], k);
            b[j][label[i]] += input(r, x[i], j);
        }
    eliminate(a, b);
    for (int i = 0; i < N; i++) {
        double z[K] = { 0 };
        int best = 0;

        for (int c = 0; c < K && group[i] == out; c++) {
            for (int j = 0; j < M; j++)
                z[c] += input(r, x[i], j) * b[j][c];
            sum += (z[c] - (label[i] == c)) * (z[c] - (label[i] == c));
            best = z[c] > z[best] ? c : best;
        }
        *right += group[i] == out && best == label[i];
    }
    return sum;
}

/* Examples of a group are left out together, in any order; the penalty, the
 * error and the share of right answers are those of the best such fits.  Groups
 * of up to D examples, or of more, which are left out in another way; as many
 * examples of each class in them, or not. */
static void check_groups(int groups, int even)
{
    static const double tried[] = { 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 0.3, 1, 3,
                                    10, 30, 100 };
    int label[N], group[N], one[N] = { 0 };
    float x[N][D];

    for (int k = 0; k < 10; k++) {
        struct ctt_ridge r = { .inputs = 0 }, each = r, none = r;
        double least = INFINITY, sum;
        int best = 0, right = 0;

        draw((uint64_t)k, k % 2 ? 4 : 16, x, label);
        for (int i = 0; i < N; i++)
            group[i] = 100 - (even ? i * 7 : i * i / 5) % groups;
        CHECK_OK(ctt_ridge_fit(x[0], label, group, N, D, K, &r));
        for (size_t p = 0; p < CTT_LEN(tried); p++, right = 0) {
            sum = 0;
            for (int g = 0; g < groups; g++)
                sum += group_out(&r, x, label, group, 100 - g, tried[p],
                                 &right);
            if (sum >= least)
                continue;
            least = sum;
            best = right;
            CU_ASSERT(r.penalty >= tried[p]);
        }
        CU_ASSERT(fabs(r.error - least / N) < 1e-6);
        CU_ASSERT(fabs(r.right - (double)best / N) < 1e-9);
        CU_ASSERT(r.factor >= 1 && r.factor <= 16);
        CHECK_OK(ctt_ridge_fit(x[0], label, NULL, N, D, K, &each));
        CHECK_OK(ctt_ridge_fit(x[0], label, one, N, D, K, &none));
        CU_ASSERT(none.error <= each.error && none.error > 0);
        ctt_ridge_free(&r);
        ctt_ridge_free(&each);
        ctt_ridge_free(&none);
    }
}

static void test_groups(void)
{
    check_groups(5, 1);
    check_groups(4, 1);    /* of 6 */
    check_groups(2, 1);
    check_groups(5, 0);
    check_groups(3, 0);
    check_groups(2, 0);
}

/* Groups of D examples and of more side by side: the fit is that of the same
 * groups in another order. */
static void test_mixed_groups(void)
{
    int label[N], group[N], turned[N], back[N];
    float x[N][D], y[N][D];
    struct ctt_ridge a = { .inputs = 0 }, b = a;

    draw(3, 4, x, label);
    for (int i = 0; i < N; i++)
        group[i] = i < D ? 1 : i < 3 * D ? 2 : 3;
    for (int i = 0; i < N; i++) {
        memcpy(y[i], x[N - 1 - i], sizeof(y[i]));
        turned[i] = label[N - 1 - i];
        back[i] = group[N - 1 - i];
    }
    CHECK_OK(ctt_ridge_fit(x[0], label, group, N, D, K, &a));
    CHECK_OK(ctt_ridge_fit(y[0], turned, back, N, D, K, &b));
    CU_ASSERT(a.penalty == b.penalty && a.right == b.right);
    CU_ASSERT(fabs(a.error - b.error) < 1e-9);
    ctt_ridge_free(&a);
    ctt_ridge_free(&b);
}

static int yes(void)
{
    return 1;
}

/* Inputs that are not finite, and a stop, give no fit. */
static void test_refused(void)
{
    struct ctt_ridge r = { .inputs = 0 };
    int label[N], group[N];
    float x[N][D];

    draw(1, 4, x, label);
    for (int i = 0; i < N; i++)
        group[i] = i % 5;
    ctt_stop_set(yes);
    ctt_check_refused(ctt_ridge_fit(x[0], label, group, N, D, K, &r), CTT_ESTOP,
                      "stopped");
    ctt_stop_set(NULL);
    ctt_ridge_free(&r);
    x[3][2] = NAN;
    ctt_check_refused(ctt_ridge_fit(x[0], label, group, N, D, K, &r), CTT_ENAN,
                      "not finite");
    ctt_ridge_free(&r);
}

/* Without inputs the largest class; an input that never varies is none. */
static void test_nothing(void)
{
    static const int label[N] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1,
                                  1, 1 };
    static const float same[N][1];
    struct ctt_ridge none = { .inputs = 0 }, flat = { .inputs = 0 };
    float a[K], b[K];

    CHECK_OK(ctt_ridge_fit(same[0], label, NULL, N, 0, K, &none));
    CHECK_OK(ctt_ridge_fit(same[0], label, NULL, N, 1, K, &flat));
    ctt_ridge_answer(&none, same[0], a);
    ctt_ridge_answer(&flat, (float[]){ 7 }, b);
    CU_ASSERT(a[2] > a[1] && a[2] > a[0]);
    CU_ASSERT(memcmp(a, b, sizeof(a)) == 0);
    ctt_ridge_free(&none);
    ctt_ridge_free(&flat);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "the fit and its penalty", test_fit },
        { "groups", test_groups },
        { "groups of two kinds", test_mixed_groups },
        { "what is refused", test_refused },
        { "nothing to learn from", test_nothing },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "ridge", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
