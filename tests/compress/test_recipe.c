/* SPDX-License-Identifier: Apache-2.0
 * test_recipe.c: the stages of a recipe in order, the report and its files. */
#include "tests/lib/check.h"
#include "tests/lib/fake_trainer.h"
#include "tests/lib/small.h"
#include "base/limits.h"
#include "compress/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each stage has options with defaults, which ask for nothing that is worth a
 * run; those of a tool lie where its recipe does. */
static void test_options(void)
{
    struct { char other[40]; struct ctt_recipe o; } tool;
    struct ctt_opt tab[CTT_OPT_MAX + 1] = { { .name = NULL } };
    size_t base = (size_t)((char *)&tool.o - (char *)&tool);
    int all = 0;

    for (int i = 0; ctt_stages[i]; i++) {
        CU_ASSERT(ctt_stages[i]->options[0].name != NULL);
        for (int k = 0; ctt_stages[i]->options[k].name; k++)
            all++;
    }
    CU_ASSERT_EQUAL(ctt_recipe_options(0, tab, all - 1), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_recipe_options(base, tab, CTT_OPT_MAX), all);
    CU_ASSERT_STRING_EQUAL(tab[0].section, ctt_stages[0]->section);
    memset(&tool, 0, sizeof(tool));
    CHECK_OK(ctt_opt_defaults(tab, &tool));
    CU_ASSERT_EQUAL(tool.o.round.bits, 8);
    CU_ASSERT_EQUAL(tool.o.tt.least, 65536);
    CU_ASSERT_EQUAL(ctt_recipe_asked(&tool.o), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "--tt-rank") != NULL);
    CU_ASSERT(strstr(ctt_errmsg(), "--prune") != NULL);
    CHECK_OK(ctt_opt_set(tab, &tool, "prune", "0.5"));
    CHECK_OK(ctt_recipe_asked(&tool.o));
}

static char folder[] = "/tmp/test_recipe.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int accuracy(void *arg, const char *stage, const struct ctt_model *m,
                    struct ctt_score *s)
{
    struct trainer *t = arg;

    (void)stage;
    CU_ASSERT(m->g->sealed);
    t->asked++;
    *s = (struct ctt_score){ .clips = 200, .lost = 15, .won = t->asked };
    for (int k = 0; k < CTT_ACCURACIES; k++)
        s->top1[k] = 0.1 * (k + 1) + 0.01 * t->asked;
    return 0;
}

/* The first model takes 4 ms, the k-th k times as long. */
static int timed(void *arg, const char *path, struct ctt_speed *s)
{
    struct trainer *t = arg;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_model_load(path, 0, &m));
    ctt_model_free(&m);
    t->timed++;
    *s = (struct ctt_speed){ 4 + 100 * (t->timed > 1), t->timed,
                             1000000 + 1000 * t->timed, 0 };
    return 0;
}

static int64_t file_size(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? (int64_t)s.st_size : -1;
}

static void check_rows(const struct ctt_report *r, const struct ctt_model *m)
{
    const struct ctt_stage_row *last = &r->stage[r->stages - 1];
    int64_t kept = 0, all = 0, pruned, size = 0;
    int done = 0;

    CU_ASSERT(isnan(r->stage[0].before[0]));
    CU_ASSERT_DOUBLE_EQUAL(r->stage[0].after.top1[2], 0.31, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last[-1].before[0], 0.18, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last[-1].after.top1[0], 0.19, 1e-9);
    /* rounding is not retrained: there is no "before" */
    CU_ASSERT(isnan(last->before[0]));
    CU_ASSERT_DOUBLE_EQUAL(last->after.top1[0], 0.2, 1e-9);
    CU_ASSERT(isnan(r->stage[0].before[0]));
    CU_ASSERT_DOUBLE_EQUAL(last->prunable, ctt_pruned(m, NULL), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last->ms, 6 * 4, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last->faster, 1 / 6.0, 1e-9);
    CU_ASSERT_EQUAL(last->ram, 1006000);
    CU_ASSERT_EQUAL(r->stage[0].ms, 4);
    CU_ASSERT(last->bytes < last[-1].bytes);
    CU_ASSERT_EQUAL(last->params, last[-1].params);
    CU_ASSERT(last->bytes < r->stage[1].bytes);
    CU_ASSERT(r->stage[1].bytes < r->stage[0].bytes);
    CU_ASSERT(last->macs < r->stage[0].macs && last->live_macs < last->macs);
    CU_ASSERT_EQUAL(last->clip_macs, r->stage[0].clip_macs);
    CU_ASSERT_DOUBLE_EQUAL(last->pruned, 0.6, 1e-3);
    for (int k = 0; k < r->weights; k++) {
        kept += r->weight[k].kept;
        size += r->weight[k].size;
        done += r->weight[k].cores > 1;
        CU_ASSERT(r->weight[k].encoding[0] != '\0');
        CU_ASSERT(r->weight[k].entropy.values > 0 &&
                  r->weight[k].entropy.values <= r->weight[k].kept);
        CU_ASSERT(r->weight[k].entropy.gap_bits > 0);
    }
    small_count(m, &all, &pruned);
    CU_ASSERT_EQUAL(kept, all - pruned);
    CU_ASSERT(size > 0 && size < last->bytes);
    CU_ASSERT(done > 1);
}

static void check_text(struct ctt_report *r)
{
    char s[1024], *json = NULL;
    int rows = 0, depth = 0;

    while (ctt_report_stage_cells(r, rows, s, sizeof(s)))
        rows++;
    CU_ASSERT_EQUAL(rows, r->stages + 1);
    CU_ASSERT(strstr(s, "rounded") == s);
    CHECK_OK(ctt_report_stage_cells(r, r->stages - 1, s, sizeof(s)));
    CU_ASSERT(strstr(s, "pruned 3/3") == s);
    CU_ASSERT(strstr(s, "\t1005\t20.000\t0.20x") != NULL);
    for (rows = 0; ctt_report_score_cells(r, rows, s, sizeof(s)); )
        rows++;
    CU_ASSERT_EQUAL(rows, r->stages + 1);
    CHECK_OK(ctt_report_score_cells(r, 1, s, sizeof(s)));
    CU_ASSERT(strstr(s, "original\t-\t11.0/21.0/31.0\t7.4-16.1\t") == s);
    CU_ASSERT(strstr(s, "\t-\t-\t-") != NULL);
    CHECK_OK(ctt_report_score_cells(r, r->stages - 1, s, sizeof(s)));
    CU_ASSERT(strstr(s, "pruned 3/3\t18.0/28.0/38.0\t19.0/29.0/39.0\t") == s);
    CU_ASSERT(strstr(s, "\t15\t9\t0.307") != NULL);
    for (rows = 0; ctt_report_weight_cells(r, rows, s, sizeof(s)); )
        rows++;
    CU_ASSERT_EQUAL(rows, r->weights + 1);
    for (rows = 0; ctt_report_stored_cells(r, rows, s, sizeof(s)); )
        rows++;
    CU_ASSERT_EQUAL(rows, r->weights + 1);
    CU_ASSERT_EQUAL(ctt_report_proof_cells(r, 0, s, sizeof(s)), 0);
    r->clips[r->sets++] = (struct ctt_clips){ "proof", "a\"\n", "test", 7 };
    r->proof[0] = r->stage[0].after;
    r->proof[1] = r->stage[1].after;
    for (rows = 0; ctt_report_proof_cells(r, rows, s, sizeof(s)); )
        rows++;
    CU_ASSERT_EQUAL(rows, 3);
    CU_ASSERT(strstr(s, "compressed\t13.0/23.0/33.0\t9.0-18.4\t") == s);
    CHECK_OK(ctt_report_json(r, in_folder("r.json")));
    CHECK_OK(ctt_net_read(in_folder("r.json"), &json));
    for (const char *p = json; *p; p++) {
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        CU_ASSERT_FATAL(depth > 0 || !p[1] || !p[2]);
    }
    CU_ASSERT_EQUAL(depth, 0);
    CU_ASSERT(strstr(json, "\"top1_before_retraining\": null") != NULL);
    CU_ASSERT(strstr(json, "\"ms_a_frame\": 24, \"faster\": 0.16") != NULL);
    CU_ASSERT(strstr(json, "\"a\\\"\\u000a\", \"split\": \"test\", "
                     "\"clips\": 7}") != NULL);
    CU_ASSERT(strstr(json, "nan") == NULL);
    ctt_free(json);
    CU_ASSERT_EQUAL(ctt_report_json(r, in_folder("none/r.json")), CTT_EIO);
}

static void test_recipe(void)
{
    struct trainer t = { 0 };
    struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain,
        .accuracy = accuracy, .time = timed, .span = spanned };
    struct ctt_recipe o = { .tt = { .rank = 4 }, .round = { .bits = 8 },
                            .prune = { .share = 0.6f, .rounds = 3 },
                            .epochs = 10 };
    struct ctt_model *m = small_model(small_net, 5), *back = NULL;
    struct ctt_report *r = NULL;
    const char *path = in_folder("m.h5");
    char file[256];

    snprintf(file, sizeof(file), "%s", path);
    CHECK_OK(ctt_recipe_run(&o, &calls, file, NULL, &m, &r));
    CU_ASSERT_EQUAL(t.epochs, 10);
    CU_ASSERT_EQUAL(t.span.done + t.span.now, 10);
    CU_ASSERT_EQUAL(t.span.later, 0);
    CU_ASSERT_EQUAL(t.stages, 4);
    CU_ASSERT_EQUAL(r->stages, 6);
    CU_ASSERT_EQUAL(r->stage[5].bytes, file_size(file));
    CU_ASSERT_EQUAL(file_size(in_folder("m.h5.convtt0.tmp")), -1);
    CHECK_OK(ctt_model_load(file, 0, &back));
    CU_ASSERT_EQUAL_FATAL(back->g->weights, m->g->weights);
    CU_ASSERT_EQUAL(memcmp(back->w, m->w, (size_t)m->g->weights * 4), 0);
    CU_ASSERT_FATAL(back->constraint.keep != NULL);
    CU_ASSERT_EQUAL(memcmp(back->constraint.keep, m->constraint.keep,
                           (size_t)m->g->weights), 0);
    CU_ASSERT(strstr(back->history, "tensor trains: rank 4") != NULL);
    CU_ASSERT(strstr(back->history, "\npruned 3/3: 60.0") != NULL);
    CU_ASSERT(strstr(back->history, "% of all convolution weights, 60.0") !=
              NULL);
    CU_ASSERT(strstr(back->history, "\nrounded: 8 ") != NULL);
    small_compare(m, back, 4, 0);
    check_rows(r, back);
    check_text(r);
    ctt_free(t.mask);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&back);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Without a trainer; each kind of stage alone. */
static void test_alone(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o[] = {
        { .tt = { .tol = 0.3f } },
        { .prune = { .share = 0.5f, .rounds = 1 } },
    };

    for (size_t i = 0; i < CTT_LEN(o); i++) {
        struct ctt_model *m = small_model(small_net, 6);
        struct ctt_report *r = NULL;
        char s[1024];

        CHECK_OK(ctt_recipe_run(&o[i], &none, in_folder("a.h5"), NULL, &m,
                                &r));
        CU_ASSERT_EQUAL(r->stages, 2);
        CHECK_OK(ctt_report_stage_cells(r, 2, s, sizeof(s)));
        CU_ASSERT(strstr(s, "\t-\t-\t-") != NULL);
        CHECK_OK(ctt_report_score_cells(r, 2, s, sizeof(s)));
        CU_ASSERT(strstr(s, "\t-\t-\t-\t-\t-\t-\t-\t-") != NULL);
        CU_ASSERT((m->constraint.keep != NULL) == (o[i].prune.share > 0));
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

/* Pruned in steps while it is retrained: nothing before, all of it after 60% of
 * the batches.  Without retraining it is pruned at once. */
static void test_steps(void)
{
    static const char *const names[] = { "pruned 1/1", "pruned" };

    for (int k = 0; k < 2; k++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain };
        struct ctt_recipe o = { .prune = { .share = 0.6f, .steps = 10,
                                           .until = 0.6f }, .epochs = 4 * k };
        struct ctt_model *m = small_model(small_net, 6);
        struct ctt_report *r = NULL;

        CHECK_OK(ctt_recipe_run(&o, &calls, in_folder("a.h5"), NULL, &m, &r));
        CU_ASSERT_EQUAL_FATAL(r->stages, 2);
        CU_ASSERT_STRING_EQUAL(r->stage[1].name, names[k]);
        CU_ASSERT_DOUBLE_EQUAL(r->stage[1].prunable, 0.6, 1e-3);
        CU_ASSERT_EQUAL(t.changes, 10 * k);
        CU_ASSERT_EQUAL(t.last, 23 * k);    /* of 40 batches */
        CU_ASSERT(strstr(m->history, k ? "in 10 steps to 60.00%" : "1/1: 60.0")
                  != NULL);
        ctt_free(t.mask);
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

static int asked(void)
{
    return 1;
}

/* Without training a signal ends a recipe before its next round. */
static void test_stopped(void)
{
    struct ctt_recipe_calls calls = { .arg = NULL };
    struct ctt_recipe o = { .prune = { .share = 0.6f, .steps = 10,
                                       .until = 0.6f } };
    struct ctt_model *m = small_model(small_net, 6);
    struct ctt_report *r = NULL;

    ctt_stop_set(asked);
    CU_ASSERT_EQUAL(ctt_recipe_run(&o, &calls, in_folder("s.h5"), NULL, &m,
                                   &r), CTT_ESTOP);
    ctt_stop_set(NULL);
    CU_ASSERT(access(in_folder("s.h5"), F_OK) != 0);
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* What is pruned more already is not pruned: an error, and no file; after a
 * factorisation, which makes new weights, the history says it. */
static void test_pruned_already(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o = { .prune = { .share = 0.7f, .rounds = 1 } };
    struct ctt_model *m = small_model(small_net, 6);
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_recipe_run(&o, &none, in_folder("a.h5"), NULL, &m, &r));
    ctt_report_free(&r);
    o.prune.share = 0.5f;
    CU_ASSERT_EQUAL(ctt_recipe_run(&o, &none, in_folder("e.h5"), NULL, &m, &r),
                    CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "nothing to prune: 70.0") != NULL);
    CU_ASSERT_EQUAL(file_size(in_folder("e.h5")), -1);
    o.prune.share = 0.8f;
    CHECK_OK(ctt_recipe_run(&o, &none, in_folder("a.h5"), NULL, &m, &r));
    ctt_report_free(&r);
    o.prune.share = 0.5f;
    o.tt = (struct ctt_tt){ .rank = 1, .except = "*" };
    CHECK_OK(ctt_recipe_run(&o, &none, in_folder("a.h5"), NULL, &m, &r));
    CU_ASSERT(strstr(m->history, "pruned 1/1: no change: ") != NULL);
    ctt_report_free(&r);
    ctt_model_free(&m);

    /* cores that are too small for what follows cost no run */
    m = small_model(small_net, 7);
    o.prune.least = 1000000;
    o.share = (struct ctt_share){ .bits = "3", .least = 1000000 };
    CHECK_OK(ctt_recipe_run(&o, &none, in_folder("a.h5"), NULL, &m, &r));
    CU_ASSERT(strstr(m->history, "pruned 1/1: no change: ") != NULL);
    CU_ASSERT(strstr(m->history, "shared: no change") != NULL);
    CU_ASSERT(!ctt_constraint_shares(&m->constraint, m->g->weights));
    ctt_report_free(&r);
    ctt_model_free(&m);
}

static void test_errors(void)
{
    static const struct { struct ctt_recipe o; const char *path, *message; }
    bad[] = {
        { { .prune = { .rounds = 1 } }, "e.h5", "nothing to do" },
        { { .prune = { .share = 1, .rounds = 1 } }, "e.h5", "a share of 1 " },
        { { .prune = { .share = 0.5f } }, "e.h5", "one round or step" },
        { { .round = { .bits = 25 } }, "e.h5", "nothing to do" },
        { { .prune = { .share = 0.5f, .rounds = 1 }, .round = { .bits = 25 } },
          "e.h5", "no 25 " },
        { { .prune = { .share = 0.5f, .rounds = 1, .except = "a,q" } }, "e.h5",
          "no weight matches 'q'" },
        { { .tt = { .rank = 2, .except = "n" } }, "e.h5",
          "no weight matches 'n'" },
        { { .prune = { .share = 0.5f, .rounds = 1, .except = "*" } }, "e.h5",
          "no weight to prune" },
        { { .share = { .bits = "3", .least = 1000000 } }, "e.h5",
          "no weight has 1000000 values" },
        { { .tt = { .rank = 2 } }, "none/e.h5", "none/e.h5" },
    };
    struct ctt_recipe_calls none = { NULL };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_model *m = small_model(small_net, 7);
        struct ctt_report *r = NULL;
        int rc = ctt_recipe_run(&bad[i].o, &none, in_folder(bad[i].path), NULL,
                                &m, &r);

        CU_ASSERT(rc < 0);
        if (!strstr(ctt_errmsg(), bad[i].message))
            printf("\n    %s", ctt_errmsg());
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].message) != NULL);
        CU_ASSERT_PTR_NULL(r);
        CU_ASSERT_EQUAL(file_size(in_folder("e.h5")), -1);
        CU_ASSERT_EQUAL(file_size(in_folder("e.h5.convtt0.tmp")), -1);
        ctt_model_free(&m);
    }
}

/* Every allocation may fail; the old file stays. */
static void test_alloc(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o = { .tt = { .rank = 4 },
                            .prune = { .share = 0.5f, .rounds = 1 } };
    int rc = CTT_ENOMEM;
    char file[256];

    snprintf(file, sizeof(file), "%s", in_folder("k.h5"));
    for (long k = 1; rc < 0; k += 1 + k / 12) {
        struct ctt_model *m = small_model(small_net, 8);
        struct ctt_report *r = NULL;

        ctt_fail_alloc(k);
        rc = ctt_recipe_run(&o, &none, file, NULL, &m, &r);
        ctt_fail_alloc(0);
        if (rc < 0 && !strstr(ctt_errmsg(), "memory"))
            printf("\n    allocation %ld: %s", k, ctt_errmsg());
        CU_ASSERT(rc >= 0 || strstr(ctt_errmsg(), "memory") != NULL);
        CU_ASSERT_EQUAL(file_size(file) > 0, rc >= 0);
        ctt_report_free(&r);
        ctt_model_free(&m);
        if (ctt_live_blocks() != 0)
            printf("\n    allocation %ld leaks", k);
        CU_ASSERT_EQUAL_FATAL(ctt_live_blocks(), 0);
    }
}

static int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void)
{
    static const char *const names[] = { "m.h5", "a.h5", "k.h5", "r.json" };

    for (size_t i = 0; i < CTT_LEN(names); i++)
        remove(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "options", test_options },
        { "recipe", test_recipe },
        { "alone", test_alone },
        { "pruned in steps", test_steps },
        { "stopped", test_stopped },
        { "pruned already", test_pruned_already },
        { "errors", test_errors },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "recipe", make_folder, remove_folder, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
