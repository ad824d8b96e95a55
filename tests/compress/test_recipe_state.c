/* SPDX-License-Identifier: Apache-2.0
 * test_recipe_state.c: a recipe that is stopped and continued, also from a
 * forged checkpoint. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/recipe_state.h"

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

/* Retrained for 10, 10 and 20 epochs, as two repetitions gain nothing. */
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
    *s = (struct ctt_speed){ 2, ++t->compared % 2 ? 0.5 : 2, 0, 0 };
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
    check_stopped(5);    /* before 3 retrainings, after 2 rounds */
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
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "place", make_folder, remove_folder, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
