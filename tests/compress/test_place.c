/* SPDX-License-Identifier: Apache-2.0
 * test_place.c: a recipe that is stopped and continued, and its place in
 * checkpoints: also forged, or of another model. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/place.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/test_place.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static const struct ctt_recipe long_recipe = {
    .tt = { .rank = 4 }, .prune = { .share = 0.6f, .rounds = 3 },
    .fold = { CTT_FOLD_ALL }, .round = { 8, 8 }, .epochs = 10,
};

/* Retrained for 10, 10, 20 and 30 epochs, as accuracy never comes back. */
static const struct ctt_recipe until_back = {
    .round = { .bits = 8 }, .epochs = 10, .automatic = 1, .limit = 70,
    .prune = { .share = 0.6f, .steps = 5, .until = 0.6f },
};

/* INT8 in which some convs may stay in floats, and retraining of its own. */
static const struct ctt_recipe of_bytes = {
    .prune = { .share = 0.5f, .rounds = 1 }, .fold = { CTT_FOLD_ALL },
    .int8 = { .method = 4, .epochs = 3, .except = "auto", .harm = 0.005f },
    .round = { .bits = 8 }, .epochs = 4,
};

/* What is chosen is known to the run that goes on. */
static const struct ctt_recipe chooses = {
    .tt = { .rank = 4, .except = "y" },
    .prune = { .share = 0.6f, .rounds = 2, .form = CTT_PRUNE_AUTO },
    .fold = { CTT_FOLD_ALL }, .int8 = { .method = CTT_INT8_AUTO, .harm = 1 },
    .round = { .bits = 8 }, .epochs = 4, .aim = CTT_AIM_MS,
};

static const char no_clip[] = "input x h=6 w=6 c=16\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "convlstm h in=r hidden=8 kernel=3\npool p in=h kind=avg\n"
    "conv y in=p out=5\n";

static const struct ctt_recipe *recipe = &long_recipe;
static const char *net = small_net;

/* Stands for a program that is killed when it saves the `dies`-th time, before
 * the checkpoint is whole; 0: never. */
struct stopped {
    int               dies, saves, compared;
    int               goes_on;    /* with choices from a checkpoint */
    struct ctt_model *m;        /* the checkpoint */
    char             *place;
};

/* Depends on nothing but the model and the arguments. */
static int move(void *arg, const char *stage, int epochs,
                const struct ctt_changes *during, struct ctt_model *m)
{
    (void)arg;
    for (int k = 0; during && k < 10; k++)
        if (during->due(during->arg, k, 10))
            CHECK_OK(during->change(during->arg, m, k, 10));
    for (int64_t k = 0; k < m->g->weights; k++)
        if (m->w[k] != 0)
            m->w[k] += 0.01f * sinf((float)k + (float)strlen(stage) +
                                    (float)epochs);
    return 0;
}

static int sum(void *arg, const char *stage, const struct ctt_model *m,
               struct ctt_score *t)
{
    double s = 0;

    *t = (struct ctt_score){ .clips = 100 };
    (void)arg;
    (void)stage;
    for (int64_t k = 0; k < m->g->weights; k++)
        s += (double)m->w[k] * (double)(k % 7);
    for (int k = 0; k < CTT_ACCURACIES; k++)
        t->top1[k] = recipe->automatic && !m->constraint.keep
                     ? 1 : fabs(sin(s + k)) / 2;
    t->lost = (int64_t)(50 * t->top1[0]);
    t->won = (int64_t)(50 * t->top1[1]);
    return 0;
}

static int save(void *arg, struct ctt_model *m, const char *place)
{
    struct stopped *t = arg;

    if (++t->saves == t->dies)
        return ctt_error(CTT_EIO, "killed");
    ctt_model_free(&t->m);
    ctt_free(t->place);
    CHECK_OK(ctt_model_copy(m, &t->m));
    t->place = ctt_strdup(place);
    return 0;
}

/* Bytes and chains are faster at each other call: who asks again would choose
 * otherwise. */
static int compare(void *arg, const char *base, const char *path,
                   struct ctt_speed *s)
{
    struct stopped *t = arg;

    (void)base;
    (void)path;
    CU_ASSERT(!t->goes_on);
    *s = (struct ctt_speed){ 2, ++t->compared % 2 ? 0.5 : 2, 0 };
    return 0;
}

/* Runs the recipe into a file, if t has a checkpoint from there. */
static int run_stopped(struct stopped *t, const char *path,
                       struct ctt_report **r)
{
    struct ctt_recipe_calls calls = { .arg = t, .retrain = move,
        .accuracy = sum, .save = save, .sample = small_sample_any,
        .clips = 100, .compare = compare };
    struct ctt_model *m = small_model(net, 5);
    struct ctt_recipe_from from = { t->m, t->place };
    char *place = t->place;
    int rc, resumes = t->m != NULL;

    t->compared = 0;
    t->goes_on = place && strstr(place, "\nchoice\t");
    t->m = NULL;
    t->place = NULL;
    rc = ctt_recipe_run(recipe, &calls, path, resumes ? &from : NULL, &m,
                        r);
    ctt_model_free(&from.m);
    ctt_free(place);
    ctt_model_free(&m);
    return rc;
}

static void same_report(const struct ctt_report *a, const struct ctt_report *b)
{
    char s[1024], t[1024];

    for (int k = 0; ctt_report_stage_cells(a, k, s, sizeof(s)); k++) {
        CU_ASSERT(ctt_report_stage_cells(b, k, t, sizeof(t)));
        CU_ASSERT_STRING_EQUAL(s, t);
    }
    for (int k = 0; ctt_report_score_cells(a, k, s, sizeof(s)); k++) {
        CU_ASSERT(ctt_report_score_cells(b, k, t, sizeof(t)));
        CU_ASSERT_STRING_EQUAL(s, t);
    }
    for (int k = 0; ctt_report_stored_cells(a, k, s, sizeof(s)); k++) {
        CU_ASSERT(ctt_report_stored_cells(b, k, t, sizeof(t)));
        CU_ASSERT_STRING_EQUAL(s, t);
    }
    for (int k = 0; ctt_report_weight_cells(a, k, s, sizeof(s)); k++) {
        CU_ASSERT(ctt_report_weight_cells(b, k, t, sizeof(t)));
        CU_ASSERT_STRING_EQUAL(s, t);
    }
    CU_ASSERT_EQUAL(a->choices, b->choices);
    for (int k = 0; ctt_report_choice_cells(a, k, s, sizeof(s)); k++) {
        CU_ASSERT(ctt_report_choice_cells(b, k, t, sizeof(t)));
        CU_ASSERT_STRING_EQUAL(s, t);
    }
}

static void same_blame(const struct ctt_report *a, const struct ctt_report *b)
{
    CU_ASSERT_EQUAL_FATAL(a->blames, b->blames);
    for (int k = 0; k < a->blames; k++) {
        const struct ctt_blame *x = &a->blame[k], *y = &b->blame[k];

        CU_ASSERT_STRING_EQUAL(x->name, y->name);
        CU_ASSERT_STRING_EQUAL(x->stays, y->stays);
        CU_ASSERT(memcmp(&x->alone, &y->alone, 3 * sizeof(x->alone)) == 0);
    }
}

static void same_files(const char *a, const char *b)
{
    char line[600];

    snprintf(line, sizeof(line), "cmp -s '%s' '%s'", a, b);
    CU_ASSERT_EQUAL(system(line), 0);
}

/* Killed at any save, of which there are at least `least`, the result is the
 * same file and the same report. */
static void check_stopped(int least)
{
    struct stopped t = { .dies = 0 };
    struct ctt_report *whole = NULL, *r = NULL;
    char a[256], b[256];
    int saves;

    snprintf(a, sizeof(a), "%s", in_folder("m.h5"));
    snprintf(b, sizeof(b), "%s", in_folder("a.h5"));
    CHECK_OK(run_stopped(&t, a, &whole));
    saves = t.saves;
    CU_ASSERT(saves >= least);
    ctt_model_free(&t.m);
    ctt_free(t.place);
    for (int dies = 1; dies <= saves; dies++) {
        t = (struct stopped){ .dies = dies };
        CU_ASSERT_EQUAL(run_stopped(&t, b, &r), CTT_EIO);
        CHECK_OK(run_stopped(&t, b, &r));
        same_files(a, b);
        same_report(whole, r);
        same_blame(whole, r);
        ctt_report_free(&r);
        ctt_model_free(&t.m);
        ctt_free(t.place);
    }
    /* from its last checkpoint, a finished run only writes the file */
    t = (struct stopped){ .dies = 0 };
    CHECK_OK(run_stopped(&t, b, &r));
    ctt_report_free(&r);
    remove(b);
    CHECK_OK(run_stopped(&t, b, &r));
    CU_ASSERT_EQUAL(t.saves, saves);
    same_files(a, b);
    same_report(whole, r);
    ctt_report_free(&r);
    ctt_report_free(&whole);
    ctt_model_free(&t.m);
    ctt_free(t.place);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A choice is saved before anything is done with it. */
static void check_choice(void)
{
    struct stopped t = { .dies = 2 };
    struct ctt_report *r = NULL;

    CU_ASSERT_EQUAL(run_stopped(&t, in_folder("a.h5"), &r), CTT_EIO);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t.place);
    CU_ASSERT(strstr(t.place, "\nplace\t0\t0\t") != NULL);
    CU_ASSERT(strstr(t.place, "\nchoice\t") != NULL);
    CU_ASSERT(t.compared > 0);
    ctt_model_free(&t.m);
    ctt_free(t.place);
}

static void test_stopped(void)
{
    check_stopped(8);
    recipe = &until_back;
    check_stopped(6);    /* before 4 retrainings, after 2 rounds */
    recipe = &of_bytes;
    net = no_clip;
    check_stopped(5);    /* before 2 retrainings, after 3 rounds */
    recipe = &chooses;
    check_choice();
    check_stopped(9);    /* after choosing, 5 rounds; before 3 retrainings */
    recipe = &long_recipe;
    net = small_net;
}

/* A checkpoint whose place is right, but whose model is not one that the recipe
 * could have made: the clips are of the given model. */
static void test_forged(void)
{
    static const struct { const char *net, *label, *says; } forged[] = {
        { "input x h=60 w=6 c=16\npool p in=x kind=avg\n"
          "conv y in=p out=5\n", NULL, "other frames" },
        { "input x h=6 w=6 c=16 fps=3\npool p in=x kind=avg\n"
          "conv y in=p out=5\n", NULL, "other frames" },
        { "input x h=6 w=6 c=16\npool p in=x kind=avg\n"
          "conv y in=p out=6\n", NULL, "another output" },
        { "input x h=6 w=6 c=16\nconv y in=x out=5 kernel=3\n", NULL,
          "another output" },
        { small_net, "abcde", "other labels" },
    };

    for (size_t i = 0; i < CTT_LEN(forged); i++) {
        struct stopped t = { .dies = 2 };
        struct ctt_report *r = NULL;
        char *label[5];
        int rc;

        CU_ASSERT_EQUAL(run_stopped(&t, in_folder("a.h5"), &r), CTT_EIO);
        CU_ASSERT_PTR_NOT_NULL_FATAL(t.m);
        ctt_model_free(&t.m);
        t.m = small_model(forged[i].net, 5);
        for (size_t k = 0; forged[i].label && k < CTT_LEN(label); k++)
            label[k] = (char *)forged[i].label + k;
        if (forged[i].label)
            CHECK_OK(ctt_model_labels(t.m, label, CTT_LEN(label)));
        rc = run_stopped(&t, in_folder("a.h5"), &r);
        CU_ASSERT_EQUAL(rc, CTT_EFORMAT);
        if (!strstr(ctt_errmsg(), forged[i].says))
            printf("\n    %s", ctt_errmsg());
        CU_ASSERT(strstr(ctt_errmsg(), forged[i].says) != NULL);
        CU_ASSERT_EQUAL(t.saves, 2);
        ctt_model_free(&t.m);
        ctt_free(t.place);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The same weights are not the same model: its frames per second and its
 * labels count too. */
static void test_given(void)
{
    static char one[] = "one", two[] = "two";
    char *const label[] = { one, two, one, two, one };
    struct ctt_model *m = small_model(small_net, 5);
    int input = ctt_graph_input(m->g);
    struct ctt_recipe_place p, now;

    CHECK_OK(ctt_place_given(m, &p));
    CHECK_OK(ctt_place_given(m, &now));
    CU_ASSERT_EQUAL(p.crc, now.crc);
    m->g->node[input].attr.input.fps = 3;
    CHECK_OK(ctt_place_given(m, &now));
    CU_ASSERT(p.crc != now.crc);
    m->g->node[input].attr.input.fps = 0;
    CHECK_OK(ctt_model_labels(m, label, CTT_LEN(label)));
    CHECK_OK(ctt_place_given(m, &now));
    CU_ASSERT(p.crc != now.crc);
    ctt_model_free(&m);
}

/* Blanks at the ends of its first lines are no endless loop. */
static void refuse_blanks(const char *text)
{
    struct ctt_recipe_place p = { .rounds = 0 };
    char other[4096];

    for (int line = 0; line < 3; line++) {
        const char *end = text;

        for (int k = 0; k <= line; k++)
            end = strchr(end, '\n') + 1;
        snprintf(other, sizeof(other), "%.*s \n%s", (int)(end - 1 - text),
                 text, end);
        CU_ASSERT_EQUAL(ctt_place_read(other, &long_recipe, &p, NULL),
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
    struct ctt_recipe_place p = { .rounds = 0 };
    struct ctt_report *back = NULL;

    CHECK_OK(ctt_place_given(m, &p));
    for (size_t k = 0; text[k]; k++) {
        char old = text[k];

        text[k] = "\t\n\x1b-9\"\0"[k % 7];
        CHECK_OK(ctt_report_new(m, &back));
        if (ctt_place_read(text, &long_recipe, &p, back) >= 0) {
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
    struct ctt_recipe_place p = { .rounds = 0 };
    struct ctt_model *m = small_model(small_net, 5);
    struct ctt_report *r = NULL, *back = NULL;
    char *text = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    fill_report(r);
    CHECK_OK(ctt_place_given(m, &p));
    CHECK_OK(ctt_place_print(&p, &long_recipe, r, &text));
    CHECK_OK(ctt_report_new(m, &back));
    CHECK_OK(ctt_place_read(text, &long_recipe, &p, back));
    check_report(back);
    ctt_report_free(&back);
    other.epochs++;
    CU_ASSERT_EQUAL(ctt_place_read(text, &other, &p, r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "made with other settings: "
                     "'retrain-epochs=10', now 'retrain-epochs=11'") != NULL);
    refuse_blanks(text);
    m->w[3]++;
    CHECK_OK(ctt_place_given(m, &p));
    CU_ASSERT_EQUAL(ctt_place_read(text, &long_recipe, &p, r), CTT_EINVAL);
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
    struct ctt_recipe_place p = { .rounds = 0 };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_report *r = NULL, *back = NULL;
        struct ctt_stage_row *row;
        char *text = NULL;

        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_report_row(r, &row));
        row->bytes = 1;
        row->after = bad[i];
        CHECK_OK(ctt_place_given(m, &p));
        CHECK_OK(ctt_place_print(&p, &long_recipe, r, &text));
        CHECK_OK(ctt_report_new(m, &back));
        CU_ASSERT_EQUAL(ctt_place_read(text, &long_recipe, &p, back),
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
    struct ctt_recipe_place p = { .rounds = 0 };
    struct ctt_model *m = small_model(small_net, 5);
    struct ctt_report *r = NULL, *back = NULL;
    struct ctt_stage_row *row;
    char *text = NULL, *digit;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_report_row(r, &row));
    row->bytes = INT64_MAX;
    for (int k = 0; k < 2 * (int)CTT_LEN(rounds); k++) {
        CHECK_OK(ctt_place_given(m, &p));
        p.rounds = rounds[k / 2];
        p.begun = k % 2;
        CHECK_OK(ctt_place_print(&p, &long_recipe, r, &text));
        CHECK_OK(ctt_report_new(m, &back));
        CU_ASSERT_EQUAL(ctt_place_read(text, &long_recipe, &p, back),
                        CTT_EFORMAT);
        ctt_report_free(&back);
        ctt_free(text);
    }
    p.rounds = p.begun = 0;
    CHECK_OK(ctt_place_print(&p, &long_recipe, r, &text));
    CHECK_OK(ctt_report_new(m, &back));
    CHECK_OK(ctt_place_read(text, &long_recipe, &p, back));
    CU_ASSERT(back->stage[0].bytes == INT64_MAX);
    ctt_report_free(&back);
    digit = strstr(text, "9223372036854775807");
    CU_ASSERT_PTR_NOT_NULL_FATAL(digit);
    digit[18] = '8';
    CHECK_OK(ctt_report_new(m, &back));
    CU_ASSERT_EQUAL(ctt_place_read(text, &long_recipe, &p, back), CTT_EFORMAT);
    ctt_report_free(&back);
    ctt_free(text);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

static int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void)
{
    static const char *const names[] = { "m.h5", "a.h5" };

    for (size_t i = 0; i < CTT_LEN(names); i++)
        remove(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "stopped and continued", test_stopped },
        { "forged checkpoints", test_forged },
        { "what identifies a model", test_given },
        { "places in checkpoints", test_places },
        { "impossible scores", test_impossible_scores },
        { "large numbers in places", test_large_places },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "place", make_folder, remove_folder, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
