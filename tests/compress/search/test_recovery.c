/* SPDX-License-Identifier: Apache-2.0
 * test_recovery.c: what a short retraining left of the harm of some values
 * corrects that of all. */
#include "compress/stage.h"
#include "tests/lib/check.h"
#include "tests/lib/small.h"

#include <math.h>
#include <string.h>

static const char net[] =
    "input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "conv b in=r out=16 kernel=3 pad=1\npool p in=b kind=avg\n"
    "conv y in=p out=5\n";

/* The points are measured: the harm of weight i at value k is (i + 1) (k + 1)^2
 * tenths of a nat, but for the tensor trains of a, which can't be. */
static struct ctt_sensitivity *sensed(const struct ctt_model *m)
{
    struct ctt_sensitivity *s = NULL;

    CHECK_OK(ctt_sensitivity_new(m, &s));
    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];
        int k = 0;

        while (p->ladder->value[k] != p->value)
            k++;
        p->done = 1;
        p->fit = 0.1 * (p->weight + 1) * (k + 1) * (k + 1);
        if (p->weight == 0 && p->ladder->stage == &ctt_stage_tt)
            strcpy(p->why, "too small");
    }
    return s;
}

static int value_of(const struct ctt_sensitivity_point *p)
{
    int k = 0;

    while (p->ladder->value[k] != p->value)
        k++;
    return k;
}

/* Weight 2 has 80 of 4,400 values: too few for factors.  The strongest value is
 * measured, and what can be healed is INT8 never. */
static void test_levels(void)
{
    struct ctt_level level[CTT_LEVELS];
    int n = ctt_levels(level), strongest = 0;

    CU_ASSERT(n > 8 && n < CTT_LEVELS);
    for (int i = 0; i < n; i++) {
        CU_ASSERT(isnan(level[i].left) && level[i].value > 0);
        CU_ASSERT(level[i].ladder->stage != &ctt_stage_int8);
        CU_ASSERT(level[i].ladder->stage != &ctt_stage_thin);
        strongest += level[i].value == level[i].ladder->values - 1;
    }
    CU_ASSERT_EQUAL(strongest, 5);
}

static void test_parts(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_level level[CTT_LEVELS];
    struct ctt_part part[4];
    int n = ctt_levels(level);

    CU_ASSERT_EQUAL_FATAL(s->weights, 3);
    for (int i = 0; i < n; i++) {
        int tt = level[i].ladder->stage == &ctt_stage_tt;
        int form = tt || level[i].ladder->stage == &ctt_stage_svd;

        CU_ASSERT(ctt_level_parts(s, &level[i], part));
        for (int w = 0; w < 3; w++) {
            int some = part[w].form || part[w].prune || part[w].share;

            CU_ASSERT_EQUAL(some, !(tt && w == 0) && !(form && w == 2));
            CU_ASSERT_PTR_NULL(part[w].int8);
        }
    }
    for (int i = 0; i < s->points; i++)
        s->point[i].done = 0;
    CU_ASSERT(!ctt_level_parts(s, &level[0], part));
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* Retraining left a tenth, but of sharing all: each measured level adds up to
 * that, values between two lie between, and no point bears more than before. */
static void test_recovery(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = sensed(m), *was = sensed(m);
    struct ctt_level level[CTT_LEVELS];
    int n = ctt_levels(level);

    for (int i = 0; i < n; i++)
        level[i].left = ctt_level_harm(s, &level[i]) *
            (level[i].ladder->stage == &ctt_stage_share ? 3 : 0.1);
    ctt_recovery(s, level, n);
    for (int i = 0; i < n; i++) {
        double before = ctt_level_harm(was, &level[i]);

        CU_ASSERT_DOUBLE_EQUAL(ctt_level_harm(s, &level[i]),
                               fmin(before, level[i].left), 1e-9);
    }
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];
        int healed = p->ladder->stage == &ctt_stage_svd ||
                     (p->ladder->stage == &ctt_stage_tt && !p->why[0]);

        if (p->ladder->stage == &ctt_stage_prune)
            continue;
        CU_ASSERT_DOUBLE_EQUAL(p->fit, (healed ? 0.1 : 1) * was->point[i].fit,
                               1e-9);
    }
    ctt_sensitivity_free(&was);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* A level that does no harm that can be seen says nothing: milder values keep
 * what the strong one keeps; if no level says anything, all. */
static void test_harmless(void)
{
    struct ctt_model *m = small_model(net, 3);
    const struct ctt_ladder *l = &ctt_ladders[2];

    for (int strong = 0; strong < 2; strong++) {
        struct ctt_sensitivity *s = sensed(m), *was = sensed(m);
        struct ctt_level level[2] = { { l, 2, 0.001 }, { l, 4, 0 } };

        for (int i = 0; i < s->points; i++)
            if (s->point[i].ladder == l && (s->point[i].value > 2 || !strong))
                s->point[i].fit = was->point[i].fit = 1e-3;
        level[1].left = ctt_level_harm(s, &level[1]) / 4;
        ctt_recovery(s, level, 2);
        for (int i = 0; i < s->points; i++)
            if (s->point[i].ladder == l && !s->point[i].why[0])
                CU_ASSERT_DOUBLE_EQUAL(s->point[i].fit, was->point[i].fit /
                                       (strong ? 4 : 1), 1e-9);
        ctt_sensitivity_free(&was);
        ctt_sensitivity_free(&s);
    }
    ctt_model_free(&m);
}

/* With one strong level known and one that keeps all, what lies between keeps a
 * share between; without any, nothing changes.  Fits rise still, even if a
 * stronger level kept less. */
static void test_between(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = sensed(m), *was = sensed(m);
    const struct ctt_ladder *l = &ctt_ladders[2];
    struct ctt_level level[2] = { { l, 4, 0 }, { l, 2, 0 } };
    double last = 0;

    CU_ASSERT_FATAL(l->stage == &ctt_stage_share);

    level[0].left = ctt_level_harm(s, &level[0]) * 0.01;
    level[1].left = ctt_level_harm(s, &level[1]);
    ctt_recovery(s, level, 2);
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sensitivity_point *p = &s->point[i];

        last = p->weight == 0 && p->ladder == l && value_of(p) ? last : 0;
        if (p->ladder != l) {
            CU_ASSERT(p->ladder->stage == &ctt_stage_prune ||
                      p->fit == was->point[i].fit);
            continue;
        }
        if (value_of(p) < 2)
            CU_ASSERT(p->fit <= was->point[i].fit + 1e-12);
        CU_ASSERT(p->fit >= last - 1e-12);
        last = p->fit;
    }
    ctt_sensitivity_free(&was);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* Pruning is what levels came to: less below the least one, between two in
 * between, each weight by what it bears alone. */
static void test_pruned(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = sensed(m);
    const struct ctt_ladder *l = &ctt_ladders[0];
    int last = l->values - 1;
    struct ctt_level level[2] = { { l, last, 0.5 }, { l, 2, 0.02 } };
    double sum[16];

    ctt_recovery(s, level, 2);
    for (int k = 0; k < l->values; k++) {
        struct ctt_level at = { l, k, NAN };

        sum[k] = ctt_level_harm(s, &at);
        CU_ASSERT(k == 0 || sum[k] > sum[k - 1]);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum[last], 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(sum[2], 0.02, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(sum[0], 0.02 * 1 / 4, 1e-9);
    for (int i = 0; i < s->points; i++)
        if (s->point[i].ladder == l)
            CU_ASSERT_DOUBLE_EQUAL(s->point[i].fit, sum[value_of(&s->point[i])]
                * (s->point[i].weight + 1) / 6, 1e-9);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* What sharing the large weights costs while they are whole. */
static double whole(const struct ctt_sensitivity *s, int bits)
{
    double sum = 0;

    for (int i = 0; i < s->points; i++)
        if (s->point[i].ladder->stage == &ctt_stage_share &&
            s->point[i].weight < 2 && value_of(&s->point[i]) == bits)
            sum += s->point[i].fit;
    return sum;
}

static const struct ctt_sensitivity_point *
point(const struct ctt_sensitivity *s, const struct ctt_ladder *l, int k)
{
    for (int i = 0; i < s->points; i++)
        if (s->point[i].weight == 1 && s->point[i].ladder == l &&
            value_of(&s->point[i]) == k)
            return &s->point[i];
    return NULL;
}

/* Sharing harms mild factors 4 times as much as whole weights, strong ones 16
 * times with 2 bits and less than whole ones with 4. */
static void test_shared(void)
{
    enum { SHARE = 2, SVD = 3 };
    const struct ctt_ladder *share = &ctt_ladders[SHARE];
    const struct ctt_ladder *svd = &ctt_ladders[SVD];
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_level level[2] = { { svd, 3, 0.1, { 0 } },
                                  { svd, 1, 0.1, { 0 } } };
    struct ctt_part part = { point(s, svd, 2), NULL, point(s, share, 4),
                             NULL };

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < CTT_LADDER_MOST; k++)
            level[i].shared[k] = k < 2 || k > 4 ? NAN :
                (i ? 4 : k == 4 ? 16 : 0.5) * whole(s, k);
    ctt_recovery_shared(s, level, 2);
    CU_ASSERT_DOUBLE_EQUAL(s->on_factors[SVD][1][4], 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s->on_factors[SVD][3][4], 16, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s->on_factors[SVD][2][4], 8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s->on_factors[SVD][0][4], 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s->on_factors[SVD][3][2], 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s->on_factors[SVD][1][0], 4, 1e-9);
    CU_ASSERT(s->on_factors[SVD + 1][1][4] == 0);
    CU_ASSERT_DOUBLE_EQUAL(ctt_part_harm(s, &part, CTT_PART_SHARE),
                           8 * part.share->fit, 1e-9);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* Levels of factors are shared, those with few bits, where they have
 * factors. */
static void test_share_parts(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_level level[CTT_LEVELS];
    struct ctt_part part[4];
    int n = ctt_levels(level), some = 0;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < CTT_LADDER_MOST; k++) {
            if (!ctt_level_share(s, &level[i], k, part))
                continue;
            some++;
            CU_ASSERT(ctt_is_level_shared(level[i].ladder, k));
            for (int w = 0; w < 3; w++)
                CU_ASSERT(!part[w].prune && !part[w].int8 &&
                          !part[w].form == !part[w].share &&
                          (!part[w].share || part[w].share->value <= 4));
        }
    CU_ASSERT_EQUAL(some, 4 * 3);
    CU_ASSERT(ctt_shared_left(s, level, n) == 1);
    for (int i = 0; i < n; i++)
        if (level[i].ladder->stage == &ctt_stage_share)
            level[i].left = 0.3 * ctt_level_harm(s, &level[i]);
    CU_ASSERT_DOUBLE_EQUAL(ctt_shared_left(s, level, n), 0.3, 1e-9);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "levels", test_levels },
        { "parts", test_parts },
        { "healed", test_recovery }, { "harmless", test_harmless },
        { "between", test_between },
        { "pruned", test_pruned },
        { "shared", test_shared },
        { "parts shared", test_share_parts },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "heal", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
