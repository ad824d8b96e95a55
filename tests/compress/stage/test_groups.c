/* SPDX-License-Identifier: Apache-2.0
 * test_groups.c: convs with groups: the same answers as of convs without whose
 * other weights are 0, and what compression does to them. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/stage/chain.h"
#include "compress/stage/responses.h"
#include "compress/stage.h"
#include "compress/stage/svd.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* Inputs and convs; groups= of the second conv follows. */
static const struct { const char *text; int groups; } cases[] = {
    { "input x h=6 w=7 c=6\nconv y in=x out=4 kernel=3 pad=1", 2 },
    { "input x h=6 w=7 c=6\nconv y in=x out=12 kernel=3 stride=2 pad=1 bias=0",
      6 },
    { "input x d=3 h=4 w=4 c=4\nconv y in=x out=4 kernel=3", 4 },
    { "input x h=3 w=4 c=6\nconv y in=x out=9 kernel=1,3,4", 3 },
    { "input x h=3 w=4 c=6\nconv a in=x out=6\nconv y in=x plus=a out=6", 2 },
};

static const struct ctt_node *output(const struct ctt_model *m)
{
    return &m->g->node[ctt_graph_output(m->g)];
}

static struct ctt_model *with_groups(size_t i, int groups)
{
    char text[256];

    snprintf(text, sizeof(text), "%s groups=%d\n", cases[i].text, groups);
    return small_model(text, 5);
}

/* The model without groups that computes the same as m. */
static struct ctt_model *without(const struct ctt_model *m, size_t i)
{
    struct ctt_model *to = with_groups(i, 1);
    const struct ctt_node *a = output(m), *b = output(to);
    int64_t in = a->w[0].c, taps = ctt_volume(&a->w[0]) / a->out.c / in;

    memcpy(to->w, m->w, (size_t)b->at[0] * sizeof(float));
    memset(to->w + b->at[0], 0, (size_t)ctt_volume(&b->w[0]) * sizeof(float));
    for (int64_t k = 0; k < ctt_volume(&a->w[0]); k++) {
        int64_t o = k / in / taps, group = o * cases[i].groups / a->out.c;

        to->w[b->at[0] + k / in * b->w[0].c + group * in + k % in] =
            m->w[a->at[0] + k];
    }
    if (a->nw > 1)
        memcpy(to->w + b->at[1], m->w + a->at[1],
               (size_t)a->out.c * sizeof(float));
    return to;
}

static void test_same(void)
{
    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_model *m = with_groups(i, cases[i].groups);
        struct ctt_model *to = without(m, i);

        CU_ASSERT_EQUAL(ctt_volume(&to->g->node[to->g->count - 1].w[0]),
                        ctt_volume(&output(m)->w[0]) * cases[i].groups);
        small_compare(m, to, 3, 1e-5);
        ctt_model_free(&m);
        ctt_model_free(&to);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Responses are those of the conv without groups; inputs are refused. */
static void test_moments(void)
{
    struct ctt_recipe_calls calls = { .sample = small_sample };
    struct ctt_model *m = with_groups(0, cases[0].groups);
    struct ctt_model *to = without(m, 0);
    struct ctt_moments a = { .d = 0 }, b = { .d = 0 };
    int node = ctt_graph_output(m->g);

    CHECK_OK(ctt_responses(m, &calls, 0, &node, 1, &a));
    CHECK_OK(ctt_responses(to, &calls, 0, &node, 1, &b));
    CU_ASSERT_EQUAL_FATAL(a.d, 4);
    for (int k = 0; k < a.d * a.d; k++)
        CU_ASSERT_DOUBLE_EQUAL(a.cov[k], b.cov[k], 1e-5);
    ctt_moments_free(&a);
    ctt_moments_free(&b);
    CU_ASSERT_EQUAL(ctt_inputs(m, &calls, 0, &node, 1, &a), CTT_EUNSUP);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), "y: its groups read different inputs");
    CU_ASSERT_EQUAL(ctt_two_responses(m, m, node, 1, &calls, 0, &a),
                    CTT_EUNSUP);
    ctt_moments_free(&a);
    ctt_model_free(&m);
    ctt_model_free(&to);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

#define NET "input x h=6 w=6 c=16\nconv a in=x out=16 kernel=3 pad=1\n" \
    "norm n in=a kind=batch\nact r in=n kind=relu6\n" \
    "conv g in=r out=32 kernel=3 pad=1 groups=2 bias=0\n" \
    "norm o in=g kind=batch\nact s in=o kind=relu6\n" \
    "conv y in=s out=16\n"

/* One weight stays whole, with the reason; the others become chains. */
static void check_whole(const struct ctt_report *r)
{
    CU_ASSERT_EQUAL_FATAL(r->weights, 3);
    for (int k = 0; k < r->weights; k++) {
        int whole = strcmp(r->weight[k].reason, "has groups") == 0;

        CU_ASSERT_EQUAL(whole, strncmp(r->weight[k].name, "g", 1) == 0);
        CU_ASSERT_EQUAL(r->weight[k].cores > 1, !whole);
    }
}

/* Of a pruned one too: it is not factorised, so that is no reason to refuse. */
static void test_whole(void)
{
    struct ctt_svd svd = { .rank = 2 };
    struct ctt_tt tt = { .rank = 2 };

    for (int trains = 0; trains < 2; trains++) {
        struct ctt_model *m = small_model(NET, 3), *to = NULL;
        struct ctt_report *r = NULL;
        int g = ctt_graph_find(m->g, "g");

        CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
        m->w[m->g->node[g].at[0]] = 0;
        m->constraint.keep[m->g->node[g].at[0]] = 0;
        CHECK_OK(ctt_chain_check(m, 1, NULL, "a chain", "except"));
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(trains ? ctt_factorise(m, &tt, NULL, r, &to)
                        : ctt_svd_model(m, &svd, NULL, r, &to));
        check_whole(r);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&to);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Norms go into it, and no channel of it or before it is dropped. */
static void test_fold(void)
{
    struct ctt_model *m = small_model(NET, 3), *to = NULL;
    struct ctt_report *r = NULL;
    struct ctt_folded done;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_fold_model(m, CTT_FOLD_ALL, r, &done, &to));
    CU_ASSERT_EQUAL(done.norms, 2);
    CU_ASSERT_EQUAL(done.channels, 0);
    small_compare(m, to, 3, 1e-4);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&to);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "as without groups", test_same },
        { "moments", test_moments },
        { "whole", test_whole },
        { "fold", test_fold },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "groups", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
