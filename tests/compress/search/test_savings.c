/* SPDX-License-Identifier: Apache-2.0
 * test_savings.c: what the menu expects of a mix is what it costs. */
#include "tests/lib/sensed.h"

#include <math.h>

/* As little harm as possible within so many bytes. */
static struct ctt_aim_at within(double bytes)
{
    return (struct ctt_aim_at){ .harm = 1, .most_harm = INFINITY,
        .most = { bytes, INFINITY, INFINITY, INFINITY } };
}

/* What the menu expects of a mix is what the mix costs, if nothing is
 * factorised: bytes within 5%. */
static void test_offer(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    struct ctt_recipe_calls calls = { .sample = NULL };
    struct ctt_aim_at a = within(6500);
    struct ctt_offer *f = NULL;
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_part part[8];
    const struct ctt_costs costs = { { 0, NAN, 0, 150000 }, NAN };
    struct ctt_costs is;
    struct ctt_way sum;

    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_savings.tmp", NULL, &f));
    CU_ASSERT_EQUAL(ctt_allocate_each(f, &a, part, &sum), 0);
    for (int i = 0; i < s->weights; i++)
        CU_ASSERT(!part[i].int8 && (!part[i].prune || !part[0].prune ||
                  part[i].prune->value == part[0].prune->value));
    CHECK_OK(ctt_assignment_recipe(s, part, &given, &o));
    CHECK_OK(ctt_assignment_try(m, ctt_assignment_settings(o), &calls, "",
                                "test_savings.tmp", &is));
    printf("%.0f bytes expected, %.0f are\n",
           sum.cost[0], is.cost[CTT_COST_BYTES]);
    CU_ASSERT_DOUBLE_EQUAL(sum.cost[0] / is.cost[CTT_COST_BYTES], 1, 0.05);
    CU_ASSERT(isnan(is.cost[CTT_COST_MS]) && isnan(is.cost[CTT_COST_RAM]));
    a = (struct ctt_aim_at){ .harm = 1, .most_harm = INFINITY,
        .most = { INFINITY, INFINITY, INFINITY, 120000 } };
    CU_ASSERT_EQUAL(ctt_allocate_each(f, &a, part, &sum), 0);
    CU_ASSERT(sum.cost[CTT_COST_RAM] <= 120000 && sum.harm > 0);
    a.most[CTT_COST_RAM] = INFINITY;
    CU_ASSERT_EQUAL(ctt_allocate_each(f, &a, part, &sum), 0);
    CU_ASSERT(sum.cost[CTT_COST_RAM] == 150000 && sum.harm == 0);
    CU_ASSERT(is.cost[CTT_COST_MACS] > 0);
    ctt_assignment_recipe_free(&o);
    ctt_offer_free(&f);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* What all weights come to that are pruned to one share and have four bits, and
 * those that can read bytes do. */
static double all_bytes(const struct ctt_offer *f, double share, int int8,
                        struct ctt_part *part)
{
    double sum = f->menu.rest[CTT_COST_BYTES];

    for (int i = 0; i < f->menu.weights; i++) {
        double bytes = 0;

        for (int k = f->menu.first[i]; k < f->menu.first[i + 1]; k++) {
            const struct ctt_part *p = &f->part[k];

            if (p->form || (p->int8 && !int8) || !p->share ||
                p->share->value != 4 || !p->prune ||
                fabs(p->prune->value - share) > 1e-9)
                continue;
            part[i] = *p;    /* INT8 comes last */
            bytes = f->menu.way[k].cost[CTT_COST_BYTES];
        }
        sum += bytes;
    }
    return sum;
}

/* A mix has the bytes that are expected of it, within that share. */
static void check_bytes(const struct ctt_model *m,
                        const struct ctt_sensitivity *s,
                        const struct ctt_part *part, double bytes,
                        double within)
{
    struct ctt_recipe given = defaults();
    struct ctt_recipe_calls calls = { .sample = NULL };
    struct ctt_assignment_recipe *o = NULL;
    struct ctt_costs is;

    CHECK_OK(ctt_assignment_recipe(s, part, &given, &o));
    CHECK_OK(ctt_assignment_try(m, ctt_assignment_settings(o), &calls, "",
                                "test_savings.tmp", &is));
    printf("%.0f bytes expected, %.0f are\n", bytes,
           is.cost[CTT_COST_BYTES]);
    CU_ASSERT_DOUBLE_EQUAL(bytes / is.cost[CTT_COST_BYTES], 1, within);
    ctt_assignment_recipe_free(&o);
}

/* Points of INT8 count as measured, which they are not without clips. */
static void allow_int8(struct ctt_sensitivity *s)
{
    for (int i = 0; i < s->points; i++)
        if (s->point[i].ladder->stage == &ctt_stage_int8)
            s->point[i].why[0] = '\0';
}

/* Shares of pruning that are not coded have about the bytes that they have if
 * they are. */
static void test_between(void)
{
    static const double share[] = { 0.8, 0.8586, 0.9, 0.95, 0.9684, 0.99 };
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    const struct ctt_costs costs = { { 0, NAN, 0, NAN }, NAN };
    struct ctt_offer *f = NULL;

    allow_int8(s);
    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_savings.tmp", NULL, &f));
    for (size_t k = 0; k < CTT_LEN(share); k++) {
        struct ctt_part part[8] = { { .form = NULL } };
        double bytes = all_bytes(f, share[k], k % 2, part);

        CU_ASSERT(part[1].prune && part[1].share);
        CU_ASSERT_EQUAL(part[1].int8 != NULL, k % 2);
        check_bytes(m, s, part, bytes, 0.03);
    }
    ctt_offer_free(&f);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* The bytes of a weight pruned and shared as `like` says, with these factors
 * (NULL: whole); *is: the part. */
static double bytes_with(const struct ctt_offer *f, int weight,
                         const struct ctt_part *like, const char *form,
                         double value, struct ctt_part *is)
{
    for (int k = f->menu.first[weight]; k < f->menu.first[weight + 1]; k++) {
        const struct ctt_part *p = &f->part[k];

        if (p->int8 || p->share != like->share || p->prune != like->prune ||
            !p->form != !form)
            continue;
        if (form && (p->form->value != value ||
                     strcmp(p->form->ladder->name, form) != 0))
            continue;
        *is = *p;
        return f->menu.way[k].cost[CTT_COST_BYTES];
    }
    CU_FAIL_FATAL("no such way");
    return NAN;
}

/* Factors, pruned and shared, have about the bytes that they are expected to
 * have: which of all pruned weights keep how many values is not known. */
static void test_factors(void)
{
    static const struct { const char *form; double value, prune; } of[] = {
        { "svd", 0.25, 0.8 }, { "tensor train", 8, 0.9 },
        { "svd", 0.5, 0.9684 },
    };
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    const struct ctt_costs costs = { { 0, NAN, 0, NAN }, NAN };
    struct ctt_offer *f = NULL;

    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_savings.tmp", NULL, &f));
    for (size_t i = 0; i < CTT_LEN(of); i++) {
        struct ctt_part part[8] = { { .form = NULL } };
        struct ctt_part whole = { .form = NULL };
        double bytes = all_bytes(f, of[i].prune, 0, part);

        bytes -= bytes_with(f, 1, &part[1], NULL, 0, &whole);
        bytes += bytes_with(f, 1, &whole, of[i].form, of[i].value, &part[1]);
        check_bytes(m, s, part, bytes, 0.08);
    }
    ctt_offer_free(&f);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* The harm of a weight that is pruned alone to this share. */
static double pruned_harm(const struct ctt_offer *f, int weight, double share)
{
    for (int k = f->menu.first[weight]; k < f->menu.first[weight + 1]; k++) {
        const struct ctt_part *p = &f->part[k];

        if (!p->form && !p->share && !p->int8 && p->prune &&
            fabs(p->prune->value - share) < 1e-9)
            return f->menu.way[k].harm;
    }
    CU_FAIL_FATAL("no such way");
    return NAN;
}

/* A share between two measured ones harms what lies between, also after their
 * fits have changed. */
static void test_fine_harm(void)
{
    static const struct ctt_trust equal = { { 1, 1, 1, 1 }, 1 };
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    const struct ctt_costs costs = { { 0, NAN, 0, NAN }, NAN };
    struct ctt_offer *f = NULL;

    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_savings.tmp", NULL, &f));
    for (int i = 0; i < s->points; i++)
        if (s->point[i].ladder->stage == &ctt_stage_prune)
            s->point[i].fit = s->point[i].value;
    ctt_offer_trust(f, s, &equal);
    CU_ASSERT_DOUBLE_EQUAL(pruned_harm(f, 1, 0.9), 0.9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(pruned_harm(f, 1, 0.9293), 0.925, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(pruned_harm(f, 1, 0.95), 0.95, 1e-9);
    ctt_offer_free(&f);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

static const struct ctt_ladder *ladder_of(const struct ctt_part *p)
{
    return p->form ? p->form->ladder : NULL;
}

/* A mix with a little less, and nothing else changed than ranks and bits. */
static void test_lessen(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    const struct ctt_costs costs = { { 0, NAN, 0, NAN }, NAN };
    struct ctt_aim_at a = within(6500);
    struct ctt_part part[8], was[8], none[8] = { { .form = NULL } };
    struct ctt_offer *f = NULL;
    struct ctt_way before, sum;

    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_savings.tmp", NULL, &f));
    CU_ASSERT_EQUAL(ctt_allocate_each(f, &a, part, &before), 0);
    memcpy(was, part, sizeof(was));
    CU_ASSERT_EQUAL(
        ctt_offer_trim(f, CTT_COST_BYTES, before.cost[0], part, &sum), 0);
    CU_ASSERT(memcmp(was, part, sizeof(was[0]) * (size_t)s->weights) == 0);
    CU_ASSERT_EQUAL(
        ctt_offer_trim(f, CTT_COST_BYTES, 0.96 * before.cost[0], part, &sum),
        0);
    CU_ASSERT(sum.cost[0] <= 0.96 * before.cost[0]);
    CU_ASSERT(sum.cost[0] > 0.8 * before.cost[0]);
    CU_ASSERT(sum.harm >= before.harm);
    for (int i = 0; i < s->weights; i++)
        CU_ASSERT(part[i].prune == was[i].prune &&
                  part[i].int8 == was[i].int8 &&
                  ladder_of(&part[i]) == ladder_of(&was[i]));
    CU_ASSERT_EQUAL(ctt_offer_trim(f, CTT_COST_BYTES, 10, part, &sum), 1);
    none[0].form = point(s, "y", "int8", 1);
    CU_ASSERT(fails(ctt_offer_trim(f, CTT_COST_BYTES, 10, none, &sum),
                    CTT_EINVAL, "does not have the mix"));
    ctt_offer_free(&f);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

/* Whether all weights that can have a kind have the same value of it. */
static int alike(const struct ctt_sensitivity *s, const struct ctt_offer *f,
                 const struct ctt_part *part)
{
    for (int i = 0; i < f->menu.first[s->weights]; i++)
        for (int k = 0; k < CTT_PART_KINDS; k++) {
            const struct ctt_sensitivity_point *p =
                ctt_part_point(&f->part[i], k);
            const struct ctt_sensitivity_point *is;

            for (int w = 0; p && w < s->weights; w++) {
                const struct ctt_sensitivity_point *o =
                    ctt_part_point(&part[w], k);

                is = ctt_part_point(&part[p->weight], k);
                if (o && o->ladder == p->ladder && o->value == p->value &&
                    is != p)
                    return 0;
            }
        }
    return 1;
}

/* The harm of the best pruning and sharing of all weights, tried one by one. */
static double least_alike(const struct ctt_sensitivity *s,
                          const struct ctt_offer *f, double bytes)
{
    double least = INFINITY;

    for (int i = f->menu.first[0]; i < f->menu.first[1]; i++) {
        const struct ctt_part *of = &f->part[i];
        struct ctt_way sum = { .cost = { f->menu.rest[0] } };

        for (int w = 0; w < s->weights && !of->form && !of->int8; w++)
            for (int k = f->menu.first[w]; k < f->menu.first[w + 1]; k++) {
                const struct ctt_part *p = &f->part[k];

                if (!p->form && !p->int8 && !p->prune == !of->prune &&
                    !p->share == !of->share &&
                    (!p->prune || p->prune->value == of->prune->value) &&
                    (!p->share || p->share->value == of->share->value)) {
                    sum.harm += f->menu.way[k].harm;
                    sum.cost[0] += f->menu.way[k].cost[0];
                }
            }
        if (!of->form && !of->int8 && sum.cost[0] <= bytes)
            least = fmin(least, sum.harm);
    }
    return least;
}

/* All weights get the same, the best of it; factors only if they are asked. */
static void test_alike(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    struct ctt_aim_at a = within(5000);
    struct ctt_offer *f = NULL;
    static const struct ctt_trust equal = { { 1, 1, 1, 1 }, 1 };
    const struct ctt_costs costs = { { 0, NAN, 0, NAN }, NAN };
    struct ctt_part part[8];
    struct ctt_way sum;

    for (int i = 0; i < s->points; i++)
        s->point[i].fit = s->point[i].ladder->stage == &ctt_stage_share
                        ? 1 / s->point[i].value : s->point[i].value;
    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_savings.tmp", NULL, &f));
    CU_ASSERT_EQUAL(ctt_allocate_uniform(f, s, NULL, &a, part, &sum), 0);
    CU_ASSERT(part[1].share && !part[1].form && alike(s, f, part));
    CU_ASSERT(sum.cost[0] <= 5000);
    CU_ASSERT_DOUBLE_EQUAL(sum.harm, least_alike(s, f, 5000), 1e-9);
    for (int i = 0; i < s->points; i++)
        if (s->point[i].ladder->stage == &ctt_stage_prune)
            s->point[i].fit = 100;
    ctt_offer_trust(f, s, &equal);
    CU_ASSERT_EQUAL(ctt_allocate_uniform(f, s, "svd", &a, part, &sum), 0);
    CU_ASSERT(part[1].form && part[1].form->ladder->stage == &ctt_stage_svd);
    CU_ASSERT(!part[1].prune && part[1].share);
    CU_ASSERT(ctt_part_harm(s, &part[1], CTT_PART_SHARE) >
              1.2 * part[1].share->fit);
    a = within(10);
    CU_ASSERT_EQUAL(ctt_allocate_uniform(f, s, "svd", &a, part, &sum), 1);
    CU_ASSERT(!ctt_is_large(s, s->weights - 1) &&
              !part[s->weights - 1].form);
    ctt_offer_free(&f);
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "menu", test_offer }, { "between", test_between },
        { "factors", test_factors }, { "fine harm", test_fine_harm },
        { "a little less", test_lessen },
        { "alike", test_alike },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "menus", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
