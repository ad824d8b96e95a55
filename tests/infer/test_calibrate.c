/* SPDX-License-Identifier: Apache-2.0
 * test_calibrate.c: thresholds of early decisions against a slow reference, and
 * that they keep what they promise. */
#include "tests/lib/check.h"
#include "infer/calibrate.h"
#include "base/statistics/statistics.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { POOL = 3000, CLIPS = 240, CHECKS = 8, SETS = 1000 };

static float sure[POOL * CHECKS];
static uint8_t lost[POOL * CHECKS];
static const struct ctt_trials pool = { POOL, CHECKS, sure, lost };

static double uniform(uint64_t key, int64_t i)
{
    return (double)ctt_random(key, (uint64_t)i) * 0x1p-32;
}

/* A population: confidences that rise, and answers that are wrong the more
 * seldom the surer they are; some clips end before the last checks. */
static void make_pool(uint64_t key)
{
    for (int i = 0; i < POOL; i++) {
        double ease = uniform(key, 4 * i), luck = uniform(key, 4 * i + 1);
        int length = CHECKS - (int)(3 * uniform(key, 4 * i + 2));
        for (int k = 0; k < CHECKS; k++) {
            double x = 1 - (1 - 0.9 * ease) * exp(-0.4 * k * ease);
            sure[i * CHECKS + k] = k < length ? (float)x : -1;
            lost[i * CHECKS + k] = k < length && luck > 0.5 + 0.5 * x;
        }
    }
}

/* ---- a slow reference ---- */

static int stop_of(const struct ctt_trials *t, int i, const float *threshold)
{
    int k = 0;

    while (k < t->checks && !(t->sure[i * t->checks + k] >= 0 &&
                              t->sure[i * t->checks + k] >= threshold[k]))
        k++;
    return k;
}

/* Clips decided by check `last`, and those of them that are lost. */
static void count(const struct ctt_trials *t, const float *threshold, int last,
                  int *n, int *losses)
{
    *n = *losses = 0;
    for (int i = 0; i < t->clips; i++) {
        int k = stop_of(t, i, threshold);
        if (k > last || k == t->checks)
            continue;
        (*n)++;
        *losses += t->lost[i * t->checks + k];
    }
}

static void set_all(float *threshold, int from, int to, float x)
{
    for (int k = from; k < to; k++)
        threshold[k] = x;
}

static double level(int j)
{
    return j < 479 ? 1 / (1 + exp(0.04 * j - 14)) : 0;
}

static void slow_marginal(const struct ctt_trials *t, double gap, double delta,
                          float *threshold)
{
    float tried[CHECKS];
    int n, losses;

    set_all(threshold, 0, t->checks, INFINITY);
    for (int j = 0; j < 480; j++) {
        set_all(tried, 0, t->checks, (float)level(j));
        count(t, tried, t->checks, &n, &losses);
        if (ctt_binomial_tail(losses, t->clips, gap) > delta)
            break;
        memcpy(threshold, tried, sizeof(tried));
    }
}

static int passes(const struct ctt_trials *t, const float *threshold, int k,
                  double gap, double delta)
{
    int n, losses;

    count(t, threshold, k, &n, &losses);
    return n > 0 && ctt_binomial_tail(losses, n, gap) <= delta;
}

/* Whether the candidate of the half `one` at that level of the test exists, and
 * what it is. */
static int slow_choose(const struct ctt_trials *one, double gap, double delta,
                       float *threshold)
{
    int some = 0;

    set_all(threshold, 0, one->checks, INFINITY);
    for (int k = 0; k < one->checks; k++) {
        int before, n, losses;
        float best = INFINITY;
        count(one, threshold, k, &before, &losses);
        for (int j = 0; j < 480; j++) {
            threshold[k] = (float)level(j);
            count(one, threshold, k, &n, &losses);
            if (n > before && passes(one, threshold, k, gap, delta))
                best = threshold[k];
        }
        threshold[k] = best;
        some += !isinf(best);
    }
    return some;
}

static void slow_conditional(const struct ctt_trials *one,
                             const struct ctt_trials *two, double gap,
                             double delta, float *threshold)
{
    float tried[CHECKS];

    set_all(threshold, 0, one->checks, INFINITY);
    for (int j = -12; j <= 2; j++) {
        if (!slow_choose(one, gap, delta * pow(10, 0.5 * j), tried))
            continue;
        for (int k = 0; k < two->checks; k++)
            if (!isinf(tried[k]) && !passes(two, tried, k, gap, delta))
                return;
        memcpy(threshold, tried, sizeof(tried));
    }
}

/* ---- tests ---- */

/* Clips of the population by their numbers. */
static void take(const int *clip, int n, struct ctt_trials *to)
{
    to->clips = n;
    to->checks = CHECKS;
    for (int i = 0; i < n; i++) {
        memcpy(to->sure + i * CHECKS, sure + clip[i] * CHECKS,
               CHECKS * sizeof(float));
        memcpy(to->lost + i * CHECKS, lost + clip[i] * CHECKS, CHECKS);
    }
}

static struct ctt_trials room(int n)
{
    return (struct ctt_trials){ n, CHECKS,
        ctt_calloc((size_t)n * CHECKS, sizeof(float)),
        ctt_calloc((size_t)n * CHECKS, 1) };
}

static void drop(struct ctt_trials *t)
{
    ctt_free(t->sure);
    ctt_free(t->lost);
}

/* The halves that a calibration of the first clips makes. */
static void shuffle(int *order, int n)
{
    for (int i = 0; i < n; i++) {
        int k = (int)(ctt_key(1, (uint64_t)i) % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
}

static int same(const float *a, const float *b)
{
    return memcmp(a, b, CHECKS * sizeof(*a)) == 0;
}

static void test_reference(void)
{
    static const double gaps[] = { 0.03, 0.08, 0.15 };
    struct ctt_trials all = { CLIPS, CHECKS, sure, lost };
    struct ctt_trials one = room(CLIPS), two = room(CLIPS);
    int order[CLIPS] = { 0 }, finite[2] = { 0 };
    float got[CHECKS], want[CHECKS];

    shuffle(order, CLIPS);
    for (int set = 0; set < 6; set++) {
        struct ctt_guarantee_set g = { CTT_GUARANTEE_MARGINAL, gaps[set % 3],
                                       0.1 };
        make_pool(100 + (uint64_t)set);
        slow_marginal(&all, g.max_gap, g.delta, want);
        CHECK_OK(ctt_calibrate(&all, &g, got));
        CU_ASSERT(same(got, want));
        finite[0] += !isinf(got[0]);
        g.kind = CTT_GUARANTEE_CONDITIONAL;
        take(order, CLIPS / 2, &one);
        take(order + CLIPS / 2, CLIPS / 2, &two);
        slow_conditional(&one, &two, g.max_gap, g.delta, want);
        finite[1] += ctt_calibrate(&all, &g, got) > 0;
        CU_ASSERT(same(got, want));
    }
    CU_ASSERT(finite[0] >= 4 && finite[1] >= 2);
    drop(&one);
    drop(&two);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The gap of all clips of the population, or the largest of those that are
 * decided by any one check. */
static double gap_of(const struct ctt_trials *t, const float *threshold,
                     enum ctt_guarantee kind)
{
    int n[CHECKS] = { 0 }, losses[CHECKS] = { 0 }, decided = 0, all = 0;
    double worst = 0;

    for (int i = 0; i < t->clips; i++) {
        int k = ctt_trials_stop(t, i, threshold);
        if (k == t->checks)
            continue;
        n[k]++;
        losses[k] += t->lost[i * t->checks + k];
    }
    for (int k = 0; k < t->checks; k++) {
        decided += n[k];
        all += losses[k];
        if (decided)
            worst = fmax(worst, (double)all / decided);
    }
    return kind == CTT_GUARANTEE_MARGINAL ? (double)all / t->clips : worst;
}

/* Calibration sets drawn from a known population: violations are at most delta
 * and three standard errors, and decisions are made. */
static void check_promise(enum ctt_guarantee kind, double gap, double delta)
{
    struct ctt_trials some = room(CLIPS);
    struct ctt_guarantee_set g = { kind, gap, delta };
    int broken = 0, early = 0, clip[CLIPS];
    float threshold[CHECKS];

    for (int set = 0; set < SETS; set++) {
        for (int i = 0; i < CLIPS; i++)
            clip[i] = (int)(ctt_key(7 + (uint64_t)set, (uint64_t)i) % POOL);
        take(clip, CLIPS, &some);
        early += ctt_calibrate(&some, &g, threshold) > 0;
        broken += gap_of(&pool, threshold, kind) > gap;
    }
    CU_ASSERT(broken <= SETS * (delta + 3 * sqrt(delta * (1 - delta) / SETS)));
    CU_ASSERT(early > SETS / 3);
    drop(&some);
}

static void test_promise(void)
{
    make_pool(1);
    check_promise(CTT_GUARANTEE_MARGINAL, 0.05, 0.1);
    check_promise(CTT_GUARANTEE_MARGINAL, 0.1, 0.02);
    check_promise(CTT_GUARANTEE_CONDITIONAL, 0.12, 0.1);
}

/* The test of the promise can fail: thresholds chosen by the mean gap alone,
 * without a test, break it about every second time. */
static void test_broken_promise(void)
{
    int broken = 0, clip[CLIPS];
    struct ctt_trials some = room(CLIPS);

    make_pool(1);
    for (int set = 0; set < 200; set++) {
        float threshold[CHECKS];
        int j = 0;
        for (int i = 0; i < CLIPS; i++)
            clip[i] = (int)(ctt_key(7 + (uint64_t)set, (uint64_t)i) % POOL);
        take(clip, CLIPS, &some);
        do {
            set_all(threshold, 0, CHECKS, (float)level(j++));
        } while (j < 480 && gap_of(&some, threshold, CTT_GUARANTEE_MARGINAL) <=
                 0.05);
        broken += gap_of(&pool, threshold, CTT_GUARANTEE_MARGINAL) > 0.05;
    }
    CU_ASSERT(broken > 50);
    drop(&some);
}

/* The order of tests is from the highest threshold down, and what comes behind
 * the first failure does not count, however good: here low confidences are
 * always right, and high ones always wrong. */
static void test_order(void)
{
    struct ctt_trials t = room(200);
    float threshold[CHECKS];
    struct ctt_guarantee_set g = { CTT_GUARANTEE_MARGINAL, 0.3, 0.1 };

    for (int i = 0; i < 200; i++)
        for (int k = 0; k < CHECKS; k++) {
            t.sure[i * CHECKS + k] = i < 100 ? 0.9f : 0.2f;
            t.lost[i * CHECKS + k] = i < 100 && k < CHECKS - 1;
        }
    CU_ASSERT_EQUAL(ctt_calibrate(&t, &g, threshold), CHECKS);
    CU_ASSERT(threshold[0] > 0.9f);    /* nobody is decided */
    for (int i = 0; i < 200 * CHECKS; i++)
        t.lost[i] = 0;
    CU_ASSERT_EQUAL(ctt_calibrate(&t, &g, threshold), CHECKS);
    CU_ASSERT_EQUAL(threshold[0], 0);
    drop(&t);
}

/* One clip less than can be enough: no decision; with that many, and none lost,
 * all are decided at once. */
static void test_few(void)
{
    static const enum ctt_guarantee kinds[] = { CTT_GUARANTEE_MARGINAL,
                                                CTT_GUARANTEE_CONDITIONAL };

    for (int i = 0; i < 2; i++) {
        struct ctt_guarantee_set g = { kinds[i], 0.05, 0.1 };
        int least = (int)ctt_calibrate_least(&g);
        struct ctt_trials t = room(least);
        float threshold[CHECKS];
        CU_ASSERT_EQUAL(least, i ? 89 : 45);
        for (int k = 0; k < least * CHECKS; k++)
            t.sure[k] = 0.5f;
        CU_ASSERT(ctt_calibrate(&t, &g, threshold) > 0);
        CU_ASSERT(threshold[0] <= 0.5f);
        t.clips--;
        CU_ASSERT_EQUAL(ctt_calibrate(&t, &g, threshold), 0);
        for (int k = 0; k < CHECKS; k++)
            CU_ASSERT(isinf(threshold[k]));
        t.clips = 0;
        CU_ASSERT_EQUAL(ctt_calibrate(&t, &g, threshold), 0);
        drop(&t);
    }
}

static void test_refused(void)
{
    struct ctt_guarantee_set g = { CTT_GUARANTEE_MARGINAL, 0.05, 0.1 };
    float threshold[CHECKS];
    struct ctt_trials t = { 1, 0, sure, lost };

    CU_ASSERT_EQUAL(ctt_calibrate(&t, &g, threshold), CTT_EINVAL);
    t.checks = CTT_DECISION_CHECKS + 1;
    CU_ASSERT_EQUAL(ctt_calibrate(&t, &g, threshold), CTT_EINVAL);
}

static void test_memory(void)
{
    struct ctt_trials t = { CLIPS, CHECKS, sure, lost };
    float threshold[CHECKS];

    for (int kind = 0; kind < 2; kind++) {
        struct ctt_guarantee_set g = { (enum ctt_guarantee)kind, 0.05, 0.1 };
        int rc = CTT_ENOMEM;
        for (long k = 1; rc == CTT_ENOMEM && k < 100; k++) {
            ctt_fail_alloc(k);
            rc = ctt_calibrate(&t, &g, threshold);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT(rc >= 0);
    }
}

static CU_TestInfo tests[] = {
    { "slow reference", test_reference },
    { "what is promised", test_promise },
    { "what would break it", test_broken_promise },
    { "order of tests", test_order },
    { "too few clips", test_few },
    { "refused calls", test_refused },
    { "failing allocations", test_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "calibrate", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
