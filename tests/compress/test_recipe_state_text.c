/* SPDX-License-Identifier: Apache-2.0
 * test_recipe_state_text.c: the place of a recipe as text: of another model or
 * other settings, damaged, impossible. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/recipe_state.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ctt_recipe long_recipe = {
    .tt = { .rank = 4 }, .prune = { .share = 0.6f, .rounds = 3 },
    .fold = { CTT_FOLD_ALL }, .round = { 8, 8 }, .epochs = 10,
};

/* The same weights are not the same model: its frames per second and its
 * labels count too. */
static void test_given(void)
{
    static char one[] = "one", two[] = "two";
    char *const label[] = { one, two, one, two, one };
    struct ctt_model *m = small_model(small_net, 5);
    int input = ctt_graph_input(m->g);
    struct ctt_recipe_state p, now;

    CHECK_OK(ctt_recipe_state_given(m, &p));
    CHECK_OK(ctt_recipe_state_given(m, &now));
    CU_ASSERT_EQUAL(p.crc, now.crc);
    m->g->node[input].attr.input.fps = 3;
    CHECK_OK(ctt_recipe_state_given(m, &now));
    CU_ASSERT(p.crc != now.crc);
    m->g->node[input].attr.input.fps = 0;
    CHECK_OK(ctt_model_labels(m, label, CTT_LEN(label)));
    CHECK_OK(ctt_recipe_state_given(m, &now));
    CU_ASSERT(p.crc != now.crc);
    ctt_model_free(&m);
}

/* Blanks at the ends of its first lines are no endless loop. */
static void refuse_blanks(const char *text)
{
    struct ctt_recipe_state p = { .rounds = 0 };
    char other[4096];

    for (int line = 0; line < 3; line++) {
        const char *end = text;

        for (int k = 0; k <= line; k++)
            end = strchr(end, '\n') + 1;
        snprintf(other, sizeof(other), "%.*s \n%s", (int)(end - 1 - text),
                 text, end);
        CU_ASSERT_EQUAL(ctt_recipe_state_read(other, &long_recipe, &p, NULL),
                        CTT_EINVAL);
    }
}

/* A stage, a choice and a blame, each with a number that is not known. */
static void fill_report(struct ctt_report *r)
{
    struct ctt_stage_row *row;
    struct ctt_choice *choice;
    struct ctt_blame *blame;

    CHECK_OK(ctt_report_row(r, &row));
    row->bytes = 1000;
    CHECK_OK(ctt_report_choice(r, CTT_CHOICE_FORM, "block, int8", &choice));
    choice->form = CTT_PRUNE_BLOCK;
    choice->chosen = choice->int8 = 1;
    CHECK_OK(ctt_report_blame(r, "h.z", &blame));
    blame->alone = 1.0 / 3;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        row->after.top1[k] = 1.0 / 3;
}

static void check_report(const struct ctt_report *back)
{
    CU_ASSERT_EQUAL(back->stages, 1);
    CU_ASSERT(back->stage[0].after.top1[1] == 1.0 / 3);
    CU_ASSERT(isnan(back->stage[0].ms));
    CU_ASSERT_EQUAL_FATAL(back->choices, 1);
    CU_ASSERT(isnan(back->choice[0].ms) && ctt_report_form(back) != NULL);
    CU_ASSERT_EQUAL(back->choice[0].form, CTT_PRUNE_BLOCK);
    CU_ASSERT_EQUAL_FATAL(back->blames, 1);
    CU_ASSERT(back->blame[0].alone == 1.0 / 3);
    CU_ASSERT(isnan(back->blame[0].behind));
}

/* Each byte replaced by another one: never a crash. */
static void damage(const struct ctt_model *m, char *text)
{
    struct ctt_recipe_state p = { .rounds = 0 };
    struct ctt_report *back = NULL;

    CHECK_OK(ctt_recipe_state_given(m, &p));
    for (size_t k = 0; text[k]; k++) {
        char old = text[k];

        text[k] = "\t\n\x1b-9\"\0"[k % 7];
        CHECK_OK(ctt_report_new(m, &back));
        if (ctt_recipe_state_read(text, &long_recipe, &p, back) >= 0) {
            CU_ASSERT(p.rounds + p.begun <= 5);
            for (int i = 0; i < back->choices; i++)
                CU_ASSERT(back->choice[i].form < CTT_PRUNE_FORMS);
        }
        ctt_report_free(&back);
        text[k] = old;
    }
}

/* A place of other settings or of another model is refused. */
static void test_places(void)
{
    struct ctt_recipe other = long_recipe;
    struct ctt_recipe_state p = { .rounds = 0 };
    struct ctt_model *m = small_model(small_net, 5);
    struct ctt_report *r = NULL, *back = NULL;
    char *text = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    fill_report(r);
    CHECK_OK(ctt_recipe_state_given(m, &p));
    CHECK_OK(ctt_recipe_state_print(&p, &long_recipe, r, &text));
    CHECK_OK(ctt_report_new(m, &back));
    CHECK_OK(ctt_recipe_state_read(text, &long_recipe, &p, back));
    check_report(back);
    ctt_report_free(&back);
    other.epochs++;
    CU_ASSERT_EQUAL(ctt_recipe_state_read(text, &other, &p, r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "made with other settings: "
                     "'retrain-epochs=10', now 'retrain-epochs=11'") != NULL);
    refuse_blanks(text);
    m->w[3]++;
    CHECK_OK(ctt_recipe_state_given(m, &p));
    CU_ASSERT_EQUAL(ctt_recipe_state_read(text, &long_recipe, &p, r),
                    CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "from another model") != NULL);
    m->w[3]--;
    damage(m, text);
    ctt_free(text);
    ctt_report_free(&r);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* What no test can come to is refused. */
static void test_impossible_scores(void)
{
    static const struct ctt_score bad[] = {
        { { 1, 1, 1 }, 1, INT64_MAX, INT64_MAX },
        { { 1, 1, 1 }, 10, 6, 5 }, { { 1, 1, 1 }, INT64_MAX, 0, 0 },
        { { 1, 1, 2 }, 10, 0, 0 }, { { 1, NAN, 1 }, 10, 0, 0 },
        { { INFINITY, 1, 1 }, 10, 0, 0 },
    };
    struct ctt_model *m = small_model(small_net, 5);
    struct ctt_recipe_state p = { .rounds = 0 };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_report *r = NULL, *back = NULL;
        struct ctt_stage_row *row;
        char *text = NULL;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_report_row(r, &row));
        row->bytes = 1;
        row->after = bad[i];
        CHECK_OK(ctt_recipe_state_given(m, &p));
        CHECK_OK(ctt_recipe_state_print(&p, &long_recipe, r, &text));
        CHECK_OK(ctt_report_new(m, &back));
        CU_ASSERT_EQUAL(ctt_recipe_state_read(text, &long_recipe, &p, back),
                        CTT_EFORMAT);
        ctt_report_free(&back);
        ctt_report_free(&r);
        ctt_free(text);
    }
    ctt_model_free(&m);
}

/* Numbers at the ends of their types, in whatever way they are added up. */
static void test_large_places(void)
{
    static const int rounds[] = { INT_MAX, INT_MAX - 1, 5, 4, 1 };
    struct ctt_recipe_state p = { .rounds = 0 };
    struct ctt_model *m = small_model(small_net, 5);
    struct ctt_report *r = NULL, *back = NULL;
    struct ctt_stage_row *row;
    char *text = NULL, *digit;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_report_row(r, &row));
    row->bytes = INT64_MAX;
    for (int k = 0; k < 2 * (int)CTT_LEN(rounds); k++) {
        CHECK_OK(ctt_recipe_state_given(m, &p));
        p.rounds = rounds[k / 2];
        p.begun = k % 2;
        CHECK_OK(ctt_recipe_state_print(&p, &long_recipe, r, &text));
        CHECK_OK(ctt_report_new(m, &back));
        CU_ASSERT_EQUAL(ctt_recipe_state_read(text, &long_recipe, &p, back),
                        CTT_EFORMAT);
        ctt_report_free(&back);
        ctt_free(text);
    }
    p.rounds = p.begun = 0;
    CHECK_OK(ctt_recipe_state_print(&p, &long_recipe, r, &text));
    CHECK_OK(ctt_report_new(m, &back));
    CHECK_OK(ctt_recipe_state_read(text, &long_recipe, &p, back));
    CU_ASSERT(back->stage[0].bytes == INT64_MAX);
    ctt_report_free(&back);
    digit = strstr(text, "9223372036854775807");
    CU_ASSERT_PTR_NOT_NULL_FATAL(digit);
    digit[18] = '8';
    CHECK_OK(ctt_report_new(m, &back));
    CU_ASSERT_EQUAL(ctt_recipe_state_read(text, &long_recipe, &p, back),
                    CTT_EFORMAT);
    ctt_report_free(&back);
    ctt_free(text);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "what identifies a model", test_given },
        { "places in checkpoints", test_places },
        { "impossible scores", test_impossible_scores },
        { "large numbers in places", test_large_places },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "place as text", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
