/* SPDX-License-Identifier: Apache-2.0
 * test_retraining.c: which rounds of a recipe are retrained, and how long. */
#include "tests/lib/fake_trainer.h"
#include "tests/lib/small.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/test_retraining.XXXXXX";

/* As given, before retraining unless that prunes in steps, and after each
 * one. */
static int rising(void *arg, const char *stage, const struct ctt_model *m,
                  struct ctt_score *s)
{
    static const double top[] = { 0.9, 0.1, 0.2, 0.5, 0.89 };
    struct trainer *t = arg;

    (void)stage;
    (void)m;
    CU_ASSERT_FATAL(t->asked < (int)CTT_LEN(top));
    t->asked += t->asked == 1 && !t->timed;
    *s = (struct ctt_score){ .clips = 100 };
    for (int i = 0; i < CTT_ACCURACIES; i++)
        s->top1[i] = top[t->asked] + 0.05 * (i - 1);
    t->asked++;
    return 0;
}

static char told[200];

static void tell(void *arg, const char *line)
{
    (void)arg;
    snprintf(told, sizeof(told), "%s", line);
}

static int refresh(void *arg, const char *stage, struct ctt_model *m)
{
    struct trainer *t = arg;

    (void)m;
    CU_ASSERT(t->stages == 0 && strncmp(stage, "pruned", 6) == 0);
    t->timed++;
    return 0;
}

/* Retraining is repeated with twice the epochs until one clip of 100 is
 * missing, mean over the observed ratios, or the limit is reached.  Norms are
 * estimated after pruning at once, not before pruning in steps. */
static void test_automatic(void)
{
    static const struct { int rounds, limit, epochs; const char *says; }
    expect[] = {
        { 0, 96, 16, "pruned: validation accuracy is back after 16 epochs of "
          "retraining, within 1.0 points in the mean: on 100 clips a loss "
          "below 6.0 may be chance" },
        { 1, 16, 16, "pruned 1/1: validation accuracy is back after 16 "
          "epochs" },
        { 1, 8, 8, "pruned 1/1: 40.0 points of top-1 are missing after 8 epochs"
                   " of retraining: the limit (--retrain-limit)" },
        { 0, 4, 4, "pruned: 70.0 points of top-1 are missing after 4 epochs" },
    };

    for (size_t i = 0; i < CTT_LEN(expect); i++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain,
            .accuracy = rising, .say = tell, .norms = refresh, .clips = 100,
            .span = spanned };
        struct ctt_recipe o = { .prune = { .share = 0.6f, .steps = 10,
            .until = 0.6f, .rounds = expect[i].rounds }, .epochs = 4,
            .automatic = 1, .within = 1, .limit = expect[i].limit };
        struct ctt_model *m = small_model(small_net, 6);
        struct ctt_report *r = NULL;

        CHECK_OK(ctt_recipe_run(&o, &calls, path, NULL, &m, &r));
        CU_ASSERT_EQUAL(t.epochs, expect[i].epochs);
        CU_ASSERT_EQUAL(t.span.done + t.span.now, t.epochs);
        CU_ASSERT_EQUAL(t.timed, expect[i].rounds);
        CU_ASSERT_EQUAL(t.changes, expect[i].rounds ? 0 : 10);
        CU_ASSERT(strstr(told, expect[i].says) == told);
        CU_ASSERT_DOUBLE_EQUAL(r->stage[1].prunable, 0.6, 1e-3);
        CU_ASSERT_EQUAL(isnan(r->stage[1].before[2]), !expect[i].rounds);
        ctt_free(t.mask);
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

static double stays;    /* top-1 of a model that retraining does not help */

static int stuck(void *arg, const char *stage, const struct ctt_model *m,
                 struct ctt_score *s)
{
    (void)arg;
    (void)m;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        s->top1[k] = strcmp(stage, "original") == 0 ? 0.9 : stays;
    return 0;
}

/* Two repetitions that gain nothing are the last ones; what may be missing is
 * points, but at least one clip.  The reason is in the model's history. */
static void test_no_gain(void)
{
    static const struct { double stays; int clips; float within; int epochs;
                          const char *says; } expect[] = {
        { 0.5, 100, 1, 16, "pruned 1/1: 40.0 points of top-1 are missing after "
          "16 epochs of retraining: the last two repetitions gained nothing" },
        { 0.85, 100, 4.9f, 16, "pruned 1/1: 5.0 points" },
        { 0.85, 100, 5, 4, "pruned 1/1: validation accuracy is back after 4 "
          "epochs" },
        { 0.85, 10, 1, 4, "pruned 1/1: validation accuracy is back after 4 "
          "epochs" },
        { 0.79, 10, 1, 16, "pruned 1/1: 11.0 points" },
    };

    for (size_t i = 0; i < CTT_LEN(expect); i++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain,
            .accuracy = stuck, .say = tell, .clips = expect[i].clips };
        struct ctt_recipe o = { .prune = { .share = 0.6f, .rounds = 1 },
            .epochs = 4, .automatic = 1, .within = expect[i].within,
            .limit = 96 };
        struct ctt_model *m = small_model(small_net, 6);
        struct ctt_report *r = NULL;

        stays = expect[i].stays;
        CHECK_OK(ctt_recipe_run(&o, &calls, path, NULL, &m, &r));
        CU_ASSERT_EQUAL(t.epochs, expect[i].epochs);
        CU_ASSERT(strstr(told, expect[i].says) == told);
        CU_ASSERT(m->history && strstr(m->history, expect[i].says));
        ctt_free(t.mask);
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

/* A round that changes no weight is not retrained, and that is said. */
static void test_no_change(void)
{
    struct trainer t = { .mask = NULL };
    struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain,
                                      .say = tell };
    struct ctt_recipe o = { .tt = { .tol = 1e-6f, .least = 60, .harm = 1 },
                            .prune = { .share = 0.6f, .rounds = 1 },
                            .epochs = 9 };
    struct ctt_model *m = small_model(small_net, 6);
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_recipe_run(&o, &calls, path, NULL, &m, &r));
    CU_ASSERT_EQUAL_FATAL(r->stages, 3);
    CU_ASSERT_STRING_EQUAL(r->stage[1].name, "tensor trains: no change");
    CU_ASSERT_STRING_EQUAL(r->stage[2].name, "pruned 1/1");
    CU_ASSERT_EQUAL(t.stages, 1);
    CU_ASSERT_EQUAL(t.epochs, 6);    /* the trains would have had a third */
    CU_ASSERT_STRING_EQUAL(told, "tensor trains: no change, so it is not "
                           "retrained");
    CU_ASSERT(strstr(m->history, "tensor trains: no change") != NULL);
    ctt_free(t.mask);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* The last round is retrained all the same: for the rounds before it. */
static void test_last(void)
{
    struct trainer t = { .mask = NULL };
    struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain };
    struct ctt_recipe o = { .tt = { .rank = 2, .least = 60, .harm = 1 },
                            .prune = { .share = 0.6f, .rounds = 1,
                                       .least = 1000000 }, .epochs = 9 };
    struct ctt_model *m = small_model(small_net, 6);
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_recipe_run(&o, &calls, path, NULL, &m, &r));
    CU_ASSERT_EQUAL_FATAL(r->stages, 3);
    CU_ASSERT_STRING_EQUAL(r->stage[2].name, "pruned 1/1: no change");
    CU_ASSERT_EQUAL(t.stages, 2);
    CU_ASSERT_EQUAL(t.epochs, 9);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

static int make_file(void)
{
    int fd = mkstemp(path);

    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void)
{
    return unlink(path);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "until accuracy is back", test_automatic },
        { "until nothing is gained", test_no_gain },
        { "no change", test_no_change },
        { "no change in the last round", test_last },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "retraining", make_file, remove_file, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
