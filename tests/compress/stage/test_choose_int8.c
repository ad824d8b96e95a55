/* SPDX-License-Identifier: Apache-2.0
 * test_choose_int8.c: INT8 that was chosen and is given up. */
#include "tests/lib/check.h"
#include "tests/lib/machine.h"
#include "tests/lib/saved.h"

#include <stdio.h>
#include <string.h>

/* Convs a and b can read bytes, and an add can become an input of b. */
static const char residual[] = "input x h=6 w=6 c=16\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "conv b in=r out=24 kernel=3 pad=1\nadd s in=b,r\n"
    "act q in=s kind=relu\npool p in=q kind=avg\nconv y in=p out=5\n";

/* The row of single values in bytes, and the table, say that these were given
 * up. */
static void check_given_up(const struct machine_result *x, const char *why)
{
    const struct ctt_choice *c = machine_row(x, CTT_CHOICE_FORM, "any, int8");
    char s[512], line[128];

    CU_ASSERT_EQUAL(machine_bytes(x->m), 0);
    CU_ASSERT_PTR_EQUAL(ctt_report_form(x->r), c);
    CU_ASSERT(!ctt_report_is_chosen(c));
    CU_ASSERT(ctt_report_is_chosen(machine_row(x, CTT_CHOICE_FORM,
                                               "any, floats")));
    CU_ASSERT_STRING_EQUAL(c->given_up, why);
    snprintf(line, sizeof(line), "\tgiven up: %s", why);
    CHECK_OK(ctt_report_choice_cells(x->r, 1, s, sizeof(s)));
    CU_ASSERT(strstr(s, "any, floats") && strstr(s, "\tchosen"));
    CHECK_OK(ctt_report_choice_cells(x->r, 2, s, sizeof(s)));
    CU_ASSERT(strstr(s, line) && !strstr(s, "chosen"));
    snprintf(line, sizeof(line), "int8: given up: %s\n", why);
    CU_ASSERT(machine_says(x, line));
}

/* Bytes that cost more than --int8-harm are given up. */
static void test_harm(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 1, .lost = 0.02 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_recipe o = machine_recipe(CTT_AIM_MS);
    struct machine_result x = machine_run(machine_net, &o, &calls);

    CU_ASSERT_STRING_EQUAL(machine_chosen(&x), "any, int8");
    CU_ASSERT_DOUBLE_EQUAL(ctt_report_form(x.r)->lost, 0.02, 1e-9);
    check_given_up(&x, "costs 2.0 points");
    machine_end(&x);
    t.lost = 0.004;
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT(machine_bytes(x.m) > 0);
    CU_ASSERT_STRING_EQUAL(ctt_report_form(x.r)->given_up, "");
    machine_end(&x);
}

/* What may read bytes then is timed again: it has to be faster than floats. */
static void test_rest(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 1, .lost = 0.02, .few = 1,
                         .part = 0.98 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_recipe o = machine_recipe(CTT_AIM_MS);
    struct machine_result x = machine_run(machine_net, &o, &calls);
    char why[96];

    CU_ASSERT_EQUAL(t.compared, 4);
    snprintf(why, sizeof(why), "%s", ctt_report_form(x.r)->given_up);
    CU_ASSERT(strstr(why, "0.98 of the time, 0.") == why);
    CU_ASSERT(strstr(why, " of the bytes with 1 convs") != NULL);
    check_given_up(&x, why);
    for (int i = 0; i < x.r->blames; i++)
        CU_ASSERT(x.r->blame[i].stays[0] != '\0');
    machine_end(&x);
    t.part = 0.9;
    x = machine_run(machine_net, &o, &calls);
    CU_ASSERT_EQUAL(machine_bytes(x.m), 1);
    CU_ASSERT_STRING_EQUAL(ctt_report_form(x.r)->given_up, "");
    machine_end(&x);
}

/* "No change" is true: the model is that of a recipe without INT8. */
static void test_no_change(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 1, .lost = 0.02 };
    struct ctt_recipe_calls calls = machine_calls(&t);
    struct ctt_recipe o = machine_recipe(CTT_AIM_MS);
    struct machine_result x, y;
    char *was, *is;

    x = machine_run(residual, &o, &calls);
    check_given_up(&x, "costs 2.0 points");
    CU_ASSERT_STRING_EQUAL(x.r->stage[x.r->stages - 2].name, "int8: no change");
    o.int8.method = 0;
    y = machine_run(residual, &o, &calls);
    was = ctt_net_print(y.m->g);
    is = ctt_net_print(x.m->g);
    CU_ASSERT_STRING_EQUAL(is, was);
    CU_ASSERT_EQUAL_FATAL(x.m->g->weights, y.m->g->weights);
    CU_ASSERT(memcmp(x.m->w, y.m->w, (size_t)x.m->g->weights *
                     sizeof(*x.m->w)) == 0);
    ctt_free(was);
    ctt_free(is);
    ctt_report_free(&x.r);
    ctt_model_free(&x.m);
    machine_end(&y);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "bytes that cost accuracy", test_harm },
        { "bytes of few convs", test_rest },
        { "bytes given up change nothing", test_no_change },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "INT8 that was chosen", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    if (saved_start() != 0)
        return 99;
    return saved_end(ctt_check_main(suites));
}
