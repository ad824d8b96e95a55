/* SPDX-License-Identifier: Apache-2.0
 * test_int8_blame.c: the stage INT8: what each conv costs, and which convs stay
 * in floats on that account. */
#include "net/quant.h"
#include "tests/lib/fake_trainer.h"
#include "tests/lib/int8_recipe.h"
#include "tests/lib/saved.h"
#include "tests/lib/small.h"

#include <stdio.h>

static const char classes[] =
    "input x h=6 w=6 c=16 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "convlstm h in=r hidden=8 kernel=3\npool p in=h kind=avg\n"
    "conv y in=p out=5\n";

/* Probabilities of all answers, in the order of the clips. */
struct answers { double p[SMALL_FRAMES][5]; int rows; };

static void take_answer(void *to, int k, const float *row)
{
    struct answers *a = to;
    double sum = 0;

    (void)k;
    for (int i = 0; i < 5; i++)
        sum += exp((double)row[i]);
    for (int i = 0; i < 5; i++)
        a->p[a->rows][i] = exp((double)row[i]) / sum;
    a->rows++;
}

static double divergence(const struct ctt_model *m, const struct ctt_model *q)
{
    struct answers a = { .rows = 0 }, b = { .rows = 0 };
    int at = ctt_graph_output(m->g), to = ctt_graph_output(q->g);
    double sum = 0;

    CHECK_OK(small_sample(NULL, m, 0, &at, 1, CTT_SAMPLE_ALL, take_answer,
                          &a));
    CHECK_OK(small_sample(NULL, q, 0, &to, 1, CTT_SAMPLE_ALL, take_answer,
                          &b));
    for (int t = 0; t < SMALL_FRAMES; t++)
        for (int i = 0; i < 5; i++)
            sum += a.p[t][i] * log(a.p[t][i] / b.p[t][i]) / SMALL_FRAMES;
    return sum;
}

/* The first row is that of the model, the others are sorted, and convs behind
 * others are no better than alone, up to what chance does. */
static void test_blame(void)
{
    struct ctt_recipe o = { .int8 = { .method = 4 } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_model *was = small_model(classes, 6), *m;
    struct ctt_report *r = int8_report(&o, &calls, classes, &m);
    double all = divergence(was, m);
    char line[200];

    CU_ASSERT_EQUAL_FATAL(r->blames, 5);
    CU_ASSERT_STRING_EQUAL(r->blame[0].name, CTT_BLAME_ALL);
    CU_ASSERT(all > 1e-8);
    CU_ASSERT(fabs(r->blame[0].answer - all) < 1e-9 + 1e-3 * all);
    for (int i = 1; i < r->blames; i++) {
        const struct ctt_blame *b = &r->blame[i];

        CU_ASSERT(b->answer > 0 && !b->stays[0]);
        CU_ASSERT(i == 1 || b->answer <= b[-1].answer);
        CU_ASSERT(b->alone > 20 && b->behind > 20);
        CU_ASSERT(b->behind < b->alone + 1);
        CU_ASSERT(ctt_report_blame_cells(r, i + 1, line, sizeof(line)));
        CU_ASSERT_PTR_NOT_NULL(strstr(line, b->name));
    }
    CU_ASSERT(!ctt_report_blame_cells(r, r->blames + 1, line, sizeof(line)));
    ctt_report_free(&r);
    ctt_model_free(&was);
    ctt_model_free(&m);
}

/* A conv whose step is far too large is the worst; what reads floats comes last
 * and says why; frames are judged by dB. */
static void test_blame_frames(void)
{
    struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
        .method = 1, .except = "h.z" } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_model *m;
    struct ctt_report *r = int8_report(&o, &calls, int8_net, &m);

    CU_ASSERT_EQUAL_FATAL(r->blames, 6);
    for (int i = 0; i < 4; i++)
        CU_ASSERT(r->blame[i].frames && r->blame[i].answer > 20 &&
                  r->blame[i].answer < 90);
    CU_ASSERT(r->blame[1].answer <= r->blame[3].answer);
    CU_ASSERT(r->blame[0].answer <= r->blame[1].answer + 1);
    CU_ASSERT_STRING_EQUAL(r->blame[4].name, "h.z");
    CU_ASSERT_STRING_EQUAL(r->blame[4].stays, "excepted");
    CU_ASSERT_STRING_EQUAL(r->blame[5].name, "u");
    CU_ASSERT_STRING_EQUAL(r->blame[5].stays, "no conv");
    CU_ASSERT(isnan(r->blame[4].answer) && isnan(r->blame[4].behind));
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* ---- auto ---- */

static int may, says_lost, says_kept;

/* All is well while at most `may` convs read bytes. */
static int few(void *arg, const char *stage, const struct ctt_model *m,
               struct ctt_score *s)
{
    (void)arg;
    (void)stage;
    *s = (struct ctt_score){ .clips = 100 };
    for (int i = 0; i < CTT_ACCURACIES; i++)
        s->top1[i] = int8_convs(m->g) > may ? 0.7 : 0.8;
    return 0;
}

static void hear(void *arg, const char *line)
{
    (void)arg;
    says_lost += strstr(line, "even with") != NULL;
    says_kept += strstr(line, "int8: kept: 2.0 points lost, but on 100 clips "
                        "up to 2.0 may be chance") != NULL;
}

/* Of four convs. */
static void test_auto(void)
{
    static const struct { int may, epochs, stay, trained, says; } rows[] = {
        { 4, 0, 0 }, { 3, 0, 1, 0, 0 }, { 2, 0, 2, 0, 0 },
        { 1, 0, 3, 0, 0 }, { 0, 0, 3, 0, 1 }, { 2, 1, 2, 0, 0 },
        { 1, 1, 0, 1, 1 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe o = { .int8 = { .method = 1, .except = "auto",
            .harm = 0.005f, .epochs = 3 }, .epochs = rows[i].epochs };
        struct ctt_recipe_calls calls = { .arg = &t, .accuracy = few,
            .sample = int8_sample, .say = hear, .clips = 100,
            .retrain = rows[i].epochs ? retrain : NULL };
        struct ctt_model *m;
        struct ctt_report *r;

        may = rows[i].may;
        says_lost = 0;
        r = int8_report(&o, &calls, classes, &m);
        CU_ASSERT_EQUAL(int8_convs(m->g), 4 - rows[i].stay);
        CU_ASSERT_EQUAL(says_lost, rows[i].says);
        CU_ASSERT_EQUAL(t.epochs > 0, rows[i].trained);
        CU_ASSERT_EQUAL(r->blames, 5);
        for (int k = 1; k < r->blames; k++) {
            CU_ASSERT_EQUAL(!strcmp(r->blame[k].stays, "costs accuracy"),
                            k <= rows[i].stay);
            CU_ASSERT_EQUAL(!!isnan(r->blame[k].behind), k <= rows[i].stay);
        }
        ctt_report_free(&r);
        ctt_free(t.mask);
        ctt_model_free(&m);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_auto_refused(void)
{
    static const struct {
        const char *net, *except, *says;
        float       harm;
    } rows[] = {
        { classes, "auto", "no validation clips", 0 },
        { classes, "auto", "--int8-harm must be 0 or more", -1 },
        { int8_net, "auto", "predicts frames", 0 },
        { classes, "auto,q", "no weight matches 'q'", 0 },
        { classes, "automatic", "no weight matches 'automatic'", 0 },
        { classes, "auto,*", "no conv that could read bytes", 0 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
            .method = 1, .except = rows[i].except,
            .harm = rows[i].harm } };
        struct ctt_recipe_calls calls = { .sample = int8_sample };
        struct ctt_model *m = small_model(rows[i].net, 6);
        struct ctt_report *r = NULL;

        ctt_check_refused(ctt_recipe_run(&o, &calls, saved_path, NULL, &m, &r),
                          CTT_EINVAL, rows[i].says);
        ctt_model_free(&m);
    }
}

/* What is lost on few clips: by chance unless the error is small. */
static struct ctt_loss measured;

static int loss(void *arg, const char *stage, const struct ctt_model *m,
                struct ctt_loss *out)
{
    (void)arg, (void)stage, (void)m;
    *out = measured;
    return 0;
}

static void test_chance(void)
{
    static const struct { struct ctt_loss loss; int stay, kept; } rows[] = {
        { { 0.02, 0.01 }, 0, 1 }, { { 0.03, 0.01 }, 3 }, { { -0.01, 0 }, 0 },
        { { 0.006, 0 }, 3 }, { { 0.004, 0 }, 0 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_recipe o = { .int8 = { .method = 1, .except = "auto",
            .harm = 0.005f } };
        struct ctt_recipe_calls calls = { .accuracy = few, .loss = loss,
            .sample = int8_sample, .say = hear, .clips = 100 };
        struct ctt_model *m;
        struct ctt_report *r;

        may = 4;
        says_kept = 0;
        measured = rows[i].loss;
        r = int8_report(&o, &calls, classes, &m);
        CU_ASSERT_EQUAL(int8_convs(m->g), 4 - rows[i].stay);
        CU_ASSERT_EQUAL(says_kept, rows[i].kept);
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "what each conv costs", test_blame },
    { "what each costs predicted frames", test_blame_frames },
    { "what costs accuracy stays in floats", test_auto },
    { "chance alone keeps nothing in floats", test_chance },
    { "refused", test_auto_refused },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8_blame", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
