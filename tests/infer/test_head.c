/* SPDX-License-Identifier: Apache-2.0
 * test_head.c: the confidence head finds the probabilities that it is fitted
 * on, and keeps to its minimum. */
#include "tests/lib/check.h"
#include "infer/head.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { CLASSES = 5, CHECKS = 12, ROWS = 60000 };

static struct ctt_head_row rows[ROWS];

static double uniform(uint64_t k, uint64_t i)
{
    return (ctt_random(k, i) + 0.5) / 4294967296.0;
}

/* Answers of which so many may be given as a head says. */
static void draw(const struct ctt_head *truth)
{
    for (uint64_t i = 0; i < ROWS; i++) {
        struct ctt_head_row *r = &rows[i];

        r->check = (int)(ctt_random(1, i) % CHECKS);
        r->answer = (int)(ctt_random(2, i) % CLASSES);
        r->p = (float)uniform(3, i);
        r->may = uniform(4, i) < (double)ctt_head_sure(truth, r->check,
                                                       r->answer, r->p);
    }
}

static void test_finds(void)
{
    static const struct ctt_head truth = { CLASSES, { 0.8f, -0.5f, 0.2f },
                                           { -1, 0.5f, 2, 0, -2.5f } };
    struct ctt_head h;
    double worst = 0;

    draw(&truth);
    CHECK_OK(ctt_head_fit(rows, ROWS, CLASSES, &h));
    CU_ASSERT_EQUAL(h.classes, CLASSES);
    for (int c = 0; c < CLASSES; c++)
        for (int k = 0; k < CHECKS; k++)
            for (float p = 0.05f; p < 1; p += 0.1f)
                worst = fmax(worst, fabs((double)ctt_head_sure(&h, k, c, p) -
                             (double)ctt_head_sure(&truth, k, c, p)));
    CU_ASSERT(worst < 0.04);
}

/* The loss that head.h states, of weights for terms as they are; its ridge is
 * of no weight here, as there are many rows. */
static double loss(const struct ctt_head *h)
{
    double sum = 0;

    for (int i = 0; i < ROWS; i++) {
        double p = (double)ctt_head_sure(h, rows[i].check, rows[i].answer,
                                         rows[i].p);
        sum -= log(rows[i].may ? p : 1 - p);
    }
    return sum;
}

/* No change of a weight lowers the loss by more than the ridge takes. */
static void test_minimum(void)
{
    static const struct ctt_head truth = { CLASSES, { 1, 0.3f, -0.1f },
                                           { 0.2f, -0.3f, 1, -1, 0 } };
    struct ctt_head h, other;
    double least;

    draw(&truth);
    CHECK_OK(ctt_head_fit(rows, ROWS, CLASSES, &h));
    least = loss(&h);
    for (int i = 0; i < CTT_HEAD_TERMS + CLASSES; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            float *w;

            other = h;
            w = i < CTT_HEAD_TERMS ? &other.weight[i]
                                   : &other.bias[i - CTT_HEAD_TERMS];
            *w += 0.05f * (float)sign;
            CU_ASSERT(loss(&other) > least);
        }
    for (int c = 0; c < CLASSES; c++) {    /* the ridge keeps biases small */
        other = h;
        other.bias[c] *= 1.02f;
        CU_ASSERT(loss(&other) > least - 1);
    }
}

/* Answers all of which may be given, or none; a class without any; one answer;
 * probabilities of 0 and 1: numbers stay finite. */
static void test_extremes(void)
{
    struct ctt_head h;

    for (int may = 0; may < 2; may++)
        for (int n = 1; n <= 1000; n *= 10) {
            for (int i = 0; i < n; i++)
                rows[i] = (struct ctt_head_row){ i % 3, i % 2, may,
                                                 (float)(i % 2) };
            CHECK_OK(ctt_head_fit(rows, n, CLASSES, &h));
            for (int c = 0; c < CLASSES; c++)
                for (int k = 0; k < CTT_DECISION_CHECKS; k++)
                    for (float p = 0; p <= 1; p += 0.5f)
                        CU_ASSERT(isfinite(ctt_head_sure(&h, k, c, p)));
            CU_ASSERT((ctt_head_sure(&h, 0, 0, 0) > 0.5f) == may);
        }
    /* without a head the probability is the confidence */
    CU_ASSERT_EQUAL(ctt_head_sure(&(struct ctt_head){ 0 }, 3, 1, 0.625f),
                    0.625f);
}

/* Right answers above 0.5 and wrong ones below can be told apart by any weight,
 * however large: the ridge gives one. */
static void test_separable(void)
{
    struct ctt_head h;

    for (int i = 0; i < 400; i++)
        rows[i] = (struct ctt_head_row){ i % 4, i % CLASSES, i >= 200,
                                         (float)(i + 0.5) / 400 };
    CHECK_OK(ctt_head_fit(rows, 400, CLASSES, &h));
    CU_ASSERT(ctt_head_sure(&h, 2, 0, 0.9f) > 0.95f);
    CU_ASSERT(ctt_head_sure(&h, 2, 0, 0.1f) < 0.05f);
    CU_ASSERT(fabsf(h.weight[0]) < 100 && fabsf(h.weight[2]) < 100);
}

static void test_refused(void)
{
    struct ctt_head h;

    ctt_check_refused(ctt_head_fit(rows, 0, 3, &h), CTT_EINVAL, "0 answers");
    ctt_check_refused(ctt_head_fit(rows, 5, CTT_HEAD_CLASSES + 1, &h),
                      CTT_EINVAL, "1 to 400");
    for (long k = 1; k <= 5; k++) {
        ctt_fail_alloc(k);
        CU_ASSERT_EQUAL(ctt_head_fit(rows, 5, CLASSES, &h), CTT_ENOMEM);
        ctt_fail_alloc(0);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "finds what is there", test_finds },
    { "least loss", test_minimum },
    { "extremes", test_extremes },
    { "separable", test_separable },
    { "refused", test_refused },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "confidence head", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
