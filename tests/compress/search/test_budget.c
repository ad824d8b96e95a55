/* SPDX-License-Identifier: Apache-2.0
 * test_budget.c: budgets are read, weights get the ways that all choices tried
 * one by one show to be best, and clips refute. */
#include "compress/search/ways.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it fails so, with a message that contains `says`. */
static int fails(int rc, int code, const char *says)
{
    if (rc == code && strstr(ctt_errmsg(), says))
        return 1;
    printf("\n    %d, not %d with '%s': %s", rc, code, says, ctt_errmsg());
    return 0;
}

/* ---- reading ---- */

static void test_read(void)
{
    struct ctt_budget b;

    CHECK_OK(ctt_budget_read("top1=-0.5,bytes=20k,ms=0.05,macs=2M", &b));
    CU_ASSERT_DOUBLE_EQUAL(b.loss[2], 0.005, 1e-12);
    CU_ASSERT(isnan(b.loss[0]) && isnan(b.loss[1]) && isnan(b.floor[2]));
    CU_ASSERT_EQUAL(b.most[CTT_COST_BYTES], 20000);
    CU_ASSERT_EQUAL(b.most[CTT_COST_MS], 0.05);
    CU_ASSERT_EQUAL(b.most[CTT_COST_MACS], 2e6);
    CU_ASSERT(ctt_budget_has_cost(&b));
    CHECK_OK(ctt_budget_read("top1@25=90,top1@50=-0", &b));
    CU_ASSERT_DOUBLE_EQUAL(b.floor[0], 0.9, 1e-12);
    CU_ASSERT_EQUAL(b.loss[1], 0);
    CU_ASSERT(isinf(b.most[CTT_COST_BYTES]) && !ctt_budget_has_cost(&b));
}

static void test_refused(void)
{
    static const struct { const char *text, *says; } bad[] = {
        { "", "nothing is limited" }, { "bytes", "'bytes' is not NAME" },
        { "bytes=", "not a number" }, { "bytes=-3", "not a number above 0" },
        { "bytes=0", "not a number above 0" }, { "ms=1x", "not a number" },
        { "bytes=nan", "not a number" }, { "bytes=inf", "not a number" },
        { "top1=101", "-100 to 100" }, { "top1=a", "-100 to 100" },
        { "bytes=1k,bytes=2k", "bytes is limited twice" },
        { "bytes=1k,", "has a comma without a limit" },
        { "bytes=1k,,top1=-1", "has a comma without a limit" },
        { "top1=-1,top1@100=90", "top1@100 is limited twice" },
        { "disk=3M", "'disk' is none of" }, { "top1@30=-1", "is none of" },
        { "energy=2", "there is no counter" },
    };
    struct ctt_budget b;

    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT(fails(ctt_budget_read(bad[i].text, &b), CTT_EINVAL,
                    bad[i].says));
}

/* ---- the choice ---- */

enum { WEIGHTS = 4, WAYS = 6, SEEDS = 60 };

struct curves {
    struct ctt_way way[WEIGHTS * WAYS];
    int            first[WEIGHTS + 1];
    struct ctt_ways m;
};

static double draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

/* Harm rises as costs fall; two costs go their own ways. */
static void make_curves(struct curves *c, unsigned seed)
{
    c->m = (struct ctt_ways){ WEIGHTS, c->first, c->way, { 1, 1, 0 } };
    for (int i = 0; i <= WEIGHTS; i++)
        c->first[i] = i * WAYS;
    for (int i = 0; i < WEIGHTS; i++) {
        struct ctt_way w = { .cost = { 10, 10, 0 } };

        for (int k = 0; k < WAYS; k++) {
            c->way[i * WAYS + k] = w;
            w.harm += draw(&seed) * (1 + k);
            w.cost[0] *= 0.4 + 0.5 * draw(&seed);
            w.cost[1] *= 0.5 + 0.6 * draw(&seed);
        }
    }
}

/* All choices, one by one.  INFINITY: none holds. */
static double least_harm(const struct curves *c, const struct ctt_aim_at *a)
{
    double least = INFINITY;

    for (int n = 0; n < WAYS * WAYS * WAYS * WAYS; n++) {
        int pick[WEIGHTS] = { n % WAYS, n / WAYS % WAYS,
                              n / WAYS / WAYS % WAYS,
                              n / WAYS / WAYS / WAYS };
        struct ctt_way sum = ctt_ways_sum(&c->m, pick);

        if (sum.cost[0] <= a->most[0] && sum.cost[1] <= a->most[1])
            least = fmin(least, sum.harm);
    }
    return least;
}

static struct ctt_aim_at limited(double bytes, double ms)
{
    return (struct ctt_aim_at){ .harm = 1, .most_harm = INFINITY,
                                .most = { bytes, ms, INFINITY, INFINITY } };
}

/* A choice within the limits harms hardly more than the best of all; if there
 * is none that is said. */
static void test_allocate(void)
{
    double found = 0, best = 0;
    int pick[WEIGHTS], equal = 0, all = 0;
    struct curves c;

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        struct ctt_aim_at a = limited(8 + seed % 20, 12 + seed % 13);
        struct ctt_way sum;
        double least;
        int rc;

        make_curves(&c, seed);
        least = least_harm(&c, &a);
        rc = ctt_allocate(&c.m, &a, pick);
        CU_ASSERT(rc == 0 || rc == 1);
        CU_ASSERT(rc == 0 || isinf(least));
        if (rc)
            continue;
        sum = ctt_ways_sum(&c.m, pick);
        CU_ASSERT(sum.cost[0] <= a.most[0] && sum.cost[1] <= a.most[1]);
        CU_ASSERT(sum.harm >= least - 1e-9);
        found += sum.harm;
        best += least;
        equal += sum.harm <= least + 1e-9;
        all++;
    }
    printf("%d of %d are best, harm %.3f of the best\n", equal, all,
           found / best);
    CU_ASSERT(all > SEEDS / 2);
    CU_ASSERT(equal > all / 2);
    CU_ASSERT(found <= 1.1 * best);
}

#define WAY(h, bytes) { .harm = (h), .cost = { (bytes), 0, 0 } }

/* Convex curves, whose corners are all on the hull: the greedy optimum. */
static void test_convex(void)
{
    static const struct ctt_way way[] = {
        WAY(0, 8), WAY(1, 4), WAY(3, 2), WAY(0, 8), WAY(0.1, 4), WAY(0.4, 2),
    };
    int first[] = { 0, 3, 6 }, pick[2];
    struct ctt_ways m = { 2, first, (struct ctt_way *)way, { 0 } };
    struct ctt_aim_at a = limited(10, INFINITY);

    CU_ASSERT_EQUAL(ctt_allocate(&m, &a, pick), 0);
    CU_ASSERT(pick[0] == 0 && pick[1] == 2);
    a = limited(6, INFINITY);
    CU_ASSERT_EQUAL(ctt_allocate(&m, &a, pick), 0);
    CU_ASSERT(pick[0] == 1 && pick[1] == 2);
    a = limited(3, INFINITY);
    CU_ASSERT_EQUAL(ctt_allocate(&m, &a, pick), 1);
    CU_ASSERT(pick[0] == 2 && pick[1] == 2);
    a = (struct ctt_aim_at){ .harm = 1e-9, .price = { 1 }, .most_harm = 0.5,
                             .most = { INFINITY, INFINITY, INFINITY,
                                       INFINITY } };
    CU_ASSERT_EQUAL(ctt_allocate(&m, &a, pick), 0);
    CU_ASSERT(pick[0] == 0 && pick[1] == 2);
}

/* ---- acceptance ---- */

static void test_accept(void)
{
    struct ctt_budget b;
    struct ctt_paired t = { 100, 90, 80, 10, 0 };

    CHECK_OK(ctt_budget_read("top1=-0,top1@50=80,top1@25=-5", &b));
    CU_ASSERT_DOUBLE_EQUAL(ctt_budget_tail(&b, 2, &t), pow(0.5, 10), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_budget_tail(&b, 0, &t), pow(0.5, 5), 1e-9);
    CU_ASSERT(!ctt_budget_kept(&b, 2, &t) && !ctt_budget_kept(&b, 0, &t));
    CU_ASSERT(ctt_budget_kept(&b, 1, &t));
    t = (struct ctt_paired){ 100, 90, 87, 6, 3 };
    CU_ASSERT(ctt_budget_tail(&b, 2, &t) > CTT_BUDGET_DOUBTED);
    CU_ASSERT(!ctt_budget_kept(&b, 2, &t) && ctt_budget_kept(&b, 0, &t));
    t.is = 70;
    CU_ASSERT(ctt_budget_tail(&b, 1, &t) <= CTT_BUDGET_REFUTED);
    t.is = 78;
    CU_ASSERT(ctt_budget_tail(&b, 1, &t) > CTT_BUDGET_DOUBTED);
    CU_ASSERT(!ctt_budget_kept(&b, 1, &t));
}

/* A standard error of the difference, the root of lost + won, is about where
 * doubt begins. */
static void test_doubt(void)
{
    struct ctt_budget b;
    struct ctt_paired t = { 400, 300, 293, 30, 23 };

    CHECK_OK(ctt_budget_read("top1=-0", &b));
    CU_ASSERT(ctt_budget_tail(&b, 2, &t) > CTT_BUDGET_DOUBTED);
    t = (struct ctt_paired){ 400, 300, 291, 31, 22 };
    CU_ASSERT(ctt_budget_tail(&b, 2, &t) <= CTT_BUDGET_DOUBTED);
    CU_ASSERT(ctt_budget_tail(&b, 2, &t) > CTT_BUDGET_REFUTED);
}

/* As by hand; never of no width; and of what is as likely to be better as to be
 * worse 0 is the middle. */
static void test_interval(void)
{
    struct ctt_paired t = { 98, 60, 55, 9, 4 };
    double low, high;

    ctt_paired_interval(&t, &low, &high);
    CU_ASSERT_DOUBLE_EQUAL((low + high) / 2, -0.05, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(high - low, 2 * 1.96 * sqrt((0.14 - 0.0025) / 100),
                           1e-5);
    t = (struct ctt_paired){ 50, 50, 50, 0, 0 };
    ctt_paired_interval(&t, &low, &high);
    CU_ASSERT(low < -0.01 && high > 0.01 && fabs(low + high) < 1e-12);
    t = (struct ctt_paired){ 1, 0, 1, 0, 1 };
    ctt_paired_interval(&t, &low, &high);
    CU_ASSERT(low >= -1 && high <= 1 && high > 0.5);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "reading", test_read },
        { "refused", test_refused },
        { "choice", test_allocate },
        { "convex curves", test_convex },
        { "acceptance", test_accept },
        { "doubt", test_doubt },
        { "interval", test_interval },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "budget", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
