/* SPDX-License-Identifier: Apache-2.0
 * test_savings_saved.c: time and memory that the menu expects of a way, of
 * those that options save alone. */
#include "tests/lib/sensed.h"

#include <math.h>

/* Of the model as given. */
enum { GIVEN_MS = 10, GIVEN_RAM = 150000 };

static double given_of(int cost)
{
    return cost == CTT_COST_MS ? GIVEN_MS : GIVEN_RAM;
}

/* What a weight's way is expected to save of the model's time or memory, as a
 * share of it; below 0: it costs. */
static double saves(const struct ctt_offer *f, int cost, int weight, int form,
                    int prune, int int8)
{
    for (int k = f->menu.first[weight]; k < f->menu.first[weight + 1]; k++) {
        const struct ctt_part *p = &f->part[k];

        if (!p->form == !form && !p->prune == !prune && !p->int8 == !int8 &&
            !p->share)
            return -f->menu.way[k].cost[cost] / given_of(cost);
    }
    return NAN;
}

static void set_times(struct ctt_sensitivity_point *p, double faster)
{
    p->faster = faster;
    p->ram = GIVEN_RAM / faster;
}

/* One value of each kind, so that its way is found by what it has. */
static void time_points(struct ctt_sensitivity *s, int weight)
{
    static const struct { const char *name; double value, faster; } times[] = {
        { "svd", 0.5, 1.25 }, { "prune any", 0.9, 2 }, { "int8", 1, 1.25 },
    };

    for (int i = 0; i < s->points; i++) {
        struct ctt_sensitivity_point *p = &s->point[i];

        set_times(p, NAN);
        p->done = p->why[0] != '\0';
        for (size_t k = 0; k < CTT_LEN(times); k++)
            if (strcmp(p->ladder->name, times[k].name) == 0 &&
                fabs(p->value - times[k].value) < 1e-9) {
                set_times(p, p->weight == weight ? times[k].faster : NAN);
                p->done = 1;
            }
    }
}

/* Memory of a weight that is not timed is that of its values. */
static void check_values(const struct ctt_offer *f,
                         const struct ctt_sensitivity *s, int weight)
{
    double bytes = 4 * (double)s->weight[weight].params;

    for (int k = f->menu.first[weight]; k < f->menu.first[weight + 1]; k++) {
        const struct ctt_part *p = &f->part[k];
        double left = p->form ? ctt_sensitivity_left(s, p->form) : 1;

        CU_ASSERT_DOUBLE_EQUAL(-f->menu.way[k].cost[CTT_COST_RAM],
                               bytes * (1 - (p->int8 ? left / 4 : left)), 1e-6);
    }
}

static void check_added(const struct ctt_offer *f,
                        const struct ctt_sensitivity *s, int cost)
{
    double both = saves(f, cost, 1, 1, 1, 0) - 0.2;
    double most = cost == CTT_COST_MS ? 0.5 : 0.525;

    CU_ASSERT_DOUBLE_EQUAL(f->menu.rest[cost], given_of(cost), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(saves(f, cost, 1, 0, 0, 0), 0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(saves(f, cost, 1, 0, 1, 0), 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(saves(f, cost, 1, 1, 0, 0), 0.2, 1e-9);
    CU_ASSERT(both > 0.1 && both < most - 0.2 + 1e-5);
    CU_ASSERT_DOUBLE_EQUAL(saves(f, cost, 0, 0, 1, 0), 0, 1e-9);
    check_values(f, s, 0);
}

static void check_slower(const struct ctt_offer *f,
                         const struct ctt_sensitivity *s, int cost)
{
    double both = saves(f, cost, 1, 1, 1, 0) - 0.2;

    (void)s;
    CU_ASSERT_DOUBLE_EQUAL(saves(f, cost, 1, 0, 1, 0), -1, 1e-9);
    CU_ASSERT(both < -0.2 && both > -1);
}

static void check_left(const struct ctt_offer *f,
                       const struct ctt_sensitivity *s, int cost)
{
    double left = 1;

    for (int w = 0; w < s->weights; w++)
        left -= fmax(0, saves(f, cost, w, 0, 1, 0));
    CU_ASSERT(left > 0.04 && left < 0.5);
}

/* What points of a weight save is added up, and nothing saves more time than
 * the best of them, or 1.05 of its memory; what is not timed saves no time. */
static void test_times(void)
{
    static const struct {
        const char *set;    /* of which ladder; "": of all; NULL: as timed */
        double      faster;
        void      (*check)(const struct ctt_offer *f,
                           const struct ctt_sensitivity *s, int cost);
    } turns[] = { { NULL, 0, check_added }, { "prune any", 0.5, check_slower },
                  { "", 4, check_left } };
    struct ctt_model *m = small_model(sensed_net, 3);
    struct ctt_sensitivity *s = sensed(m);
    struct ctt_recipe given = defaults();
    const struct ctt_costs costs = { { 0, GIVEN_MS, 0, GIVEN_RAM }, NAN };
    struct ctt_offer *f = NULL;

    time_points(s, 1);
    for (size_t t = 0; t < CTT_LEN(turns); t++) {
        for (int i = 0; turns[t].set && i < s->points; i++)
            if (strstr(s->point[i].ladder->name, turns[t].set))
                set_times(&s->point[i], turns[t].faster);
        CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                               "test_savings_saved.tmp", NULL, &f));
        turns[t].check(f, s, CTT_COST_MS);
        turns[t].check(f, s, CTT_COST_RAM);
        ctt_offer_free(&f);
    }
    ctt_sensitivity_free(&s);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "time and memory", test_times }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "menus", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
