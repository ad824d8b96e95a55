/* SPDX-License-Identifier: Apache-2.0
 * test_search_space.c: search spaces: which texts are some, and the trials that
 * are drawn from them. */
#include "libtrain/search/search.h"
#include "tests/lib/allocs.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, struct ctt_space **out)
{
    return ctt_space_parse("s.txt", text, strlen(text), out);
}

static struct ctt_space *space(const char *text)
{
    struct ctt_space *s = NULL;

    CHECK_OK(parse(text, &s));
    return s;
}

static struct ctt_train_cfg defaults(void)
{
    struct ctt_train_cfg c = { .data = NULL };

    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &c));
    c.search = "s.txt";
    return c;
}

/* ---- texts ---- */

static const char all_kinds[] =
    "\xef\xbb\xbf# what may vary\r\n"
    "\n"
    "momentum range 0.5 0.99 if optimizer=sgd   # comes before it\n"
    "optimizer choice sgd adam adamw\r\n"
    "\tlr log 1e-4 1e-1\n"
    "--beta2 range 0.9 0.999 if optimizer!=sgd\n"
    "frame-asks int 2 9 if frame-loss=linear|exp\n"
    "frame-loss choice none linear exp\n"
    "lr-end range 0 0.1 if lr>0.01\n"
    "warmup int 0 3 if momentum<0.75\n"
    "jitter choice 0 1\n"
    "lr-scale choice conv*=0.1,y=2 y#1=3 #";

static void every_kind_is_read(void)
{
    struct ctt_space *s = NULL;

    CHECK_OK(parse(all_kinds, &s));
    CU_ASSERT_EQUAL_FATAL(s->count, 10);
    CU_ASSERT_EQUAL(s->setting[0].when.of, 1);
    CU_ASSERT_EQUAL(s->setting[0].when.among, 1);
    CU_ASSERT_EQUAL(s->setting[0].line, 3);
    CU_ASSERT_EQUAL(s->setting[2].when.of, -1);
    CU_ASSERT_EQUAL(s->setting[2].kind, CTT_SETTING_LOG);
    CU_ASSERT_EQUAL(s->setting[3].when.among, 6);
    CU_ASSERT_EQUAL(s->setting[4].when.among, 6);
    CU_ASSERT_EQUAL(s->setting[6].when.more, 1);
    CU_ASSERT_EQUAL(s->setting[7].when.more, 0);
    CU_ASSERT_EQUAL(s->setting[7].when.of, 0);
    CU_ASSERT_STRING_EQUAL(s->setting[9].choice[1], "y#1=3");
    ctt_space_free(&s);
}

/* Message: what follows the name of the file. */
static const struct { const char *text, *words; } refused[] = {
    { "", "s.txt: lists no setting" },
    { "# lr log 1 2\n\n", "s.txt: lists no setting" },
    { "\nlrr log 1 2", "s.txt:2: 'lrr' is no option" },
    { "lr", "s.txt:1: lr: '' is none of range, log" },
    { "lr even 1 2", "s.txt:1: lr: 'even' is none of" },
    { "lr log", "lr: LOW and HIGH must follow" },
    { "lr log 1", "lr: LOW and HIGH must follow" },
    { "lr log 1 if", "lr: LOW and HIGH must follow" },
    { "lr log 1 x", "lr: 'x' is no number" },
    { "lr range 0 nan", "'nan' is no number" },
    { "lr log 0 1", "lr: 0 has no logarithm" },
    { "lr log 2 1", "lr: 2 is not below 1" },
    { "lr log 1 1", "lr: 1 is not below 1" },
    { "lr log 1 2000", "lr: bad value '2000' (0 to 1000, or auto)" },
    { "lr log 1 2 3", "lr: only 'if' may follow, not '3'" },
    { "batch range 1 2", "batch: is a whole number: int or choice" },
    { "optimizer range 1 2", "optimizer: is no number: choice" },
    { "optimizer int 1 2", "optimizer: is no number: choice" },
    { "batch int 1.5 2", "batch: bad value '1.5'" },
    { "warmup int 0.5 2", "warmup: 0.5 is no whole number" },
    { "optimizer choice", "optimizer: two choices are the fewest" },
    { "optimizer choice sgd", "optimizer: two choices are the fewest" },
    { "optimizer choice sgd if", "two choices are the fewest" },
    { "optimizer choice sgd sgd", "optimizer: 'sgd' stands there twice" },
    { "optimizer choice sgd lion", "optimizer: no choice 'lion'" },
    { "teacher choice a \"b\"", "has other characters than ASCII" },
    { "teacher choice a \xc3\xa4", "has other characters than ASCII" },
    { "batch choice 8 9\nlr log 1 2\nbatch int 1 2",
      "s.txt:3: --batch stands in line 1 already" },
    { "at-most ms 3", "at-most: 'ms' is none of multiplications and param" },
    { "at-most", "at-most: '' is none of" },
    { "at-most parameters", "at-most parameters: one number from 1" },
    { "at-most parameters 3G", "at-most parameters: one number from 1" },
    { "at-most parameters 0", "at-most parameters: one number from 1" },
    { "at-most parameters 0x10", "at-most parameters: one number from 1" },
    { "at-most parameters 3 4", "at-most parameters: one number from 1" },
    { "at-most parameters 3\nat-most parameters 4", "s.txt:2: at-most param" },
    { "at-most parameters 3", "s.txt: lists no setting" },
    /* What cannot vary, and why. */
    { "epochs int 1 9", "--epochs cannot vary: it is the same for all" },
    { "out choice a b", "--out cannot vary" },
    { "data choice a b", "--data cannot vary" },
    { "resume choice 0 1", "--resume cannot vary" },
    { "trials int 1 9", "--trials cannot vary" },
    { "threads int 1 9", "--threads cannot vary" },
    { "seed int 1 9", "--seed cannot vary: --repeats tries seeds" },
    { "task choice both predict", "--task cannot vary" },
    { "val-ratios choice 1 0.5", "--val-ratios cannot vary" },
    { "min-frames int 1 9", "--min-frames cannot vary: all trials see" },
    { "dsd range 0.1 0.3", "--dsd cannot vary" },
    /* Conditions. */
    { "lr log 1 2 if", "lr: a condition must follow 'if'" },
    { "lr log 1 2 if batch = 2", "then nothing, not '='" },
    { "lr log 1 2 if batch", "'batch' is no condition" },
    { "lr log 1 2 if batch=2", "if 'batch': nothing here sets it" },
    { "lr log 1 2 if !batch=2", "'!batch=2' is no condition" },
    { "batch choice 2 4\nlr log 1 2 if batch=3",
      "s.txt:2: batch is never '3'" },
    { "batch choice 2 4\nlr log 1 2 if batch=2|", "batch is never ''" },
    { "batch choice 2 4\nlr log 1 2 if batch=2|4", "holds always" },
    { "batch choice 2 4\nlr log 1 2 if batch!=2|4", "holds never" },
    { "batch choice 2 4\nlr log 1 2 if batch<3", "batch has choices: '='" },
    { "batch int 2 4\nlr log 1 2 if batch=3", "batch is a number: '<'" },
    { "batch int 2 4\nlr log 1 2 if batch<2", "no number between 2 and 4" },
    { "batch int 2 4\nlr log 1 2 if batch>x", "no number between 2 and 4" },
    { "lr log 1 2 if lr<1.5", "s.txt:1: lr depends on itself" },
    { "lr log 1 2 if weight-decay<1e-4\n"
      "weight-decay log 1e-5 1e-3 if beta1<0.5\nbeta1 range 0 0.9 if lr>1.5",
      "lr depends on itself, by weight-decay<1e-4" },
    { "gamma range 0 1 if lr<1.5\nlr log 1 2 if weight-decay<1e-4\n"
      "weight-decay log 1e-5 1e-3 if lr<1.5", "depends on itself" },
};

static void what_is_none_is_refused(void)
{
    struct ctt_space *s = NULL;
    char many[4000] = "", zero[] = "lr log 1 2\n#\0";

    for (size_t i = 0; i < CTT_LEN(refused); i++)
        ctt_check_refused(parse(refused[i].text, &s), CTT_EINVAL,
                          refused[i].words);
    ctt_check_refused(ctt_space_parse("s.txt", zero, sizeof(zero), &s),
                      CTT_EINVAL, "is no text");
    for (int i = 0; i < 33; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many),
                 "%s t%d", i ? "" : "teacher choice", i);
    ctt_check_refused(parse(many, &s), CTT_EINVAL, "more than 32 choices");
    many[0] = '\0';
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++)
        if ((o->type == CTT_FLOAT || o->type == CTT_INT) &&
            !ctt_space_fixed(o))
            snprintf(many + strlen(many), sizeof(many) - strlen(many),
                     "%s choice %g %g\n", o->name, o->min, o->max);
    ctt_check_refused(parse(many, &s), CTT_EINVAL, "more than 32 settings");
    CU_ASSERT_PTR_NULL(s);
    CU_ASSERT(ctt_space_read(clip_path("none"), &s) < 0);
}

/* No setting that may vary is one that may change when a training resumes, and
 * a few that matter are free. */
static void what_may_vary(void)
{
    static const char *const may[] = { "lr", "batch", "optimizer", "momentum",
        "weight-decay", "warmup", "schedule", "label-smooth", "augment",
        "mixup", "ema", "observe", "clip-norm", "freeze", "lr-scale" };

    for (size_t i = 0; i < CTT_LEN(may); i++)
        CU_ASSERT_PTR_NULL(ctt_space_fixed(ctt_train_opts +
                           ctt_opt_find(ctt_train_opts, may[i])));
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++)
        CU_ASSERT(!(o->tags & (CTT_CFG_RESUME | CTT_CFG_CLIPS)) ||
                  ctt_space_fixed(o));
}

/* A conv of 16 by 9 pixels from 2 to 5 channels: 10 weights, 1,440 times. */
static void networks_are_limited(void)
{
    static const struct { const char *limit; int fits; } rows[] = {
        { "", 1 }, { "at-most parameters 15", 1 },
        { "at-most parameters 14", 0 }, { "at-most multiplications 1.44k", 1 },
        { "at-most multiplications 1439", 0 },
        { "at-most parameters 1M\nat-most multiplications 1439", 0 },
    };
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse("input x h=16 w=9 c=2\nconv y in=x out=5\n", &g));
    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        char text[128];
        struct ctt_space *s;

        snprintf(text, sizeof(text), "lr log 1e-4 1\n%s\n", rows[i].limit);
        s = space(text);
        CU_ASSERT_EQUAL(ctt_space_fits(s, g), rows[i].fits);
        ctt_space_free(&s);
    }
    ctt_graph_free(&g);
}

/* ---- draws ---- */

enum { DRAWS = 4000 };

/* Each number is in its range, and each tenth of the range has a tenth of them,
 * within 5 standard deviations. */
static void numbers_are_even(void)
{
    struct ctt_space *s = space("lr log 1e-4 1e-1\nmomentum range 0.5 0.9\n"
                                "frame-asks int 3 12\n"
                                "optimizer choice sgd adam adamw\n");
    int seen[3][10] = { { 0 } }, choice[3] = { 0 };
    double slack = 5 * sqrt(DRAWS * 0.1 * 0.9);

    for (int i = 0; i < DRAWS; i++) {
        struct ctt_draw d;
        double lr, momentum;
        int asks;

        ctt_space_draw(s, 7, i, &d);
        lr = atof(d.text[0]);
        momentum = atof(d.text[1]);
        asks = atoi(d.text[2]);
        CU_ASSERT(lr >= 1e-4 && lr <= 0.1 && momentum >= 0.5 &&
                  momentum <= 0.9 && asks >= 3 && asks <= 12);
        seen[0][(int)fmin(9, log10(lr / 1e-4) / 3 * 10)]++;
        seen[1][(int)fmin(9, (momentum - 0.5) / 0.4 * 10)]++;
        seen[2][asks - 3]++;
        choice[(int)(d.at[3] * 3)]++;
        CU_ASSERT_STRING_EQUAL(d.text[3],
                               s->setting[3].choice[(int)(d.at[3] * 3)]);
        CU_ASSERT(fabs(d.at[0] - log10(lr / 1e-4) / 3) < 1e-3);
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 10; i++)
            CU_ASSERT(fabs(seen[k][i] - DRAWS / 10.0) < slack);
    for (int i = 0; i < 3; i++)
        CU_ASSERT(fabs(choice[i] - DRAWS / 3.0) < 1.6 * slack);
    ctt_space_free(&s);
}

/* The order of lines and what else varies change no value; seeds and trials
 * do. */
static void a_trial_is_its_own(void)
{
    struct ctt_space *a = space("lr log 1e-4 1\nbeta1 range 0 0.9\n");
    struct ctt_space *b = space("gamma range 0 1\nbeta1 range 0 0.9\n"
                                "lr log 1e-4 1\n");
    int same = 0;

    for (int i = 0; i < 100; i++) {
        struct ctt_draw x, y, z;

        ctt_space_draw(a, 1, i, &x);
        ctt_space_draw(b, 1, i, &y);
        CU_ASSERT_STRING_EQUAL(x.text[0], y.text[2]);
        CU_ASSERT_STRING_EQUAL(x.text[1], y.text[1]);
        ctt_space_draw(a, 2, i, &z);
        same += strcmp(x.text[0], z.text[0]) == 0;
        ctt_space_draw(a, 1, i + 1, &z);
        same += strcmp(x.text[0], z.text[0]) == 0;
    }
    CU_ASSERT(same < 10);
    ctt_space_free(&a);
    ctt_space_free(&b);
}

/* A setting is there if and only if its condition and those above it hold. */
static void conditions_hold(void)
{
    struct ctt_space *s = space(all_kinds);
    int without = 0;

    for (int i = 0; i < 500; i++) {
        struct ctt_train_cfg c = defaults();
        struct ctt_draw d;
        char text[512];
        int sgd;

        ctt_space_draw(s, 3, i, &d);
        sgd = strcmp(d.text[1], "sgd") == 0;
        CU_ASSERT_EQUAL(d.text[0] != NULL, sgd);
        CU_ASSERT_EQUAL(d.text[3] != NULL, !sgd);
        CU_ASSERT_EQUAL(d.text[4] != NULL, strcmp(d.text[5], "none") != 0);
        CU_ASSERT_EQUAL(d.text[6] != NULL, atof(d.text[2]) > 0.01);
        CU_ASSERT_EQUAL(d.text[7] != NULL, sgd && atof(d.text[0]) < 0.75);
        without += !d.text[7];
        for (int k = 0; k < s->count; k++)
            CU_ASSERT_EQUAL(d.text[k] == NULL, isnan(d.at[k]));
        CHECK_OK(ctt_space_apply(s, &d, &c));
        CU_ASSERT_EQUAL(c.optimizer, !sgd ? c.optimizer : CTT_SGD);
        CU_ASSERT_EQUAL(c.lr, strtof(d.text[2], NULL));
        CU_ASSERT_EQUAL(c.momentum, sgd ? strtof(d.text[0], NULL) : 0.9f);
        ctt_draw_text(s, &d, text, sizeof(text));
        CU_ASSERT_EQUAL(strstr(text, "momentum=") != NULL, sgd);
        ctt_draw_text(s, &d, text, 8);
        CU_ASSERT(strlen(text) < 8);
    }
    CU_ASSERT(without > 300 && without < 500);
    ctt_space_free(&s);
}

/* Four digits must not round a number out of its range. */
static void ranges_are_kept(void)
{
    struct ctt_space *s = space("lr range 0.123412 0.123442\n");

    for (int i = 0; i < 50; i++) {
        struct ctt_draw d;

        ctt_space_draw(s, 1, i, &d);
        CU_ASSERT(atof(d.text[0]) >= 0.123412 && atof(d.text[0]) <= 0.123442);
    }
    ctt_space_free(&s);
}

static void contradictions_are_found(void)
{
    struct ctt_space *s = space("schedule choice cosine sampled\n");
    struct ctt_train_cfg c = defaults();

    ctt_check_refused(ctt_space_check(s, &c), CTT_EINVAL,
                      "schedule=sampled: --schedule=sampled requires");
    c.schedule = CTT_STEPS;
    ctt_check_refused(ctt_space_check(s, &c), CTT_EINVAL,
                      "s.txt:1: --schedule is given as well");
    ctt_space_free(&s);
    s = space("lr log 1e-4 1\n");
    c = defaults();
    CHECK_OK(ctt_space_check(s, &c));
    c.search_first = 21;
    ctt_check_refused(ctt_space_check(s, &c), CTT_EINVAL,
                      "--search-first=21: a trial has 20 epochs");
    c = defaults();
    c.seed = 1000000000;
    ctt_check_refused(ctt_space_check(s, &c), CTT_EINVAL, "--seed=1000000000");
    c = defaults();
    c.folds = 3;
    ctt_check_refused(ctt_space_check(s, &c), CTT_EINVAL, "--search excludes");
    ctt_space_free(&s);
}

static int read_file(void *arg)
{
    struct ctt_space *s = NULL;
    int rc = ctt_space_read(arg, &s);

    CU_ASSERT((rc < 0) == !s);
    ctt_space_free(&s);
    return rc;
}

static void allocations_fail(void)
{
    char path[256];

    clip_text("space.txt", all_kinds);
    snprintf(path, sizeof(path), "%s", clip_path("space.txt"));
    fail_allocs(read_file, path, 2);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "limits of networks", networks_are_limited },
        { "every kind is read", every_kind_is_read },
        { "what is none is refused", what_is_none_is_refused },
        { "what may vary", what_may_vary },
        { "numbers are even", numbers_are_even },
        { "a trial is its own", a_trial_is_its_own },
        { "conditions hold", conditions_hold },
        { "ranges are kept", ranges_are_kept },
        { "contradictions are found", contradictions_are_found },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "search space", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
