/* SPDX-License-Identifier: Apache-2.0
 * test_budget.c: budgets are read, weights get the ways that all choices tried
 * one by one show to be best, a mix does what it says, and clips refute. */
#include "compress/stage.h"
#include "net/op.h"
#include "tests/lib/check.h"
#include "tests/lib/small.h"

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
    struct ctt_menu m;
};

static double draw(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24);
}

/* Harm rises as costs fall; two costs go their own ways. */
static void make_curves(struct curves *c, unsigned seed)
{
    c->m = (struct ctt_menu){ WEIGHTS, c->first, c->way, { 1, 1, 0 } };
    for (int i = 0; i <= WEIGHTS; i++)
        c->first[i] = i * WAYS;
    for (int i = 0; i < WEIGHTS; i++) {
        struct ctt_way w = { 0, { 10, 10, 0 } };

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
        struct ctt_way sum = ctt_menu_sum(&c->m, pick);

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

/* What is found holds, and harms hardly more than the best there is; if nothing
 * holds it says so. */
static void test_allot(void)
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
        rc = ctt_allot(&c.m, &a, pick);
        CU_ASSERT(rc == 0 || rc == 1);
        CU_ASSERT(rc == 0 || isinf(least));
        if (rc)
            continue;
        sum = ctt_menu_sum(&c.m, pick);
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

/* Convex curves, whose corners are all on the hull: the greedy optimum. */
static void test_convex(void)
{
    static const struct ctt_way way[] = {
        { 0, { 8, 0, 0 } }, { 1, { 4, 0, 0 } }, { 3, { 2, 0, 0 } },
        { 0, { 8, 0, 0 } }, { 0.1, { 4, 0, 0 } }, { 0.4, { 2, 0, 0 } },
    };
    int first[] = { 0, 3, 6 }, pick[2];
    struct ctt_menu m = { 2, first, (struct ctt_way *)way, { 0 } };
    struct ctt_aim_at a = limited(10, INFINITY);

    CU_ASSERT_EQUAL(ctt_allot(&m, &a, pick), 0);
    CU_ASSERT(pick[0] == 0 && pick[1] == 2);
    a = limited(6, INFINITY);
    CU_ASSERT_EQUAL(ctt_allot(&m, &a, pick), 0);
    CU_ASSERT(pick[0] == 1 && pick[1] == 2);
    a = limited(3, INFINITY);
    CU_ASSERT_EQUAL(ctt_allot(&m, &a, pick), 1);
    CU_ASSERT(pick[0] == 2 && pick[1] == 2);
    a = (struct ctt_aim_at){ .harm = 1e-9, .price = { 1 }, .most_harm = 0.5,
                             .most = { INFINITY, INFINITY, INFINITY,
                                       INFINITY } };
    CU_ASSERT_EQUAL(ctt_allot(&m, &a, pick), 0);
    CU_ASSERT(pick[0] == 0 && pick[1] == 2);
}

/* ---- a mix ---- */

static const char net[] =
    "input x h=8 w=8 c=4 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nnorm n in=a kind=batch\n"
    "act r in=n kind=relu\nconvlstm h in=r hidden=16 kernel=3\n"
    "pool p in=h kind=avg\nconv y in=p out=5\n";

static int change(void *arg, const struct ctt_model *m, struct ctt_change *out)
{
    (void)arg;
    (void)m;
    *out = (struct ctt_change){ { 0.1, 0.1, 0.1 }, { 0 } };
    return 0;
}

static struct ctt_sense *sensed(const struct ctt_model *m)
{
    struct ctt_recipe_calls recipe = { .sample = NULL };
    struct ctt_sense_calls calls = { .recipe = &recipe, .change = change };
    struct ctt_sense *s = NULL;

    CHECK_OK(ctt_sense_new(m, &s));
    CHECK_OK(ctt_sense_run(s, &calls, "test_budget.tmp"));
    return s;
}

static const struct ctt_sense_point *point(const struct ctt_sense *s,
                                           const char *weight,
                                           const char *option, double value)
{
    for (int i = 0; i < s->points; i++) {
        const struct ctt_sense_point *p = &s->point[i];

        if (strcmp(s->weight[p->weight].name, weight) == 0 &&
            strcmp(p->ladder->name, option) == 0 && p->value == value)
            return p;
    }
    CU_FAIL_FATAL("no such point");
    return NULL;
}

static struct ctt_recipe defaults(void)
{
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    struct ctt_recipe o = { .epochs = 0 };
    int n = ctt_recipe_options(0, tab, CTT_OPT_MAX);

    CU_ASSERT_FATAL(n > 0);
    tab[n] = (struct ctt_opt){ .name = NULL };
    CHECK_OK(ctt_opt_defaults(tab, &o));
    return o;
}

/* Pruning is of all together, with the form of the part; each weight gets what
 * else its part says, and only that. */
static void test_mix(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sense *s = sensed(m);
    struct ctt_recipe given = defaults();
    struct ctt_part part[8] = { { .form = NULL } };
    struct ctt_recipe_calls calls = { .sample = NULL };
    struct ctt_mix_recipe *o = NULL;
    struct ctt_report *r = NULL;
    int64_t values = 0;
    char text[256];

    part[0].prune = point(s, "a", "prune any", 0.9);
    part[1].prune = point(s, s->weight[1].name, "prune any", 0.9);
    part[1].share = point(s, s->weight[1].name, "share", 3);
    part[2].form = point(s, s->weight[2].name, "svd", 0.25);
    ctt_mix_print(s, 0, part, text, sizeof(text));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "a: prune any 0.9; "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "prune any 0.9, share 3; "));
    CU_ASSERT_PTR_NULL(strstr(text, "y:"));
    CHECK_OK(ctt_mix_recipe(s, part, &given, &o));
    CU_ASSERT_DOUBLE_EQUAL(ctt_mix_settings(o)->prune.share, 0.9, 1e-6);
    CU_ASSERT_EQUAL(ctt_mix_settings(o)->prune.scope, given.prune.scope);
    CHECK_OK(ctt_recipe_run(ctt_mix_settings(o), &calls, "test_budget.tmp",
                            NULL, &m, &r));
    CU_ASSERT_DOUBLE_EQUAL(ctt_pruned(m, &ctt_mix_settings(o)->prune), 0.9,
                           0.002);
    snprintf(text, sizeof(text), "%s.t1", s->weight[2].name);
    CU_ASSERT_EQUAL(m->g->node[ctt_graph_find(m->g, text)].out.c,
                    round(0.25 * s->weight[2].rank));
    for (int i = 0; i < s->weights; i++)
        values += s->weight[i].params;
    CU_ASSERT_EQUAL(ctt_mix_settings(o)->prune.least, values / 1000);
    ctt_report_free(&r);
    ctt_mix_recipe_free(&o);
    ctt_sense_free(&s);
    ctt_model_free(&m);
    remove("test_budget.tmp");
}

/* Thinned by half before, a factorised weight keeps half of the rank. */
static void test_thinned(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sense *s = sensed(m);
    struct ctt_recipe given = defaults();
    struct ctt_part part[8] = { { .form = NULL } };
    struct ctt_recipe_calls calls = { .sample = NULL };
    struct ctt_mix_recipe *o = NULL;
    struct ctt_report *r = NULL;
    int was = m->g->node[s->weight[0].node].out.c;
    char text[256];

    part[1].form = point(s, s->weight[1].name, "svd", 0.5);
    given.thin.share = 0.5f;
    ctt_mix_print(s, 0.5, part, text, sizeof(text));
    CU_ASSERT_EQUAL(strncmp(text, "thin 0.5; ", 10), 0);
    CHECK_OK(ctt_mix_recipe(s, part, &given, &o));
    CHECK_OK(ctt_recipe_run(ctt_mix_settings(o), &calls, "test_budget.tmp",
                            NULL, &m, &r));
    CU_ASSERT(m->g->node[ctt_graph_find(m->g, s->weight[0].name)].out.c < was);
    snprintf(text, sizeof(text), "%s.t1", s->weight[1].name);
    CU_ASSERT_EQUAL(m->g->node[ctt_graph_find(m->g, text)].out.c,
                    round(0.25 * s->weight[1].rank));
    ctt_report_free(&r);
    ctt_mix_recipe_free(&o);
    ctt_sense_free(&s);
    ctt_model_free(&m);
    remove("test_budget.tmp");
}

/* What the menu expects of a mix is what the mix costs, if nothing is
 * factorised: bytes within 2%. */
static void test_offer(void)
{
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sense *s = sensed(m);
    struct ctt_recipe given = defaults();
    struct ctt_recipe_calls calls = { .sample = NULL };
    struct ctt_aim_at a = limited(6500, INFINITY);
    struct ctt_offer *f = NULL;
    struct ctt_mix_recipe *o = NULL;
    struct ctt_part part[8];
    const struct ctt_costs costs = { { 0, NAN, 0, 150000 }, NAN };
    struct ctt_costs is;
    struct ctt_way sum;

    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_budget.tmp", &f));
    CU_ASSERT_EQUAL(ctt_allot_each(f, &a, part, &sum), 0);
    for (int i = 0; i < s->weights; i++)
        CU_ASSERT(!part[i].int8 && (!part[i].prune || !part[0].prune ||
                  part[i].prune->value == part[0].prune->value));
    CHECK_OK(ctt_mix_recipe(s, part, &given, &o));
    CHECK_OK(ctt_mix_try(m, ctt_mix_settings(o), &calls, "", "test_budget.tmp",
                         &is));
    printf("%.0f bytes expected, %.0f are\n",
           sum.cost[0], is.cost[CTT_COST_BYTES]);
    CU_ASSERT_DOUBLE_EQUAL(sum.cost[0] / is.cost[CTT_COST_BYTES], 1, 0.05);
    CU_ASSERT(isnan(is.cost[CTT_COST_MS]) && isnan(is.cost[CTT_COST_RAM]));
    a = (struct ctt_aim_at){ .harm = 1, .most_harm = INFINITY,
        .most = { INFINITY, INFINITY, INFINITY, 120000 } };
    CU_ASSERT_EQUAL(ctt_allot_each(f, &a, part, &sum), 0);
    CU_ASSERT(sum.cost[CTT_COST_RAM] <= 120000 && sum.harm > 0);
    a.most[CTT_COST_RAM] = INFINITY;
    CU_ASSERT_EQUAL(ctt_allot_each(f, &a, part, &sum), 0);
    CU_ASSERT(sum.cost[CTT_COST_RAM] == 150000 && sum.harm == 0);
    CU_ASSERT(is.cost[CTT_COST_MACS] > 0);
    ctt_mix_recipe_free(&o);
    ctt_offer_free(&f);
    ctt_sense_free(&s);
    ctt_model_free(&m);
}

/* Whether all weights that can have a kind have the same value of it. */
static int alike(const struct ctt_sense *s, const struct ctt_offer *f,
                 const struct ctt_part *part)
{
    for (int i = 0; i < f->menu.first[s->weights]; i++)
        for (int k = 0; k < CTT_PART_KINDS; k++) {
            const struct ctt_sense_point *p = ctt_part_point(&f->part[i], k);
            const struct ctt_sense_point *is;

            for (int w = 0; p && w < s->weights; w++) {
                const struct ctt_sense_point *o = ctt_part_point(&part[w], k);

                is = ctt_part_point(&part[p->weight], k);
                if (o && o->ladder == p->ladder && o->value == p->value &&
                    is != p)
                    return 0;
            }
        }
    return 1;
}

/* The harm of the best pruning and sharing of all weights, tried one by one. */
static double least_alike(const struct ctt_sense *s,
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
    struct ctt_model *m = small_model(net, 3);
    struct ctt_sense *s = sensed(m);
    struct ctt_recipe given = defaults();
    struct ctt_aim_at a = limited(5000, INFINITY);
    struct ctt_offer *f = NULL;
    static const struct ctt_trust equal = { { 1, 1, 1, 1 }, 1 };
    const struct ctt_costs costs = { { 0, NAN, 0, NAN }, NAN };
    struct ctt_part part[8];
    struct ctt_way sum;

    for (int i = 0; i < s->points; i++)
        s->point[i].fit = s->point[i].ladder->stage == &ctt_stage_share
                        ? 1 / s->point[i].value : s->point[i].value;
    CHECK_OK(ctt_offer_new(s, m, &given, "prune any", &costs,
                           "test_budget.tmp", &f));
    CU_ASSERT_EQUAL(ctt_allot_alike(f, s, NULL, &a, part, &sum), 0);
    CU_ASSERT(part[1].share && !part[1].form && alike(s, f, part));
    CU_ASSERT(sum.cost[0] <= 5000);
    CU_ASSERT_DOUBLE_EQUAL(sum.harm, least_alike(s, f, 5000), 1e-9);
    for (int i = 0; i < s->points; i++)
        if (s->point[i].ladder->stage == &ctt_stage_prune)
            s->point[i].fit = 100;
    ctt_offer_trust(f, s, &equal);
    CU_ASSERT_EQUAL(ctt_allot_alike(f, s, "svd", &a, part, &sum), 0);
    CU_ASSERT(part[1].form && part[1].form->ladder->stage == &ctt_stage_svd);
    CU_ASSERT(!part[1].prune && part[1].share);
    CU_ASSERT(ctt_part_harm(s, &part[1], CTT_PART_SHARE) >
              1.2 * part[1].share->fit);
    a = limited(10, INFINITY);
    CU_ASSERT_EQUAL(ctt_allot_alike(f, s, "svd", &a, part, &sum), 1);
    CU_ASSERT(!ctt_is_large(s, s->weights - 1) &&
              !part[s->weights - 1].form);
    ctt_offer_free(&f);
    ctt_sense_free(&s);
    ctt_model_free(&m);
}

/* ---- numbers for names ---- */

static void test_numbers(void)
{
    struct ctt_model *m = small_model(net, 3);
    const char *list = "h*=3,=a=0.5,y=2";
    double x = 7;

    CHECK_OK(ctt_names_check_numbers(m, "some", list, 0, 3));
    CU_ASSERT(ctt_names_number(list, "a", &x) && x == 0.5);
    CU_ASSERT(ctt_names_number(list, "h.t2", &x) && x == 3);
    CU_ASSERT(!ctt_names_number(list, "a.t1", &x) && x == 3);
    CU_ASSERT(!ctt_names_number(NULL, "a", &x));
    CU_ASSERT(fails(ctt_names_check_numbers(m, "some", list, 0, 2), CTT_EINVAL,
                    "'h*=3' is not NAME=NUMBER with a number from 0 to 2"));
    CU_ASSERT(fails(ctt_names_check_numbers(m, "some", "z=1", 0, 2),
                    CTT_EINVAL, "no weight matches 'z'"));
    CU_ASSERT(fails(ctt_names_check_numbers(m, "some", "a", 0, 2), CTT_EINVAL,
                    "'a' is not"));
    CU_ASSERT(fails(ctt_names_check_numbers(m, "some", "a=1x", 0, 2),
                    CTT_EINVAL, "'a=1x' is not"));
    CU_ASSERT(fails(ctt_names_check_numbers(m, "some", "=1", 0, 2), CTT_EINVAL,
                    "'=1' is not"));
    ctt_model_free(&m);
}

/* ---- acceptance ---- */

static void test_accept(void)
{
    struct ctt_budget b;
    struct ctt_paired t = { 100, 90, 80, 10, 0 };
    double p;

    CHECK_OK(ctt_budget_read("top1=-0,top1@50=80,top1@25=-5", &b));
    CU_ASSERT(ctt_budget_refuted(&b, 2, &t, &p));
    CU_ASSERT_DOUBLE_EQUAL(p, pow(0.5, 10), 1e-9);
    CU_ASSERT(ctt_budget_refuted(&b, 0, &t, &p));
    CU_ASSERT_DOUBLE_EQUAL(p, pow(0.5, 5), 1e-9);
    CU_ASSERT(!ctt_budget_kept(&b, 2, &t) && !ctt_budget_kept(&b, 0, &t));
    CU_ASSERT(ctt_budget_kept(&b, 1, &t));
    t = (struct ctt_paired){ 100, 90, 87, 6, 3 };
    CU_ASSERT(!ctt_budget_refuted(&b, 2, &t, &p));
    CU_ASSERT(ctt_budget_kept(&b, 0, &t));
    t.is = 70;
    CU_ASSERT(ctt_budget_refuted(&b, 1, &t, &p));
    t.is = 78;
    CU_ASSERT(!ctt_budget_refuted(&b, 1, &t, &p));
    CU_ASSERT(!ctt_budget_kept(&b, 1, &t));
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "reading", test_read },
        { "refused", test_refused },
        { "choice", test_allot },
        { "convex curves", test_convex },
        { "mix", test_mix },
        { "thinned", test_thinned },
        { "menu", test_offer },
        { "alike", test_alike },
        { "numbers for names", test_numbers },
        { "acceptance", test_accept },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "budget", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
