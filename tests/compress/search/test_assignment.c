/* SPDX-License-Identifier: Apache-2.0
 * test_assignment.c: a model is compressed as its assignment says. */
#include "compress/search/assignment.h"
#include "net/op.h"
#include "tests/lib/sensed.h"

#include <math.h>

/* ---- an assignment ---- */

struct mixed {
    struct ctt_model       *m;
    struct ctt_sensitivity *s;
    struct ctt_assignment  *a;
    struct ctt_assignment_recipe *o;
};

static struct mixed begin(void)
{
    struct mixed x = { .m = small_model(sensed_net, 3) };

    x.s = sensed(x.m);
    CHECK_OK(ctt_assignment_new(x.s, &x.a));
    return x;
}

static void run(struct mixed *x, const struct ctt_recipe *given)
{
    struct ctt_recipe_calls calls = { .sample = NULL };
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_assignment_recipe(x->s, x->a, given, &x->o));
    CHECK_OK(ctt_recipe_check(ctt_assignment_settings(x->o), x->m));
    CHECK_OK(ctt_recipe_run(ctt_assignment_settings(x->o), &calls,
                            "test_assignment.tmp", NULL, &x->m, &r));
    ctt_report_free(&r);
    remove("test_assignment.tmp");
}

static void end(struct mixed *x)
{
    ctt_assignment_recipe_free(&x->o);
    ctt_free(x->a);
    ctt_sensitivity_free(&x->s);
    ctt_model_free(&x->m);
}

/* The text of the assignment has, or has not, these words. */
static int says(const struct mixed *x, const char *words)
{
    char text[256];

    ctt_assignment_print(x->s, x->a, text, sizeof(text));
    return strstr(text, words) != NULL;
}

/* The rank of the first factor of weight i. */
static int64_t rank(const struct mixed *x, int i)
{
    char text[CTT_NAME + 4];

    snprintf(text, sizeof(text), "%s.t1", x->s->weight[i].name);
    return x->m->g->node[ctt_graph_find(x->m->g, text)].out.c;
}

/* Pruning is of all weights together that are assigned it; each weight gets the
 * options of its own, and no others. */
static void test_assignment(void)
{
    struct mixed x = begin();
    struct ctt_recipe given = defaults();
    const struct ctt_recipe *o;
    int64_t values = 0;

    CU_ASSERT(says(&x, CTT_ASSIGNMENT_NONE) && !ctt_assignment_changes(x.a));
    x.a->pruning = point(x.s, "a", "prune any", 0.9)->ladder;
    x.a->prune = 0.9;
    x.a->weight[0].pruned = x.a->weight[1].pruned = 1;
    x.a->weight[1].share = point(x.s, x.s->weight[1].name, "share", 3);
    x.a->weight[2].form = point(x.s, x.s->weight[2].name, "svd", 0.25);
    CU_ASSERT(says(&x, "a: prune any 0.9; "));
    CU_ASSERT(says(&x, "prune any 0.9, share 3; ") && !says(&x, "y:"));
    CU_ASSERT(ctt_assignment_retrains(x.a));
    run(&x, &given);
    o = ctt_assignment_settings(x.o);
    CU_ASSERT_DOUBLE_EQUAL(o->prune.share, 0.9, 1e-6);
    CU_ASSERT_EQUAL(o->prune.scope, given.prune.scope);
    CU_ASSERT_DOUBLE_EQUAL(ctt_pruned(x.m, &o->prune), 0.9, 0.002);
    CU_ASSERT_EQUAL(rank(&x, 2), round(0.25 * x.s->weight[2].rank));
    for (int i = 0; i < x.s->weights; i++)
        values += x.s->weight[i].params;
    CU_ASSERT_EQUAL(o->prune.least, values / 1000);
    end(&x);
}

/* Thinned by half before, a factorised weight keeps half of the rank. */
static void test_thinned(void)
{
    struct mixed x = begin();
    struct ctt_recipe given = defaults();
    int64_t was = x.m->g->node[x.s->weight[0].node].out.c;
    const char *first = x.s->weight[0].name;

    x.a->weight[1].form = point(x.s, x.s->weight[1].name, "svd", 0.5);
    x.a->thin = 0.5;
    CU_ASSERT(says(&x, "thin 0.5; "));
    run(&x, &given);
    CU_ASSERT(x.m->g->node[ctt_graph_find(x.m->g, first)].out.c < was);
    CU_ASSERT_EQUAL(rank(&x, 1), round(0.25 * x.s->weight[1].rank));
    end(&x);
}

/* ---- numbers for names ---- */

static void test_numbers(void)
{
    struct ctt_model *m = small_model(sensed_net, 3);
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

int main(void)
{
    static CU_TestInfo tests[] = {
        { "assignment", test_assignment },
        { "thinned", test_thinned },
        { "numbers for names", test_numbers },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "assignment", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
