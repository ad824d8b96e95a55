/* SPDX-License-Identifier: Apache-2.0
 * test_ways.c: the ways of a weight have the bytes, multiplications and harm of
 * their options, and styles leave some out. */
#include "compress/search/ways.h"
#include "compress/trial.h"
#include "tests/lib/sensed.h"

#include <math.h>

static struct ctt_costs given = { { 0, NAN, 0, NAN }, NAN };

static const struct ctt_ladder *any(void)
{
    const struct ctt_ladder *l;
    int i = 0;

    while ((l = ctt_ladder(i)) && l->kind != CTT_OPTION_PRUNE)
        i++;
    return l;
}

/* The bytes of the file of an assignment. */
static double bytes_of(const struct ctt_sensitivity *s,
                       const struct ctt_model *m,
                       const struct ctt_assignment *a)
{
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_recipe plain = defaults();
    struct ctt_trial t = { .file = NULL };
    double bytes;

    CHECK_OK(ctt_assignment_recipe(s, a, &plain, &o));
    CHECK_OK(ctt_trial_recipe(m, ctt_stages, NULL, ctt_assignment_settings(o),
                              "test_ways.tmp", &t));
    bytes = (double)t.bytes;
    ctt_trial_drop(&t);
    ctt_assignment_recipe_free(&o);
    return bytes;
}

/* The bytes of the picked ways, as their sum, relative to the file. */
static double ratio_of(const struct ctt_sensitivity *s,
                       const struct ctt_model *m, const struct ctt_ways *w,
                       const struct ctt_common *all, const int *pick)
{
    struct ctt_assignment *a = NULL;
    double is;

    CHECK_OK(ctt_assignment_new(s, &a));
    for (int i = 0; i < s->weights; i++)
        a->weight[i] = w->way[w->first[i] + pick[i]].is;
    a->pruning = all->pruning;
    a->prune = all->prune;
    is = bytes_of(s, m, a);
    ctt_free(a);
    return ctt_ways_sum(w, pick).cost[CTT_COST_BYTES] / is;
}

/* Estimates are near enough to be corrected by a trial or two. */
static void test_bytes(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    const struct ctt_style plain = { .thin = 0 };
    const struct ctt_common common[] = { { NULL, 0, NULL, 0 },
                                         { any(), 0.9, NULL, 0 } };

    struct ctt_assignment *none = NULL;

    CHECK_OK(ctt_assignment_new(s, &none));
    given.cost[CTT_COST_BYTES] = bytes_of(s, m, none);
    ctt_free(none);
    for (size_t c = 0; c < CTT_LEN(common); c++)
        for (int seed = 0; seed < 6; seed++) {
            struct ctt_ways *w = NULL;
            int pick[8];

            CHECK_OK(ctt_ways_new(s, &given, &plain, &common[c], &w));
            for (int i = 0; i < w->weights; i++)
                pick[i] = (5 + 7 * seed + 3 * i) %
                          (w->first[i + 1] - w->first[i]);
            CU_ASSERT(fabs(ratio_of(s, m, w, &common[c], pick) - 1) < 0.2);
            ctt_ways_free(&w);
        }
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* Sharing the same bits harms factors more, as they are smaller. */
static void test_harm(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_assigned w = { .share = point(s, "a", "share", 3) };
    double whole = ctt_assigned_harm(s, 0, &w, NULL, 0), form, left;

    CU_ASSERT_DOUBLE_EQUAL(whole, w.share->fit, 1e-12);
    w.form = point(s, "a", "svd", 0.25);
    left = ctt_sensitivity_left(s, w.form);
    form = ctt_assigned_harm(s, 0, &w, NULL, 0) - w.form->fit;
    CU_ASSERT_DOUBLE_EQUAL(form, whole / left, 1e-9);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* How many ways of a weight are factorised, and pruned. */
static void count(const struct ctt_ways *w, int weight, int *all, int *forms,
                  int *pruned)
{
    *all = *forms = *pruned = 0;
    for (int k = w->first[weight]; k < w->first[weight + 1]; k++) {
        ++*all;
        *forms += w->way[k].is.form != NULL;
        *pruned += w->way[k].is.pruned;
    }
}

/* Whole weights have no factors; pruning is of all weights that are whole; and
 * uniform factors are of all large ones. */
static void test_styles(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    const struct ctt_style whole = { .whole = 1 }, uniform = { .uniform = 1 };
    struct ctt_common all = { any(), 0.9, NULL, 0 };
    int n, forms, pruned;
    struct ctt_ways *w = NULL;

    CHECK_OK(ctt_ways_new(s, &given, &whole, &all, &w));
    count(w, 0, &n, &forms, &pruned);
    CU_ASSERT(n > 1 && forms == 0 && pruned == n);
    ctt_ways_free(&w);
    all.form = point(s, "a", "svd", 0.25)->ladder;
    all.value = 2;
    CHECK_OK(ctt_ways_new(s, &given, &uniform, &all, &w));
    for (int i = 0; i < s->weights; i++) {
        count(w, i, &n, &forms, &pruned);
        CU_ASSERT(forms == 0 || forms == n);
        CU_ASSERT(ctt_is_large(s, i) || forms == 0);
        for (int k = w->first[i]; k < w->first[i + 1] && forms; k++)
            CU_ASSERT_EQUAL(w->way[k].is.form->value, 0.25);
    }
    ctt_ways_free(&w);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "bytes", test_bytes },
        { "harm", test_harm },
        { "styles", test_styles },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "ways", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
