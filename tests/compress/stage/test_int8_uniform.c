/* SPDX-License-Identifier: Apache-2.0
 * test_int8_uniform.c: the stage INT8: channels get equal ranges. */
#include "compress/stage/int8_inside.h"
#include "tests/lib/check.h"
#include "tests/lib/int8_recipe.h"
#include "tests/lib/saved.h"
#include "tests/lib/small.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Channel c of conv "a" becomes 3^-c of what it was. */
static void make_unlike(struct ctt_model *m)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, "a")];
    int64_t each = ctt_volume(&n->w[0]) / n->w[0].n;

    for (int64_t i = 0; i < n->w[0].n * each; i++)
        m->w[n->at[0] + i] *= powf(3, -(float)(i / each % 8));
    for (int64_t c = 0; c < n->w[0].n; c++)
        m->w[n->at[1] + c] *= powf(3, -(float)(c % 8));
}

static void make_uniform(struct ctt_model *m, int except, const char **note)
{
    static char text[CTT_REASON];
    struct ctt_recipe o = { .int8 = { .method = 1 } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    char take[64];
    struct ctt_report *r = NULL;
    struct ctt_walk k = { .stages = ctt_stages, .o = &o, .calls = &calls,
                          .m = &m };

    CHECK_OK(ctt_report_new(m, &r));
    k.r = r;
    memset(take, except ? 0 : 1, sizeof(take));
    text[0] = '\0';
    CHECK_OK(ctt_int8_uniform(&k, m, take));
    for (int i = 0; i < r->weights; i++)
        if (strcmp(r->weight[i].name, "a") == 0)
            snprintf(text, sizeof(text), "%s", r->weight[i].reason);
    *note = text;
    ctt_report_free(&r);
}

/* Nodes between a and its readers; can: these take other scales. */
static void test_readers(void)
{
#define DW "out=24 groups=24 kernel=3\n"
    static const struct { const char *rest; int can; } rows[] = {
        { "conv y in=a " DW, 1 },
        { "conv y in=a out=48 groups=24 kernel=3\n", 1 },
        { "act r in=a kind=relu\nconv y in=r " DW, 1 },
        { "act r in=a kind=relu6\nconv y in=r " DW, 1 },
        { "act r in=a kind=relu\npool p in=r kind=max kernel=2\n"
          "conv b in=p " DW "conv c in=r " DW "conv y in=c out=4\n"
          "conv z in=b out=4\npool q in=z kind=avg\npool s in=y kind=avg\n"
          "add w in=q,s\n", 1 },
        { "pool p in=a kind=avg kernel=2\nconv y in=p " DW, 1 },
        { "conv y in=a out=5 kernel=3\n", 0 },
        { "conv y in=a out=12 groups=4 kernel=3\n", 0 },
        { "conv b in=a out=24 groups=24\nconv y in=a plus=b out=24\n", 0 },
        { "pool p in=a kind=max kernel=2\nact r in=p kind=relu6\n"
          "conv y in=r " DW, 0 },
        { "act r in=a kind=relu6\nadd y in=r,a\n", 0 },
        { "act r in=a kind=sigmoid\nconv y in=r " DW, 0 },
        { "act r in=a kind=tanh\nconv y in=r " DW, 0 },
        { "state s of=a\nconv y in=a plus=s out=24 groups=24\n", 0 },
        { "concat q in=a,x\nconv y in=q out=40 groups=40\n", 0 },
        { "conv b in=a out=24 groups=24\nadd y in=b,a\n", 0 },
    };
#undef DW

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        const char *rest = rows[i].rest, *note;
        int can = rows[i].can;
        char text[600];
        struct ctt_model *was, *m;
        int64_t at, count;

        snprintf(text, sizeof(text), "input x h=8 w=8 c=16\n"
                 "conv a in=x out=24 kernel=3 pad=1\n%s", rest);
        was = small_model(text, 6);
        m = small_model(text, 6);
        make_unlike(was);
        make_unlike(m);
        make_uniform(m, 0, &note);
        at = m->g->node[1].at[0];
        count = ctt_volume(&m->g->node[1].w[0]);
        small_compare(was, m, 3, 0);
        CU_ASSERT_EQUAL(memcmp(m->w + at, was->w + at, (size_t)count *
                               sizeof(float)) != 0, can);
        CU_ASSERT_EQUAL(*note != '\0', can);
        ctt_model_free(&m);
        CHECK_OK(ctt_model_copy(was, &m));
        make_uniform(m, 1, &note);    /* no conv will read bytes */
        CU_ASSERT_EQUAL(*note, '\0');
        ctt_model_free(&was);
        ctt_model_free(&m);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void take_largest(void *to, int k, const float *row)
{
    float *most = to;

    (void)k;
    for (int c = 0; c < 24; c++)
        most[c] = fmaxf(most[c], row[c]);
}

/* A relu6 clips no more of the clips than before: a channel that it clips stays
 * as it is, the others grow by a power of two. */
static void test_relu6(void)
{
    static const char text[] = "input x h=8 w=8 c=16\n"
        "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu6\n"
        "conv y in=r out=24 groups=24 kernel=3\n";
    struct ctt_model *m = small_model(text, 6);
    const struct ctt_node *n = &m->g->node[1];
    int64_t each = ctt_volume(&n->w[0]) / n->w[0].n;
    float before[24] = { 0 }, after[24] = { 0 };
    const char *note;
    int relu = 2;

    for (int64_t i = 0; i < n->w[0].n * each; i++)
        m->w[n->at[0] + i] *= i / each % 8 == 0 ? 100.0f : 0.1f;
    CHECK_OK(int8_sample(NULL, m, 0, &relu, 1, CTT_SAMPLE_VALUES, take_largest,
                         before));
    make_uniform(m, 0, &note);
    CHECK_OK(int8_sample(NULL, m, 0, &relu, 1, CTT_SAMPLE_VALUES, take_largest,
                         after));
    for (int c = 0; c < 24; c++) {
        int by = before[c] > 0 ? (int)log2f(after[c] / before[c]) : 0;

        CU_ASSERT_EQUAL(after[c], ldexpf(before[c], by));
        CU_ASSERT(c % 8 == 0 || before[c] == 0 ? by == 0 : by > 0);
        CU_ASSERT(after[c] <= 6);
    }
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Ranges that differed by a thousand are within two of each other, and the conv
 * that reads them has smaller errors. */
static void test_gains(void)
{
    static const char text[] = "input x h=8 w=8 c=16 mean=0.5 std=0.2\n"
        "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
        "conv b in=r out=24 groups=24\npool p in=b kind=avg\n"
        "conv y in=p out=5\n";
    struct ctt_model *m = small_model(text, 6);
    struct ctt_recipe o = { .int8 = { .method = 1 } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_report *r = NULL;
    double before = 0, after = 0, db = 0;
    const struct ctt_node *n;
    const char *note;

    make_unlike(m);
    make_uniform(m, 0, &note);
    CU_ASSERT_EQUAL(sscanf(note, "channels differ by %lf, now %lf", &before,
                           &after), 2);
    CU_ASSERT(before > 500);
    CU_ASSERT(after >= 1 && after < 2.1);
    ctt_model_free(&m);
    m = small_model(text, 6);
    make_unlike(m);
    n = &m->g->node[ctt_graph_find(m->g, "b")];
    for (int64_t i = 0; i < ctt_volume(&n->w[0]); i++)
        m->w[n->at[0] + i] *= powf(3, (float)(i % 8));
    CHECK_OK(ctt_recipe_run(&o, &calls, saved_path, NULL, &m, &r));
    for (int i = 0; i < r->blames; i++)
        if (strcmp(r->blame[i].name, "b") == 0)
            db = r->blame[i].alone;
    CU_ASSERT(db > 40);    /* 7 with unlike channels */
    ctt_report_free(&r);
    ctt_model_free(&m);
}

static CU_TestInfo tests[] = {
    { "readers", test_readers }, { "relu6", test_relu6 },
    { "gains", test_gains }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8_uniform", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
